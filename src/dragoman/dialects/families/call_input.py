"""The input of a call, which is an object, from arguments, which are text.

Arguments that were cut off keep their complete members. In a stream the fragments have gone out before the cut could be
seen, and the official SDK keeps the complete members too: stream and whole answer give the same input.
"""

from __future__ import annotations

import re

import msgspec

from dragoman.conversation.literals import quote, unquote
from dragoman.conversation.parts import Json
from dragoman.dialects.shared.raw_json import UNREADABLE, decode_members

_OBJECT = re.compile(r'\s*\{\s*(["}]|$)')
# A string without an end takes the rest of the text: each of its quotes would begin another search for the end.
_TOKEN = re.compile(r'"(?:[^"\\]|\\.)*+(?P<closed>")?|[{}\[\]:,]|[^\s{}\[\]:,"]+', re.DOTALL)
_CLOSING = {"{": "}", "[": "]"}

_any = msgspec.json.Decoder().decode


def is_object(text: str) -> bool:
    """Whether a text, or the beginning of one, can be an object."""
    return _OBJECT.match(text) is not None


def call_input(text: str) -> Json:
    """The input of these arguments. A text that is no object is kept as the member `arguments`."""
    if text.strip() in ("", "null"):
        return b"{}"
    try:
        decode_members(text)
    except UNREADABLE:
        return _complete_members(text) or b'{"arguments":%b}' % quote(text)
    return text.strip().encode()


def parse_input(given: bytes) -> Json:
    """The arguments, as a literal, of an input that is an object. Some servers write the object's text instead."""
    if given[:1] == b'"' and unquote(given).strip():
        return given
    return quote(given.decode()) if given[:1] == b"{" else b'"{}"'


def _complete_members(text: str) -> Json | None:
    """An object that was cut off, closed after its last complete value. None if the text does not begin one."""
    if not is_object(text):
        return None
    end, before = 0, ""
    closing: list[str] = []  # changes only where a value begins or ends, so it always belongs to `end`
    for token in _TOKEN.finditer(text):
        sign = token[0]
        if sign[0] == '"' and not token["closed"]:
            break
        if sign in _CLOSING:
            closing.append(_CLOSING[sign])
        elif sign in "}]":
            del closing[-1:]
        elif sign in ",:" or not _is_value(sign) or (closing[-1:] == ["}"] and before != ":"):
            before = sign
            continue
        before, end = sign, token.end()
    kept = text[:end] + "".join(reversed(closing))
    try:
        decode_members(kept)
    except UNREADABLE:
        return None
    return kept.strip().encode()


def _is_value(sign: str) -> bool:
    """Whether it is a whole string, number or literal."""
    try:
        _any(sign)
    except msgspec.DecodeError:
        return False
    return True
