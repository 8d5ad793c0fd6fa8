"""Usage as Anthropic counts it."""

from __future__ import annotations

from typing import Any

import msgspec

from dragoman.conversation.parts import Extras, Json
from dragoman.conversation.replies import Usage, token_count
from dragoman.dialects.anthropic import NAME
from dragoman.dialects.shared.ownership import own_fields
from dragoman.dialects.shared.raw_json import decode_object, encode
from dragoman.wire.json_reader import render_object

_INPUT, _OUTPUT = "input_tokens", "output_tokens"


_WRITTEN, _READ = "cache_creation_input_tokens", "cache_read_input_tokens"


_COUNTS = frozenset({_INPUT, _OUTPUT, _WRITTEN, _READ})


_NO_DELTA_USAGE: dict[str, Json] = dict.fromkeys(("output_tokens_details", "server_tool_use"), b"null")
NO_USAGE: dict[str, Json] = dict.fromkeys(
    ("cache_creation", "inference_geo", "output_tokens_details", "server_tool_use", "service_tier", "speed"), b"null"
)


MOST_MEMBERS = 64
"""Members of a usage, or of the end of a message, that may come in pieces."""


class UsageCounter:
    """Usage that comes in pieces. What a later piece leaves out still holds."""

    __slots__ = ("_fields",)

    def __init__(self) -> None:
        self._fields: dict[str, Any] = {}

    def add(self, raw: bytes) -> bool:
        """Take one `usage` object; False if it holds no counts."""
        try:
            counts = decode_object(raw)
        except msgspec.DecodeError:
            return False
        counts = {key: value for key, value in counts.items() if value is not None}
        if len(self._fields) + len(counts) > MOST_MEMBERS:
            counts = {key: value for key, value in counts.items() if key in _COUNTS or key in self._fields}
        self._fields.update(counts)
        return bool(counts)

    def usage(self) -> Usage:
        fields = self._fields
        written, cached = token_count(fields.get(_WRITTEN)), token_count(fields.get(_READ))
        details = fields.get("output_tokens_details")
        reasoning = token_count(details.get("thinking_tokens")) if isinstance(details, dict) else 0
        extras = {key: encode(value) for key, value in fields.items() if key not in _COUNTS}
        created = fields.get("cache_creation")
        return Usage(
            input=token_count(fields.get(_INPUT)) + written + cached,
            output=token_count(fields.get(_OUTPUT)),
            cached=cached,
            cache_written=written,
            reasoning=reasoning,
            extras=Extras(NAME, extras) if extras else None,
            kept_long=_kept(created, _LONG, written) if written else 0,
            kept_short=_kept(created, _SHORT, written) if written else 0,
        )


_SHORT, _LONG = "ephemeral_5m_input_tokens", "ephemeral_1h_input_tokens"


def _kept(created: Any, lifetime: str, written: int) -> int:
    """Of the tokens that were written to the cache, those that stay so long."""
    return min(token_count(created.get(lifetime)), written) if isinstance(created, dict) else 0


def render_usage(usage: Usage | None) -> Json:
    """The usage of a message, with every count that the SDK's types require."""
    lifetimes: dict[str, Json] = {}
    if usage is not None and (usage.kept_long or usage.kept_short):
        lifetimes["cache_creation"] = encode({_SHORT: usage.kept_short, _LONG: usage.kept_long})
    return render_object(NO_USAGE | lifetimes | _render_counts(usage))


def render_delta_usage(usage: Usage | None) -> Json:
    """The usage at the end of a stream, which has fewer counts."""
    return render_object(_NO_DELTA_USAGE | _render_counts(usage))


def _render_counts(usage: Usage | None) -> dict[str, Json]:
    """This dialect counts new input, cache writes and cache reads apart.

    The three add up to the whole input, even if a server reports more cached tokens than input.
    """
    usage = usage or Usage()
    cached = min(usage.cached, usage.input)
    written = min(usage.cache_written, usage.input - cached)
    fields: dict[str, bytes] = {
        "input_tokens": b"%d" % (usage.input - cached - written),
        "cache_creation_input_tokens": b"%d" % written,
        "cache_read_input_tokens": b"%d" % cached,
        "output_tokens": b"%d" % usage.output,
    }
    if usage.reasoning:
        fields["output_tokens_details"] = b'{"thinking_tokens":%d}' % usage.reasoning
    return fields | own_fields(usage.extras, NAME)
