"""Text as its JSON literal: bytes with their quotes, copied between dialects and never escaped twice.

A text of a conversation is only looked at when a rule has to; everywhere else the same bytes go in and come out.
"""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

EMPTY = b'""'

_decode = msgspec.json.Decoder(str).decode
_encode = msgspec.json.Encoder().encode
# What a blank text can open with: a space, an escape (\n, \t) or its own closing quote.
_MAYBE_BLANK = b' "\\'


def quote(text: str) -> bytes:
    """The JSON literal of a text."""
    return _encode(text)


def unquote(literal: bytes) -> str:
    """The text of a JSON literal."""
    return _decode(literal)


def blank(literal: bytes) -> bool:
    """Nothing, or nothing but white space."""
    return literal[1] in _MAYBE_BLANK and not _decode(literal).strip()


def prefixed(prefix: str, literal: bytes) -> bytes:
    """The literal with a text put before it."""
    return _encode(prefix)[:-1] + literal[1:]


def joined(separator: str, literals: Iterable[bytes]) -> bytes:
    """One literal of many, in one pass."""
    return b'"' + _encode(separator)[1:-1].join([literal[1:-1] for literal in literals]) + b'"'
