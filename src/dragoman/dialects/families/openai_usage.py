"""Tokens as OpenAI's two dialects count them: the input includes what was cached, the output reasoning.

`dialect`: whose fields the counts are that nobody else knows.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any

import msgspec
from msgspec import UNSET, UnsetType

from dragoman.conversation.parts import Extras, Json
from dragoman.conversation.replies import MOST_TOKENS, Usage, clamp_tokens
from dragoman.dialects.shared.parsing import extras_of
from dragoman.dialects.shared.raw_json import UNREADABLE, decode_object, encode

_CHAT = frozenset({"prompt_tokens", "completion_tokens", "total_tokens"})
_CHAT_DETAILS = {
    "prompt_tokens_details": frozenset({"cached_tokens", "cache_write_tokens"}),
    "completion_tokens_details": frozenset({"reasoning_tokens"}),
}
_CACHED_IN_ORDER = ("prompt_cache_hit_tokens", "num_cached_tokens", "cached_tokens", "cache_read_input_tokens")
_CACHED = frozenset(_CACHED_IN_ORDER)


def parse_chat_usage(raw: bytes, dialect: str) -> Usage | None:
    """The tokens as Chat and other servers of its dialect count them, or None if there are no counts."""
    try:
        counts = decode_object(raw)
    except UNREADABLE:
        return None
    inputs, outputs = _details_in(counts, "prompt_tokens_details"), _details_in(counts, "completion_tokens_details")
    reasoning = _count_in(outputs, "reasoning_tokens") or _count_in(counts, "reasoning_tokens")
    cached = _count_in(inputs, "cached_tokens")
    if not cached and not _CACHED.isdisjoint(counts):
        cached = next((count for key in _CACHED_IN_ORDER if (count := _count_in(counts, key))), 0)
    written = _cache_written_in(inputs) or _count_in(counts, "cache_creation_input_tokens")
    entered = _count_in(counts, "prompt_tokens") or _count_in(counts, "input_tokens")
    output = _count_in(counts, "completion_tokens") or _count_in(counts, "output_tokens")
    audio = _count_in(inputs, "audio_tokens")
    uncounted = _count_in(counts, "total_tokens") - entered - output if entered or output else 0
    if uncounted > 0 and uncounted == audio:
        entered += uncounted
    elif uncounted > 0 and reasoning in (0, uncounted):
        # Reasoning that was charged, but not counted as output.
        output += uncounted
        reasoning = uncounted
    others = _other_counts(counts, _CHAT, _CHAT_DETAILS, dialect)
    return Usage(entered, output, cached, written, reasoning, others, audio=audio)


_Count = Annotated[int, msgspec.Meta(ge=0, le=MOST_TOKENS)]


class _InputDetails(msgspec.Struct, frozen=True, gc=False):
    cached_tokens: _Count = 0
    cache_write_tokens: _Count = 0
    cache_creation_input_tokens: UnsetType = UNSET
    cached_creation_tokens: UnsetType = UNSET
    cache_creation_tokens: UnsetType = UNSET
    audio_tokens: _Count = 0


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


def count_chat_usage(raw: bytes | msgspec.Raw) -> Usage | None:
    """The tokens alone, for an answer that is relayed with its own usage object. It takes a tenth of the time. None if
    the object is not as OpenAI's own."""
    try:
        counts = _counts(raw)
    except UNREADABLE:
        return None
    given, made = counts.prompt_tokens, counts.completion_tokens
    if given + made != counts.total_tokens:
        return None
    inputs = counts.prompt_tokens_details
    reasoning = counts.completion_tokens_details.reasoning_tokens
    return Usage(given, made, inputs.cached_tokens, inputs.cache_write_tokens, reasoning, audio=inputs.audio_tokens)


_RESPONSES = frozenset({"input_tokens", "output_tokens", "total_tokens"})
_RESPONSES_DETAILS = {
    "input_tokens_details": frozenset({"cached_tokens", "cache_write_tokens"}),
    "output_tokens_details": frozenset({"reasoning_tokens"}),
}


def parse_responses_usage(raw: bytes, dialect: str) -> Usage | None:
    """The tokens as Responses counts them, or None if there are no counts."""
    try:
        counts = decode_object(raw)
    except UNREADABLE:
        return None
    inputs, outputs = _details_in(counts, "input_tokens_details"), _details_in(counts, "output_tokens_details")
    reasoning = _count_in(outputs, "reasoning_tokens")
    entered = _count_in(counts, "input_tokens") or _count_in(counts, "prompt_tokens")
    output = _count_in(counts, "output_tokens") or _count_in(counts, "completion_tokens")
    uncounted = _count_in(counts, "total_tokens") - entered - output
    if reasoning and uncounted == reasoning:
        output += uncounted
    cached, written = _count_in(inputs, "cached_tokens"), _cache_written_in(inputs)
    return Usage(
        entered, output, cached, written, reasoning, _other_counts(counts, _RESPONSES, _RESPONSES_DETAILS, dialect)
    )


def _count_in(usage: Mapping[str, Any], key: str) -> int:
    """A count within bounds; 0 if the value cannot be one."""
    return clamp_tokens(usage.get(key))


_WRITTEN_IN_ORDER = (
    "cache_write_tokens",
    "cache_creation_input_tokens",  # DashScope
    "cached_creation_tokens",  # New API
    "cache_creation_tokens",  # LiteLLM
)
_WRITTEN = frozenset(_WRITTEN_IN_ORDER)


def _cache_written_in(details: Mapping[str, Any]) -> int:
    """The tokens written to a cache, among the details of the input."""
    if _WRITTEN.isdisjoint(details):
        return 0
    return next((count for key in _WRITTEN_IN_ORDER if (count := _count_in(details, key))), 0)


def _details_in(usage: Mapping[str, Any], key: str) -> dict[str, Any]:
    found = usage.get(key)
    return found if isinstance(found, dict) else {}


def _other_counts(
    usage: Mapping[str, Any], known: frozenset[str], details: Mapping[str, frozenset[str]], dialect: str
) -> Extras | None:
    """What the usage says in addition to the counts that we know: costs, times, tokens of sounds and pictures."""
    fields: dict[str, Json] = {}
    for key, value in usage.items():
        if key in details:
            found, read = _details_in(usage, key), details[key]
            if not found.keys() <= read:
                fields[key] = encode({name: count for name, count in found.items() if name not in read})
        elif key not in known and value is not None:
            fields[key] = encode(value)
    return extras_of(dialect, fields)
