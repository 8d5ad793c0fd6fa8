"""Usage as the Chat dialect counts, and as those who speak it count differently."""

from __future__ import annotations

from typing import Annotated, Any

import msgspec

from dragoman.conversation.parts import Extras, Json
from dragoman.conversation.replies import Usage
from dragoman.dialects.openai_chat import NAME
from dragoman.dialects.openai_chat.answer_wire import UNREADABLE, plain

_KNOWN = frozenset({"prompt_tokens", "completion_tokens", "total_tokens"})
_KNOWN_DETAILS = {
    "prompt_tokens_details": ("cached_tokens", "cache_write_tokens"),
    "completion_tokens_details": ("reasoning_tokens",),
}
_CACHED = ("prompt_cache_hit_tokens", "num_cached_tokens", "cached_tokens", "cache_read_input_tokens")

_encode = msgspec.json.Encoder().encode
_decode = msgspec.json.decode


def parse_usage(raw: bytes) -> Usage | None:
    """The tokens, or None where nothing is told."""
    try:
        told = plain(raw)
    except UNREADABLE:
        return None
    inputs, outputs = _details(told, "prompt_tokens_details"), _details(told, "completion_tokens_details")
    reasoning = _count(outputs, "reasoning_tokens") or _count(told, "reasoning_tokens")
    cached = _count(inputs, "cached_tokens") or next((n for n in (_count(told, key) for key in _CACHED) if n), 0)
    written = _count(inputs, "cache_write_tokens") or _count(told, "cache_creation_input_tokens")
    entered, output = _count(told, "prompt_tokens"), _count(told, "completion_tokens")
    untold = _count(told, "total_tokens") - entered - output
    if untold > 0 and untold == _count(inputs, "audio_tokens"):
        entered += untold
    elif untold > 0 and reasoning in (0, untold):
        # Thinking that was charged and not counted as output.
        output += untold
        reasoning = untold
    return Usage(entered, output, cached, written, reasoning, _extras(told))


_Count = Annotated[int, msgspec.Meta(ge=0, lt=2**53)]


class _InputDetails(msgspec.Struct, frozen=True, gc=False):
    cached_tokens: _Count = 0
    cache_write_tokens: _Count = 0


class _OutputDetails(msgspec.Struct, frozen=True, gc=False):
    reasoning_tokens: _Count = 0


class _ChatCounts(msgspec.Struct, forbid_unknown_fields=True, gc=False):
    """Usage as OpenAI itself tells it: no other counts beside these."""

    prompt_tokens: _Count
    completion_tokens: _Count
    total_tokens: _Count
    prompt_tokens_details: _InputDetails = _InputDetails()
    completion_tokens_details: _OutputDetails = _OutputDetails()


_counts = msgspec.json.Decoder(_ChatCounts).decode


def count_usage(raw: bytes | msgspec.Raw) -> Usage | None:
    """The tokens alone: an answer that goes through as it is tells the rest itself. This takes a tenth of it."""
    try:
        told = _counts(raw)
    except UNREADABLE:
        return parse_usage(bytes(raw))
    given, made = told.prompt_tokens, told.completion_tokens
    if given + made != told.total_tokens:
        return parse_usage(bytes(raw))
    inputs = told.prompt_tokens_details
    reasoning = told.completion_tokens_details.reasoning_tokens
    return Usage(given, made, inputs.cached_tokens, inputs.cache_write_tokens, reasoning)


def render_usage(usage: Usage) -> Json:
    """The usage object, with the fields of its own dialect where it came from there."""
    fields: dict[str, Any] = {}
    if usage.extras is not None and usage.extras.dialect == NAME:
        fields = {key: _decode(value) for key, value in usage.extras.fields.items()}
    inputs: dict[str, Any] = fields.pop("prompt_tokens_details", {})
    outputs: dict[str, Any] = fields.pop("completion_tokens_details", {})
    inputs["cached_tokens"] = usage.cached
    if usage.cache_written or "cache_write_tokens" in inputs:
        inputs["cache_write_tokens"] = usage.cache_written
    outputs["reasoning_tokens"] = usage.reasoning
    told = {
        "prompt_tokens": usage.input,
        "completion_tokens": usage.output,
        "total_tokens": usage.total,
        "prompt_tokens_details": inputs,
        "completion_tokens_details": outputs,
    }
    return _encode(told | fields)


def _details(told: dict[str, Any], key: str) -> dict[str, Any]:
    found = told.get(key)
    return found if isinstance(found, dict) else {}


def _count(told: dict[str, Any], key: str) -> int:
    found = told.get(key)
    return int(found) if isinstance(found, (int, float)) and 0 <= found < 2**53 else 0


def _extras(told: dict[str, Any]) -> Extras | None:
    """What is told besides: costs, times, tokens of sounds and pictures."""
    fields: dict[str, Json] = {}
    for key, value in told.items():
        if key in _KNOWN or value is None:
            continue
        if key in _KNOWN_DETAILS:
            others = {name: count for name, count in _details(told, key).items() if name not in _KNOWN_DETAILS[key]}
            if others:
                fields[key] = _encode(others)
            continue
        fields[key] = _encode(value)
    return Extras(NAME, fields) if fields else None
