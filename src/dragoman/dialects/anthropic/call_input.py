"""The input of a call, which in this dialect is an object: from arguments that are text, also where they are no object.

Arguments that break off are told as far as they go. In a stream they have gone out before their end could be seen, and
the official SDK then keeps the members that are complete: a whole reply says the same.
"""

from __future__ import annotations

import re

import msgspec

from dragoman.conversation.literals import quote
from dragoman.conversation.parts import Json
from dragoman.dialects.raw_json import decode_members

_OBJECT = re.compile(r'\s*\{\s*(["}]|$)')
_TOKEN = re.compile(r'"(?:[^"\\]|\\.)*"|[{}\[\]:,"]|[^\s{}\[\]:,"]+', re.DOTALL)
_CLOSING = {"{": "}", "[": "]"}

_any = msgspec.json.Decoder().decode


def is_object(text: str) -> bool:
    """Whether a text, or the beginning of one, can be an object."""
    return _OBJECT.match(text) is not None


def call_input(text: str) -> Json:
    """The input that arguments make. What is no object is kept under a name of its own."""
    if text.strip() in ("", "null"):
        return b"{}"
    try:
        decode_members(text)
    except msgspec.DecodeError:
        return _complete_members(text) or b'{"arguments":%b}' % quote(text)
    return text.strip().encode()


def _complete_members(text: str) -> Json | None:
    """An object that breaks off, closed behind its last complete value. None where it is not even the start of one."""
    if not is_object(text):
        return None
    kept, closing, before = "", "", ""
    for token in _TOKEN.finditer(text):
        sign = token[0]
        if sign == '"':
            break
        if sign in _CLOSING:
            closing = _CLOSING[sign] + closing
        elif sign in "}]":
            closing = closing[1:]
        elif sign in ",:" or not _is_value(sign) or (closing[:1] == "}" and before != ":"):
            before = sign
            continue
        before = sign
        kept = text[: token.end()] + closing
    try:
        decode_members(kept)
    except msgspec.DecodeError:
        return None
    return kept.strip().encode()


def _is_value(sign: str) -> bool:
    """Whether it is a text, a number or a word, and not half of one."""
    try:
        _any(sign)
    except msgspec.DecodeError:
        return False
    return True
