"""Token counts that add up.

There is no tokenizer: four bytes of UTF-8 are one token, so that a test can compute every count.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from dragoman.emulators.provider import ModelTurn, ReceivedRequest
from dragoman.emulators.wire import render_json


@dataclass(frozen=True, slots=True)
class TokenUsage:
    """`input` includes `cached`; `output` includes `reasoning`."""

    input: int
    output: int
    cached: int = 0
    reasoning: int = 0

    @property
    def total(self) -> int:
        return self.input + self.output


TOKEN_BYTES = 4


def count_text_tokens(text: str) -> int:
    """The tokens of a text."""
    return -(-len(text.encode("utf-8", "replace")) // TOKEN_BYTES)


def count_tokens(value: Any) -> int:
    """The tokens of a JSON value: of its strings and numbers, not of its punctuation."""
    match value:
        case str():
            return count_text_tokens(value)
        case dict():
            return sum(count_tokens(member) for member in value.values())
        case list():
            return sum(map(count_tokens, value))
        case None | bool():
            return 0
        case _:
            return 1


def count_usage(prompt: Any, turn: ModelTurn) -> TokenUsage:
    """The usage of an answer. `prompt` is the part of the body that the model reads."""
    reasoning = count_text_tokens(turn.reasoning or "")
    calls = sum(count_text_tokens(call.name) + count_tokens(call.arguments) for call in turn.calls)
    text = count_text_tokens(turn.visible_text) + count_text_tokens(turn.refusal or "")
    prompt_tokens = max(1, count_tokens(prompt))
    return TokenUsage(prompt_tokens, reasoning + calls + text, min(turn.cached, prompt_tokens), reasoning)


def answer_seed(request: ReceivedRequest | None) -> str:
    """The text from which the ids of an answer are made. Empty for a request that could not be parsed."""
    return "" if request is None else render_json([request.path, request.body]).decode("utf-8", "replace")
