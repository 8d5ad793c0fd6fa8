"""Text as its JSON literal: bytes with their quotes, copied between dialects and never escaped twice.

A text of a conversation is only looked at when a rule has to; everywhere else the same bytes go in and come out.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import NewType

import msgspec

JsonText = NewType("JsonText", bytes)
"""The text of a JSON value, as it was written."""
StringLiteral = NewType("StringLiteral", JsonText)
"""The text of a JSON string, with its quotes."""

EMPTY = StringLiteral(JsonText(b'""'))

_decode = msgspec.json.Decoder(str).decode
_encode: Callable[[str], StringLiteral] = msgspec.json.Encoder().encode  # type: ignore[assignment]
# What a blank text can open with: a space, an escape (\n, \t) or its own closing quote.
_MAYBE_BLANK = b' "\\'


def quote(text: str) -> StringLiteral:
    """The JSON literal of a text."""
    return _encode(text)


def unquote(literal: bytes) -> str:
    """The text of a JSON literal."""
    return _decode(literal)


def blank(literal: bytes) -> bool:
    """Nothing, or nothing but white space."""
    return literal[1] in _MAYBE_BLANK and not _decode(literal).strip()


def prefixed(prefix: str, literal: bytes) -> StringLiteral:
    """The literal with a text put before it."""
    return _literal(_encode(prefix)[:-1] + literal[1:])


def joined(separator: str, literals: Iterable[bytes]) -> StringLiteral:
    """One literal of many, in one pass."""
    return _literal(b'"' + _encode(separator)[1:-1].join([literal[1:-1] for literal in literals]) + b'"')


def _literal(text: bytes) -> StringLiteral:
    """Bytes that are known to be a string's literal."""
    return StringLiteral(JsonText(text))
