"""Usage as Responses counts it: input includes what was cached, output includes reasoning."""

from __future__ import annotations

from typing import Any

import msgspec

from dragoman.conversation.parts import Json
from dragoman.conversation.replies import Usage
from dragoman.dialects.families.openai_usage import count_in, details_in, other_counts
from dragoman.dialects.openai_responses import NAME
from dragoman.dialects.shared.ownership import own_fields
from dragoman.dialects.shared.raw_json import UNREADABLE, decode_object, encode

_KNOWN = frozenset({"input_tokens", "output_tokens", "total_tokens"})
_KNOWN_DETAILS = {
    "input_tokens_details": frozenset({"cached_tokens", "cache_write_tokens"}),
    "output_tokens_details": frozenset({"reasoning_tokens"}),
}

_decode = msgspec.json.decode


def parse_usage(raw: bytes) -> Usage | None:
    """The tokens, or None if there are no counts."""
    try:
        counts = decode_object(raw)
    except UNREADABLE:
        return None
    inputs, outputs = details_in(counts, "input_tokens_details"), details_in(counts, "output_tokens_details")
    reasoning = count_in(outputs, "reasoning_tokens")
    entered, output = count_in(counts, "input_tokens"), count_in(counts, "output_tokens")
    uncounted = count_in(counts, "total_tokens") - entered - output
    if reasoning and uncounted == reasoning:
        output += uncounted
    cached, written = count_in(inputs, "cached_tokens"), count_in(inputs, "cache_write_tokens")
    return Usage(entered, output, cached, written, reasoning, other_counts(counts, _KNOWN, _KNOWN_DETAILS, NAME))


def render_usage(usage: Usage) -> Json:
    """The usage object, with further fields if the usage came from this dialect."""
    fields: dict[str, Any] = {key: _decode(value) for key, value in own_fields(usage.extras, NAME).items()}
    inputs: dict[str, Any] = {
        "cache_write_tokens": usage.cache_written,
        "cached_tokens": usage.cached,
        **fields.pop("input_tokens_details", {}),
    }
    outputs: dict[str, Any] = {"reasoning_tokens": usage.reasoning} | fields.pop("output_tokens_details", {})
    counts = {
        "input_tokens": usage.input,
        "input_tokens_details": inputs,
        "output_tokens": usage.output,
        "output_tokens_details": outputs,
        "total_tokens": usage.total,
    }
    return encode(counts | fields)
