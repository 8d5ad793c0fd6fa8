"""Cache hints, which stand in a member of blocks and tools."""

from __future__ import annotations

import msgspec
from msgspec import Raw

from dragoman.conversation.parts import CacheHint, Json
from dragoman.dialects.anthropic.schema import decode_hint
from dragoman.dialects.shared.raw_json import ABSENT
from dragoman.wire.json_reader import render_object, split_members

_MEMBER = "cache_control"
_QUOTED = b'"cache_control"'


def parse_hint(raw: Raw) -> CacheHint | None:
    """Raises DecodeError if it does not fit."""
    if raw is ABSENT:
        return None
    text = bytes(raw)
    if text == b"null":
        return None
    decode_hint(text)
    return CacheHint(text)


def split_hint(raw: Json) -> tuple[CacheHint | None, Json]:
    """The hint of a block or a tool that is kept as it is, and the rest. One that does not fit stays where it is."""
    if _QUOTED not in raw:
        return None, raw
    members = split_members(raw)
    try:
        hint = parse_hint(members.pop(_MEMBER, ABSENT))
    except msgspec.DecodeError:
        hint = None
    return (None, raw) if hint is None else (hint, render_object(members))


def with_hint(block: Json, hint: CacheHint | None) -> Json:
    """The block with its hint again."""
    return block if hint is None else render_object({**split_members(block), _MEMBER: hint.json})
