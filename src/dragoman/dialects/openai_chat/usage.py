"""Usage as OpenAI counts it in Chat, and as other servers of this dialect do."""

from __future__ import annotations

from typing import Annotated, Any

import msgspec

from dragoman.conversation.parts import Json
from dragoman.conversation.replies import MOST_TOKENS, Usage
from dragoman.dialects.families.openai_usage import count_in, details_in, other_counts
from dragoman.dialects.openai_chat import NAME
from dragoman.dialects.shared.ownership import own_fields
from dragoman.dialects.shared.raw_json import UNREADABLE, decode_object, encode

_KNOWN = frozenset({"prompt_tokens", "completion_tokens", "total_tokens"})
_KNOWN_DETAILS = {
    "prompt_tokens_details": frozenset({"cached_tokens", "cache_write_tokens"}),
    "completion_tokens_details": frozenset({"reasoning_tokens"}),
}
_CACHED_IN_ORDER = ("prompt_cache_hit_tokens", "num_cached_tokens", "cached_tokens", "cache_read_input_tokens")
_CACHED = frozenset(_CACHED_IN_ORDER)

_decode = msgspec.json.decode


def parse_usage(raw: bytes) -> Usage | None:
    """The tokens, or None if there are no counts."""
    try:
        counts = decode_object(raw)
    except UNREADABLE:
        return None
    inputs, outputs = details_in(counts, "prompt_tokens_details"), details_in(counts, "completion_tokens_details")
    reasoning = count_in(outputs, "reasoning_tokens") or count_in(counts, "reasoning_tokens")
    cached = count_in(inputs, "cached_tokens")
    if not cached and not _CACHED.isdisjoint(counts):
        cached = next((count for key in _CACHED_IN_ORDER if (count := count_in(counts, key))), 0)
    written = count_in(inputs, "cache_write_tokens") or count_in(counts, "cache_creation_input_tokens")
    entered, output = count_in(counts, "prompt_tokens"), count_in(counts, "completion_tokens")
    uncounted = count_in(counts, "total_tokens") - entered - output
    if uncounted > 0 and uncounted == count_in(inputs, "audio_tokens"):
        entered += uncounted
    elif uncounted > 0 and reasoning in (0, uncounted):
        # Reasoning that was charged, but not counted as output.
        output += uncounted
        reasoning = uncounted
    return Usage(entered, output, cached, written, reasoning, other_counts(counts, _KNOWN, _KNOWN_DETAILS, NAME))


_Count = Annotated[int, msgspec.Meta(ge=0, le=MOST_TOKENS)]


class _InputDetails(msgspec.Struct, frozen=True, gc=False):
    cached_tokens: _Count = 0
    cache_write_tokens: _Count = 0


class _OutputDetails(msgspec.Struct, frozen=True, gc=False):
    reasoning_tokens: _Count = 0


class _ChatCounts(msgspec.Struct, forbid_unknown_fields=True, gc=False):
    """Usage as OpenAI itself reports it: no other counts than these."""

    prompt_tokens: _Count
    completion_tokens: _Count
    total_tokens: _Count
    prompt_tokens_details: _InputDetails = _InputDetails()
    completion_tokens_details: _OutputDetails = _OutputDetails()


_counts = msgspec.json.Decoder(_ChatCounts).decode


def count_usage(raw: bytes | msgspec.Raw) -> Usage | None:
    """The tokens alone, for an answer that is relayed with its own usage object. It takes a tenth of the time."""
    try:
        counts = _counts(raw)
    except UNREADABLE:
        return parse_usage(bytes(raw))
    given, made = counts.prompt_tokens, counts.completion_tokens
    if given + made != counts.total_tokens:
        return parse_usage(bytes(raw))
    inputs = counts.prompt_tokens_details
    reasoning = counts.completion_tokens_details.reasoning_tokens
    return Usage(given, made, inputs.cached_tokens, inputs.cache_write_tokens, reasoning)


def render_usage(usage: Usage) -> Json:
    """The usage object, with further fields if the usage came from this dialect."""
    fields: dict[str, Any] = {key: _decode(value) for key, value in own_fields(usage.extras, NAME).items()}
    inputs: dict[str, Any] = fields.pop("prompt_tokens_details", {})
    outputs: dict[str, Any] = fields.pop("completion_tokens_details", {})
    inputs["cached_tokens"] = usage.cached
    if usage.cache_written or "cache_write_tokens" in inputs:
        inputs["cache_write_tokens"] = usage.cache_written
    outputs["reasoning_tokens"] = usage.reasoning
    counts = {
        "prompt_tokens": usage.input,
        "completion_tokens": usage.output,
        "total_tokens": usage.total,
        "prompt_tokens_details": inputs,
        "completion_tokens_details": outputs,
    }
    return encode(counts | fields)
