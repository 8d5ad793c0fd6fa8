"""The name and the description of an answer's schema, inside the schema."""

from __future__ import annotations

from dragoman.conversation.literals import quote, unquote
from dragoman.conversation.parts import Json
from dragoman.conversation.settings import UNNAMED, ResponseFormat
from dragoman.wire.json_reader import render_object, split_members


def label_schema(wanted: ResponseFormat) -> Json | None:
    """The schema of an answer with its name and its description inside, if there is a place for them."""
    if wanted.schema is None or wanted.schema[:1] != b"{":
        return wanted.schema
    labels: dict[str, Json] = {}
    found = split_members(wanted.schema)
    if wanted.name not in ("", UNNAMED) and "title" not in found:
        labels["title"] = quote(wanted.name)
    about, own = unquote(wanted.description or b'""'), read_text_member(wanted.schema, "description")
    if about and about not in own:
        labels["description"] = quote(f"{about}\n\n{own}" if own else about)
    return render_object(labels | {key: bytes(value) for key, value in found.items() if key not in labels})


def read_text_member(schema: Json | None, name: str) -> str:
    """A text of the schema; empty if it has none."""
    raw = bytes(split_members(schema).get(name, b"")) if schema is not None and schema[:1] == b"{" else b""
    return unquote(raw) if raw[:1] == b'"' else ""
