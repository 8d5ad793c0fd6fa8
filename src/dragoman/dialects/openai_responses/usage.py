"""Usage as Responses counts: input holds what was cached, output what was thought."""

from __future__ import annotations

from typing import Any

import msgspec

from dragoman.conversation.parts import Extras, Json
from dragoman.conversation.replies import Usage
from dragoman.dialects.openai_responses import NAME
from dragoman.dialects.openai_responses.answer_wire import UNREADABLE, plain

_KNOWN = frozenset({"input_tokens", "output_tokens", "total_tokens"})
_KNOWN_DETAILS = {
    "input_tokens_details": ("cached_tokens", "cache_write_tokens"),
    "output_tokens_details": ("reasoning_tokens",),
}

_encode = msgspec.json.Encoder().encode
_decode = msgspec.json.decode


def parse_usage(raw: bytes) -> Usage | None:
    """The tokens, or None where nothing is told."""
    try:
        told = plain(raw)
    except UNREADABLE:
        return None
    inputs, outputs = _details(told, "input_tokens_details"), _details(told, "output_tokens_details")
    reasoning = _count(outputs, "reasoning_tokens")
    entered, output = _count(told, "input_tokens"), _count(told, "output_tokens")
    untold = _count(told, "total_tokens") - entered - output
    if reasoning and untold == reasoning:
        output += untold
    cached, written = _count(inputs, "cached_tokens"), _count(inputs, "cache_write_tokens")
    return Usage(entered, output, cached, written, reasoning, _extras(told))


def render_usage(usage: Usage) -> Json:
    """The usage object, with the fields of its own dialect where it came from there."""
    fields: dict[str, Any] = {}
    if usage.extras is not None and usage.extras.dialect == NAME:
        fields = {key: _decode(value) for key, value in usage.extras.fields.items()}
    inputs: dict[str, Any] = {"cached_tokens": usage.cached} | fields.pop("input_tokens_details", {})
    if usage.cache_written:
        inputs["cache_write_tokens"] = usage.cache_written
    outputs: dict[str, Any] = {"reasoning_tokens": usage.reasoning} | fields.pop("output_tokens_details", {})
    told = {
        "input_tokens": usage.input,
        "input_tokens_details": inputs,
        "output_tokens": usage.output,
        "output_tokens_details": outputs,
        "total_tokens": usage.total,
    }
    return _encode(told | fields)


def _details(told: dict[str, Any], key: str) -> dict[str, Any]:
    found = told.get(key)
    return found if isinstance(found, dict) else {}


def _count(told: dict[str, Any], key: str) -> int:
    found = told.get(key)
    return int(found) if isinstance(found, (int, float)) and 0 <= found < 2**53 else 0


def _extras(told: dict[str, Any]) -> Extras | None:
    fields: dict[str, Json] = {}
    for key, value in told.items():
        known = _KNOWN_DETAILS.get(key)
        if known is not None:
            others = {name: count for name, count in _details(told, key).items() if name not in known}
            if others:
                fields[key] = _encode(others)
        elif key not in _KNOWN and value is not None:
            fields[key] = _encode(value)
    return Extras(NAME, fields) if fields else None
