"""Usage as Converse counts it: new input, cache reads and cache writes are separate and add up to the whole."""

from __future__ import annotations

from typing import Any

import msgspec

from dragoman.conversation.parts import Json
from dragoman.conversation.replies import Usage, token_count
from dragoman.dialects.bedrock import NAME
from dragoman.dialects.shared.ownership import own_fields
from dragoman.dialects.shared.parsing import extras_of
from dragoman.dialects.shared.raw_json import decode_object, encode
from dragoman.wire.json_reader import render_object

_KNOWN = frozenset(
    {"inputTokens", "outputTokens", "totalTokens", "cacheReadInputTokens", "cacheWriteInputTokens", "serverToolUsage"}
)
_TWIN = "TokenCount"
"""How the names of counts end that Bedrock sends twice."""


def parse_usage(raw: bytes) -> Usage | None:
    """The counts; None if there are none."""
    try:
        fields = decode_object(raw)
    except msgspec.DecodeError:
        return None
    if not fields:
        return None
    read, written = token_count(fields.get("cacheReadInputTokens")), token_count(fields.get("cacheWriteInputTokens"))
    extras = {key: encode(value) for key, value in fields.items() if key not in _KNOWN and not key.endswith(_TWIN)}
    return Usage(
        input=token_count(fields.get("inputTokens")) + read + written,
        output=token_count(fields.get("outputTokens")),
        cached=read,
        cache_written=written,
        extras=extras_of(NAME, extras),
        kept_long=_kept(fields.get(_DETAILS), _LONG, written),
        kept_short=_kept(fields.get(_DETAILS), _SHORT, written),
    )


_DETAILS, _SHORT, _LONG = "cacheDetails", "5m", "1h"


def _kept(details: Any, lifetime: str, written: int) -> int:
    """Of the tokens that were written to the cache, those that stay so long."""
    entries = [one for one in details if isinstance(one, dict)] if isinstance(details, list) else []
    return min(sum(token_count(one.get("inputTokens")) for one in entries if one.get("ttl") == lifetime), written)


def render_usage(usage: Usage | None) -> Json:
    """All counts. They add up, even if a server reports more cached tokens than input."""
    usage = usage or Usage()
    read = min(usage.cached, usage.input)
    written = min(usage.cache_written, usage.input - read)
    counts = {
        "inputTokens": usage.input - read - written,
        "outputTokens": usage.output,
        "totalTokens": usage.input + usage.output,
        "cacheReadInputTokens": read,
        "cacheWriteInputTokens": written,
    }
    fields: dict[str, Json] = {key: b"%d" % value for key, value in counts.items()}
    kept = [{"ttl": _LONG, "inputTokens": usage.kept_long}, {"ttl": _SHORT, "inputTokens": usage.kept_short}]
    if details := [one for one in kept if one["inputTokens"]]:
        fields[_DETAILS] = encode(details)
    return render_object(fields | own_fields(usage.extras, NAME))
