"""Text as its JSON literal: bytes with their quotes, copied between dialects and never escaped twice.

A text of a conversation is only looked at when a rule has to; everywhere else the same bytes go in and come out.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from typing import NewType

import msgspec

JsonText = NewType("JsonText", bytes)
"""The text of a JSON value, as it was written."""
StringLiteral = NewType("StringLiteral", JsonText)
"""The text of a JSON string, with its quotes."""

EMPTY = StringLiteral(JsonText(b'""'))

quote: Callable[[str], StringLiteral] = msgspec.json.Encoder().encode  # type: ignore[assignment]
"""The JSON literal of a text."""
unquote: Callable[[bytes], str] = msgspec.json.Decoder(str).decode
"""The text of a JSON literal."""

_literal: Callable[[bytes], StringLiteral] = bytes  # type: ignore[assignment]
"""Bytes that are known to be a string's literal."""
# What a blank text can open with: a space, an escape (\n, \t) or its own closing quote.
_MAYBE_BLANK = b' "\\'
_PIECE = 65536
_LONGEST_ESCAPE = len("\\u0020")
_HIGH = re.compile(rb"\\u[dD][89abAB][0-9a-fA-F]{2}")


def blank(literal: bytes) -> bool:
    """Nothing, or nothing but white space."""
    if literal[1] not in _MAYBE_BLANK:
        return False
    return not any(unquote(piece).strip() for piece in split(literal))


def split(literal: bytes) -> Iterator[bytes]:
    """A literal as literals of at most 64 kB, which mean the same when they are joined.

    Decoding megabytes at once would hold up all other threads. No piece ends inside a character, an escape or a pair of
    surrogates.
    """
    if len(literal) <= _PIECE:
        yield literal
        return
    start, end = 1, len(literal) - 1
    while start < end:
        cut = _cut(literal, start, start + _PIECE) if start + _PIECE < end else end
        yield b'"%b"' % literal[start:cut]
        start = cut


def _cut(literal: bytes, start: int, end: int) -> int:
    """Where a piece ends that starts between two characters."""
    piece = literal[start:end].replace(b"\\\\", b"  ")  # now every backslash begins an escape
    escape = piece.rfind(b"\\", -_LONGEST_ESCAPE)
    if escape > 0:
        high = _HIGH.match(piece, escape - _LONGEST_ESCAPE) if escape > _LONGEST_ESCAPE else None
        return start + escape - (_LONGEST_ESCAPE if high is not None else 0)
    while literal[end] & 0xC0 == 0x80:
        end -= 1
    return end - _LONGEST_ESCAPE if _HIGH.match(piece, len(piece) - _LONGEST_ESCAPE) is not None else end


def prefix_literal(prefix: str, literal: bytes) -> StringLiteral:
    """The literal with a text put before it."""
    return _literal(quote(prefix)[:-1] + literal[1:])


def join_texts(separator: str, literals: Sequence[bytes]) -> StringLiteral:
    """One literal of many, in one pass."""
    if len(literals) == 1:
        return _literal(literals[0])
    return _literal(b'"' + quote(separator)[1:-1].join([literal[1:-1] for literal in literals]) + b'"')
