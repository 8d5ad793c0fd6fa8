"""The values of this package, and how fields of unknown JSON are read."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import msgspec

JsonObject = dict[str, Any]

LIMIT = 4096
"""Stands for the limit of an answer, if a dialect requires one and no transcript records it."""


class TranscriptRecord(msgspec.Struct, frozen=True):
    """One decoded JSON value of a file."""

    value: Any
    line: int = 0
    """0 if it is the whole file."""


class Transcript(msgspec.Struct, frozen=True):
    """One request."""

    request: JsonObject
    label: str = ""
    """Tells it from others of the same file."""


class TranscriptFormat(msgspec.Struct, frozen=True):
    """A format of files."""

    name: str
    title: str
    dialect: str
    """Of its requests; empty if each shows its own."""
    fits: Callable[[Any], bool]
    """Whether a record is one of its own."""
    parse: Callable[[Sequence[TranscriptRecord]], list[Transcript]]
    session: bool = False
    """Whether all lines of a file together are the transcript; otherwise every line is one on its own."""
    lines_only: bool = False
    """Whether a file that is one JSON document cannot be told from a request, and is not taken for it unless the user
    says so."""


def is_object(value: Any) -> bool:
    return isinstance(value, dict)


def text_at(record: JsonObject, key: str) -> str:
    """A text of the record; empty if there is none."""
    value = record.get(key)
    return value if isinstance(value, str) else ""


def object_at(record: JsonObject, key: str) -> JsonObject:
    value = record.get(key)
    return value if isinstance(value, dict) else {}


def objects_at(record: JsonObject, key: str) -> list[JsonObject]:
    """The objects of a list; empty if there is no list."""
    return objects_of(record.get(key))


def objects_of(value: Any) -> list[JsonObject]:
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []


def open_schema() -> JsonObject:
    """The schema of a tool that nobody recorded: any object."""
    return {"type": "object", "properties": {}}


def as_text(value: Any) -> str:
    """What a tool returned, as text: a text as it is, anything else as JSON."""
    return value if isinstance(value, str) else msgspec.json.encode(value).decode()
