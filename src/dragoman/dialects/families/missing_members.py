"""Members that a whole answer lacks, put into its text. Every other byte stays as the provider sent it.

Other vendors of a dialect leave out what its own vendor always sends, and strict clients refuse such answers. A dialect
states what its answers have as a tree of `CompleteObject`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

import msgspec

from dragoman.conversation.parts import Json
from dragoman.dialects.shared.raw_json import UNREADABLE, decode_items, decode_members
from dragoman.wire.json_reader import member_head

_BEFORE_VALUE = re.compile(rb'[ \t\r\n,]*"(?:[^"\\]|\\.)*"[ \t\r\n]*:[ \t\r\n]*', re.DOTALL)
_BEFORE_ITEM = re.compile(rb"[ \t\r\n,]*")


class CompleteObject(msgspec.Struct, frozen=True):
    """What an object has when it is complete, or each object of a list."""

    added: Mapping[str, Json] = {}
    """The members with their values for when they are missing."""
    never_null: frozenset[str] = frozenset()
    """Members that are taken out if they are null."""
    never: frozenset[str] = frozenset()
    """Members that no answer of the dialect's own vendor has."""
    inside: Mapping[str, CompleteObject] = {}
    """Members that are looked into."""
    kinds: Mapping[str, CompleteObject] = {}
    """What else holds for objects of one `type`."""


class _Edit(msgspec.Struct, frozen=True):
    """Bytes from `start` to `end` are replaced."""

    start: int
    end: int
    text: bytes


class _Span(msgspec.Struct, frozen=True):
    """A value and where it stands."""

    begin: int
    """The end of what stands before it, so that the comma lies between."""
    start: int
    value: bytes

    @property
    def end(self) -> int:
        return self.start + len(self.value)


class _Unplaceable(Exception):
    """The same key twice: nobody can tell which one counts."""


def complete(body: bytes, shape: CompleteObject) -> bytes:
    """The answer with what it lacks. A body that cannot be read is left alone."""
    edits: list[_Edit] = []
    start = len(body) - len(body.lstrip())
    try:
        edits += _edits(body.strip(), start, shape)
    except (*UNREADABLE, _Unplaceable):
        return body
    return _edit(body, edits) if edits else body


def _edit(body: bytes, edits: list[_Edit]) -> bytes:
    out: list[bytes] = []
    position = 0
    for edit in sorted(edits, key=lambda one: one.start):
        out += (body[position : edit.start], edit.text)
        position = edit.end
    out.append(body[position:])
    return b"".join(out)


def _edits(text: bytes, at: int, shape: CompleteObject) -> Iterator[_Edit]:
    """What is to be done in a value that begins at `at`."""
    if text[:1] == b"[":
        for item in _items(text):
            yield from _edits(item.value, at + item.start, shape)
    elif text[:1] == b"{":
        yield from _find_object_edits(text, at, shape)


def _find_object_edits(text: bytes, at: int, shape: CompleteObject) -> Iterator[_Edit]:
    members = _members(text)
    kind = shape.kinds.get(_kind(members)) if shape.kinds else None
    for one in (shape, kind) if kind is not None else (shape,):
        for key, inner in one.inside.items():
            if key in members:
                yield from _edits(members[key].value, at + members[key].start, inner)
    never_null = shape.never_null | kind.never_null if kind is not None else shape.never_null
    nulls = {key for key in never_null if key in members and members[key].value == b"null"}
    removed = nulls | (shape.never & members.keys())
    yield from _removals(text, at, members, removed)
    added = {**shape.added, **(kind.added if kind is not None else {})}
    missing = b"".join([member_head(key) + value for key, value in added.items() if key not in members])
    if missing:
        # Before the closing brace. The first comma goes if nothing is left to stand before it.
        alone = len(members) == len(removed)
        yield _Edit(at + len(text) - 1, at + len(text) - 1, missing[1:] if alone else missing)


def _kind(members: Mapping[str, _Span]) -> str:
    found = members.get("type")
    return found.value[1:-1].decode() if found is not None and found.value[:1] == b'"' else ""


def _removals(text: bytes, at: int, members: Mapping[str, _Span], keys: set[str]) -> Iterator[_Edit]:
    """Members with their commas: the one before, or the one after if no member is left before it."""
    first = True
    for key, span in members.items():
        if key not in keys:
            first = False
            continue
        after = _BEFORE_ITEM.match(text, span.end) if first else None
        yield _Edit(at + span.begin, at + (after.end() if after is not None else span.end), b"")


def _members(text: bytes) -> dict[str, _Span]:
    """The members of an object, and where they stand."""
    spans: dict[str, _Span] = {}
    position = 1
    for key, raw in decode_members(text).items():
        head = _BEFORE_VALUE.match(text, position)
        span = _Span(position, head.end() if head else 0, bytes(raw))
        if head is None or text[span.start : span.end] != span.value:
            raise _Unplaceable
        spans[key] = span
        position = span.end
    return spans


def _items(text: bytes) -> Iterator[_Span]:
    position = 1
    for raw in decode_items(text):
        head = _BEFORE_ITEM.match(text, position)
        span = _Span(position, head.end() if head else position, bytes(raw))
        yield span
        position = span.end
