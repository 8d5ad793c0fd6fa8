"""New JSON in the layout of the old: every value that stayed the same keeps its text, whitespace included.

The old text is cut into members and items. Those that are equal are copied, those that differ are looked into, and only
what is new is written, in the style of its neighbours.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import msgspec

_KEY = re.compile(rb'\s*("(?:[^"\\]|\\.)*+")\s*:\s*')
_SPACE = re.compile(rb"\s*")
NEXT = b"next"
"""The whitespace of a piece that is new: like that of its neighbours."""

_encode = msgspec.json.Encoder(order="sorted").encode


class _Style(msgspec.Struct, frozen=True):
    """How new values are written: on lines with this indentation, or on one line with these spaces."""

    indent: int
    colon: bytes
    comma: bytes

    def render(self, value: Any, depth: int) -> bytes:
        if not self.indent:
            return self._render_flat(value)
        text = msgspec.json.format(msgspec.json.encode(value), indent=self.indent)
        return text.replace(b"\n", b"\n" + b" " * (self.indent * depth))

    def _render_flat(self, value: Any) -> bytes:
        if isinstance(value, dict):
            members = [self.key(name) + self._render_flat(inner) for name, inner in value.items()]
            return b"{" + self.comma.join(members) + b"}"
        if isinstance(value, list):
            return b"[" + self.comma.join(self._render_flat(inner) for inner in value) + b"]"
        return msgspec.json.encode(value)

    def key(self, name: str) -> bytes:
        return msgspec.json.encode(name) + self.colon


class _TextPiece(msgspec.Struct, frozen=True):
    """A member or an item of the old text."""

    space: bytes
    """The whitespace before it."""
    key: bytes
    """With the colon; empty for an item."""
    text: bytes
    """Its value."""


def splice(old: bytes, new: bytes) -> bytes:
    """The new JSON document, with the text of the old for all that is equal. What cannot be compared is all new."""
    content = old.strip()
    start = old.index(content)
    try:
        written = _merge(content, msgspec.json.decode(new), _style_of(content), 0)
    except (msgspec.DecodeError, RecursionError):
        written = new
    return old[:start] + written + old[start + len(content) :]


def _style_of(text: bytes) -> _Style:
    colon = b": " if b'": ' in text else b":"
    if b"\n" not in text:
        return _Style(0, colon, b", " if b', "' in text else b",")
    second = text.split(b"\n", 2)[1]
    return _Style(len(second) - len(second.lstrip(b" ")) or 2, colon, b",")


def _merge(old: bytes, new: Any, style: _Style, depth: int) -> bytes:
    value = msgspec.json.decode(old)
    if _encode(value) == _encode(new):
        return old
    pieces: list[_TextPiece] = []
    if isinstance(value, dict) and isinstance(new, dict):
        pieces = list(_members(old))
        if pieces and len(pieces) == len(value):  # a key that stands twice cannot be kept
            return _join(old, pieces, _object(pieces, value, new, style, depth), style)
    elif isinstance(value, list) and isinstance(new, list):
        pieces = list(_items(old))
        if pieces:
            return _join(old, pieces, _list(pieces, new, style, depth), style)
    return style.render(new, depth)


def _members(text: bytes) -> Iterator[_TextPiece]:
    at = 1
    for raw in msgspec.json.decode(text, type=dict[str, msgspec.Raw]).values():
        found = _KEY.match(text, at)
        if found is None:
            return
        value = bytes(raw)
        if not text.startswith(value, found.end()):
            return
        space = found.group()[: found.start(1) - found.start()]
        yield _TextPiece(space, text[found.start(1) : found.end()], value)
        at = _after_comma(text, found.end() + len(value))


def _items(text: bytes) -> Iterator[_TextPiece]:
    at = 1
    for raw in msgspec.json.decode(text, type=list[msgspec.Raw]):
        space = _SPACE.match(text, at)
        value = bytes(raw)
        begin = space.end() if space is not None else at
        yield _TextPiece(text[at:begin], b"", value)
        at = _after_comma(text, begin + len(value))


def _after_comma(text: bytes, at: int) -> int:
    found = text.find(b",", at)
    return len(text) if found < 0 else found + 1


def _object(
    pieces: Sequence[_TextPiece], old: Mapping[str, Any], new: Mapping[str, Any], style: _Style, depth: int
) -> list[_TextPiece]:
    """The members that stayed, in their old order, and then the new ones."""
    kept = [
        _TextPiece(piece.space, piece.key, _merge(piece.text, new[name], style, depth + 1))
        for piece, name in zip(pieces, old, strict=True)
        if name in new
    ]
    added = [
        _TextPiece(NEXT, style.key(name), style.render(value, depth + 1))
        for name, value in new.items()
        if name not in old
    ]
    return kept + added


def _list(pieces: Sequence[_TextPiece], new: Sequence[Any], style: _Style, depth: int) -> list[_TextPiece]:
    """Each new item takes the text of an old item that equals it, or else the place of the next one that is left."""
    places: dict[bytes, list[_TextPiece]] = {}
    for piece in reversed(pieces):
        places.setdefault(_encode(msgspec.json.decode(piece.text)), []).append(piece)
    equal = [places[key].pop() if places.get(key := _encode(value)) else None for value in new]
    taken = {id(piece) for piece in equal}
    left = iter([piece for piece in pieces if id(piece) not in taken])
    return [piece or _change(next(left, None), value, style, depth) for piece, value in zip(equal, new, strict=True)]


def _change(old: _TextPiece | None, value: Any, style: _Style, depth: int) -> _TextPiece:
    if old is None:
        return _TextPiece(NEXT, b"", style.render(value, depth + 1))
    return _TextPiece(old.space, b"", _merge(old.text, value, style, depth + 1))


def _join(old: bytes, before: Sequence[_TextPiece], after: Sequence[_TextPiece], style: _Style) -> bytes:
    """The container with its new pieces, spaced like the old ones."""
    if not after:
        return old[:1] + old[-1:]
    first = before[0].space
    following = before[1].space if len(before) > 1 else first if b"\n" in first else style.comma[1:]
    spaces = [first, *(_space(piece, first, following) for piece in after[1:])]
    texts = [space + piece.key + piece.text for space, piece in zip(spaces, after, strict=True)]
    return old[:1] + b",".join(texts) + old[len(old[:-1].rstrip()) : -1] + old[-1:]


def _space(piece: _TextPiece, first: bytes, following: bytes) -> bytes:
    """The whitespace before a piece that is not the first. One that was the first has none of its own."""
    return following if piece.space is NEXT or piece.space == first else piece.space
