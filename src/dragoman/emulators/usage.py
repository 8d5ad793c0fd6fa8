"""Token counts that add up.

There is no tokenizer: four bytes of UTF-8 are one token, so that a test can compute every count. Some services put
words of their own into a prompt, hundreds of tokens. They are counted, as constants fitted to recorded answers.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from dragoman.emulators.provider import ModelTurn, ReceivedRequest
from dragoman.emulators.wire import render_json


@dataclass(frozen=True, slots=True)
class TokenUsage:
    """The tokens of one answer."""

    input: int
    """Cached and written ones included."""
    output: int
    """Reasoning included."""
    cached: int = 0
    reasoning: int = 0
    written_by_lifetime: Mapping[str, int] = field(default_factory=dict)

    @property
    def total(self) -> int:
        return self.input + self.output

    @property
    def written(self) -> int:
        """The tokens that the prompt cache keeps from now on."""
        return sum(self.written_by_lifetime.values())

    @property
    def uncached(self) -> int:
        """The tokens that were neither read from the prompt cache nor written to it."""
        return self.input - self.cached - self.written


class UnseenTokens(NamedTuple):
    """Tokens that the service puts into one prompt beside the client's words."""

    tokens: int


class PromptOverhead(NamedTuple):
    """Tokens that a service adds to a prompt."""

    request: int = 0
    """To every prompt."""
    tools: int = 0
    """To one with tools."""
    tool: int = 0
    """For each tool."""

    def unseen(self, tools: Any) -> UnseenTokens:
        """Those of a prompt with these tools."""
        count = len(tools) if isinstance(tools, list) else 0
        return UnseenTokens(self.request + (self.tools + self.tool * count if count else 0))


TOKEN_BYTES = 4
NO_OVERHEAD = PromptOverhead()
CLAUDE = PromptOverhead(tools=604)
COHERE = PromptOverhead(496, 879, 63)
DEEPSEEK = PromptOverhead(3, 185, 80)
GROK = PromptOverhead(187, 170)
"""All eight recorded prompts in Chat have tools: what stands in others is that of Responses."""
GROK_IN_RESPONSES = PromptOverhead(189)
COHERE_REASONING = COHERE._replace(request=1382)
MARKERS = frozenset({"cache_control", "cachePoint", "prompt_cache_breakpoint"})
"""Members that say what to cache. The model does not read them."""


def count_text_tokens(text: str) -> int:
    """The tokens of a text."""
    return -(-len(text.encode("utf-8", "replace")) // TOKEN_BYTES)


def count_tokens(value: Any) -> int:
    """The tokens of a JSON value: of its strings and numbers, not of its punctuation."""
    match value:
        case str():
            return count_text_tokens(value)
        case UnseenTokens():
            return value.tokens
        case dict():
            return sum(count_tokens(member) for name, member in value.items() if name not in MARKERS)
        case list():
            return sum(map(count_tokens, value))
        case None | bool():
            return 0
        case _:
            return 1


def count_usage(prompt: Any, turn: ModelTurn, answers: int = 1) -> TokenUsage:
    """The usage of an answer. `prompt` is the part of the body that the model reads. `answers`: how often it is given;
    each counts."""
    reasoning = count_text_tokens(turn.reasoning or "")
    calls = sum(count_text_tokens(call.name) + count_tokens(call.arguments) for call in turn.calls)
    text = count_text_tokens(turn.visible_text) + count_text_tokens(turn.refusal or "")
    prompt_tokens = max(1, count_tokens(prompt))
    cached = min(turn.cached or turn.cache.read, prompt_tokens)
    written = {} if turn.cached else turn.cache.written
    output = reasoning + calls + text
    return TokenUsage(prompt_tokens, answers * output, cached, answers * reasoning, written)


def answer_seed(request: ReceivedRequest | None) -> str:
    """The text from which the ids of an answer are made. Empty for a request that could not be parsed."""
    return "" if request is None else render_json([request.path, request.body]).decode("utf-8", "replace")
