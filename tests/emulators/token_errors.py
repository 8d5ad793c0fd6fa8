"""How far the emulators' token counts are from the recorded ones: the table of the guide.

`make token-errors` prints it, from the recordings in `DRAGOMAN_CORPUS`. Prompts with pictures, files or sound are left
out, and so are those to tools that the service runs itself: their tokens are not in the request.
"""

from __future__ import annotations

from collections import defaultdict
from statistics import median, quantiles
from typing import Any, NamedTuple
from urllib.parse import parse_qsl, unquote

import orjson
from recordings import exchanges

from dragoman.emulators.catalogue import provider
from dragoman.emulators.provider import ReceivedRequest

EMULATORS = {
    "anthropic.anthropic.jsonl": "anthropic",
    "bedrock.bedrock-converse.jsonl": "bedrock",
    "cohere.cohere-chat.jsonl": "cohere",
    "deepseek.openai-chat.jsonl": "deepseek",
    "gemini.gemini.jsonl": "gemini",
    "groq.openai-chat.jsonl": "groq",
    "mistral.openai-chat.jsonl": "mistral",
    "ollama.ollama-chat.jsonl": "ollama",
    "openai.openai-chat.jsonl": "openai",
    "openai.openai-responses.jsonl": "openai-responses",
    "openrouter.openai-chat.jsonl": "openrouter",
    "xai.openai-chat.jsonl": "xai",
    "xai.openai-responses.jsonl": "xai-responses",
}
_NOT_WORDS = {"image", "file", "schema"}
_SERVED = b"web_search", b"code_execution", b"code_interpreter", b"file_search", b"googleSearch", b"urlContext", b"mcp"
_SUMS = (
    ("usage", ("input_tokens", "cache_read_input_tokens", "cache_creation_input_tokens")),
    ("usage", ("inputTokens", "cacheReadInputTokens", "cacheWriteInputTokens")),
    ("usage", ("prompt_tokens",)),
    ("usageMetadata", ("promptTokenCount",)),
    ("", ("prompt_eval_count",)),
)


class TokenError(NamedTuple):
    """Of one emulator: how many prompts, and how much more or less it counts than the service did, in parts of one.
    `unseen`: the tokens that the service adds to a prompt without tools, and to one with tools."""

    prompts: int
    low: float
    middle: float
    high: float
    unseen: tuple[int | None, int | None] = (None, None)
    corrected: tuple[float, float] = (0.0, 0.0)
    """Between which errors four in five lie if these are added."""


def input_tokens(answer: Any) -> int:
    """The recorded tokens of a prompt; 0 if the answer does not say."""
    if not isinstance(answer, dict):
        return 0
    tokens = (answer.get("usage") or {}).get("tokens")
    if isinstance(tokens, dict):
        return int(tokens.get("input_tokens") or 0)
    for place, names in _SUMS:
        counts = answer.get(place) if place else answer
        if isinstance(counts, dict) and counts.get(names[0]):
            return sum(counts.get(name) or 0 for name in names)
    return 0


def errors(files: str, emulator: str) -> TokenError | None:
    """The error over all recorded prompts of words."""
    one = provider(emulator)
    found: list[tuple[int, int, bool]] = []
    for exchange in exchanges(files):
        request, answer = exchange["request"], exchange["response"]
        recorded = input_tokens(answer["body"]) if answer["kind"] == "json" else 0
        if not recorded or not request or not isinstance(request["body"], dict):
            continue
        raw = orjson.dumps(request["body"])
        if _NOT_WORDS.intersection(exchange["flags"]) or any(mark in raw for mark in _SERVED):
            continue
        path, _, query = request["path"].replace("//", "/").partition("?")
        path = unquote(path) if one.operation_of("POST", unquote(path)) else one.example[0]
        call = one.parse_request("POST", path, dict(parse_qsl(query)), {}, raw)
        if isinstance(call, ReceivedRequest):
            config = call.body.get("toolConfig")
            has_tools = bool(call.body.get("tools") or (isinstance(config, dict) and config.get("tools")))
            found.append((max(1, one.count_prompt(call)), recorded, has_tools))
    if len(found) < 2:
        return None
    off = [counted / recorded - 1 for counted, recorded, _ in found]
    missing = [[real - counted for counted, real, has in found if has is tools] for tools in (False, True)]
    plain, tooled = (max(0, round(median(one))) if len(one) > 1 else None for one in missing)
    added = [(counted + ((tooled if has else plain) or 0)) / real - 1 for counted, real, has in found]
    tenths = quantiles(off, n=10)
    better = quantiles(added, n=10)
    return TokenError(len(off), tenths[0], median(off), tenths[-1], (plain, tooled), (better[0], better[-1]))


def table() -> dict[str, TokenError]:
    """By the names of the emulators."""
    by_name: dict[str, TokenError] = defaultdict()
    for files, emulator in EMULATORS.items():
        measured = errors(files, emulator)
        if measured is not None:
            by_name[emulator] = measured
    return by_name


def row(name: str, measured: TokenError) -> str:
    parts = (measured.low, measured.middle, measured.high, *measured.corrected)
    low, middle, high, least, most = (f"{100 * part:+.0f} %" for part in parts)
    plain, tooled = ("–" if one is None else f"{one:+d}" for one in measured.unseen)
    figures = f"{middle} | {low} to {high} | {plain} | {tooled} | {least} to {most}"
    return f"| `{name}` | {measured.prompts} | {figures} |"


if __name__ == "__main__":
    print(*(row(name, measured) for name, measured in table().items()), sep="\n")
