"""The format of the answer, asked for in Chat's member in a request of another dialect."""

from __future__ import annotations

from typing import Any

import msgspec

from dragoman.conversation.near_misses import Miss, NearMiss
from dragoman.conversation.parts import Json
from dragoman.conversation.settings import FormatKind, ResponseFormat
from dragoman.dialects.shared.raw_json import Fields, fields_of, first_of, text_of

CHAT_MEMBER = "response_format"
_KINDS = {
    "text": FormatKind.TEXT,
    "json": FormatKind.JSON,
    "json_object": FormatKind.JSON,
    "json_schema": FormatKind.SCHEMA,
}


def take_chat_format(found: dict[str, Any], extras: dict[str, Json], home: str) -> tuple[NearMiss, ...]:
    """Read the wish out of the extra fields into the settings, unless these say it already.

    `home` is the member that the dialect has for it.
    """
    raw = extras.get(CHAT_MEMBER)
    form = parse_chat_format(raw) if raw is not None and CHAT_MEMBER not in found else None
    if form is None:
        return ()
    del extras[CHAT_MEMBER]
    found[CHAT_MEMBER] = form
    return (NearMiss(Miss.SETTING_NAME, f"/{CHAT_MEMBER}", members=(CHAT_MEMBER, home)),)


def parse_chat_format(raw: Json) -> ResponseFormat | None:
    """The format that is meant: a word, a type, or a schema, with or without the object around it."""
    fields = fields_of(raw)
    kind = _KINDS.get(text_of(raw) if fields is None else text_of(fields.get("type")))
    if kind is None:
        return None
    inner = fields_of((fields or {}).get("json_schema")) or fields or {}
    schema = first_of(inner, ("schema",))
    if kind is FormatKind.TEXT or fields_of(schema) is None:
        return None if kind is FormatKind.SCHEMA else ResponseFormat(kind, wire_form=CHAT_MEMBER)
    return _with_schema(inner, schema)


def _with_schema(inner: Fields, schema: Json | None) -> ResponseFormat:
    description = inner.get("description", b"")
    strict = {b"true": True, b"false": False}.get(inner.get("strict", b""))
    return ResponseFormat(
        FormatKind.SCHEMA,
        schema,
        text_of(inner.get("name")),
        description if description[:1] == b'"' else None,
        strict,
    )


def render_chat_format(form: ResponseFormat) -> Json:
    """A format without a schema, as Chat writes it."""
    return msgspec.json.encode({"type": "text" if form.kind is FormatKind.TEXT else "json_object"})
