"""JSON that is opened one level at a time. What is inside stays as it was written."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import msgspec

from dragoman.conversation.literals import quote, unquote
from dragoman.conversation.parts import Json
from dragoman.dialects.shared.raw_json import UNREADABLE, decode_items, decode_members

Fields = dict[str, Json]
"""The members of an object, each as its JSON text."""

NULL = b"null"


def fields_of(raw: Json | None) -> Fields | None:
    """The members of an object, or None if it is none."""
    if raw is None or raw[:1] != b"{":
        return None
    return {key: bytes(value) for key, value in decode_members(raw).items()}


def items_of(raw: Json | None) -> list[Json] | None:
    """The items of a list, or None if it is none."""
    if raw is None or raw[:1] != b"[":
        return None
    return [bytes(item) for item in decode_items(raw)]


def numbered_items(raw: Json | None) -> list[Json] | None:
    """The items of a list that was written as an object with their numbers for keys, or None if it is none.

    Some languages write a list so once an item was taken out of it.
    """
    fields = fields_of(raw)
    return list(fields.values()) if fields and all(key.isdecimal() for key in fields) else None


def text_of(raw: Json | None) -> str:
    """The text of a string; empty if it is no string."""
    return unquote(raw) if raw is not None and raw[:1] == b'"' else ""


def first_of(fields: Mapping[str, Json], names: Iterable[str]) -> Json | None:
    """The first of these members that is there and not null."""
    for name in names:
        found = fields.get(name)
        if found is not None and found != NULL:
            return found
    return None


def embedded_object(literal: Json) -> Json | None:
    """The JSON object that a string holds, if it holds one."""
    text = unquote(literal).strip().encode()
    try:
        return text if text[:1] == b"{" and msgspec.json.decode(text, type=dict) is not None else None
    except UNREADABLE:
        return None


def as_text(raw: Json) -> Json:
    """A string as it is, anything else as the string of its JSON."""
    return raw if raw[:1] == b'"' else quote(raw.decode())
