"""JSON that is opened only as far as needed. Texts stay raw: they are copied, not decoded.

A member that is absent is `ABSENT`, which is empty; null is `b"null"`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, TypeVar

import msgspec
from msgspec import Raw

from dragoman.conversation.literals import quote, unquote
from dragoman.conversation.parts import Json
from dragoman.wire.fitted_json import decode_fitted
from dragoman.wire.json_reader import replace_lone_surrogates

ABSENT = Raw()
NULL = b"null"
NOTHING = (b"", NULL)
"""A member that is absent or null."""
_SAYS_NOTHING = frozenset({b"", b"null", b"{}", b"[]", b'""', b"false", b"0"})
UNREADABLE = (msgspec.DecodeError, RecursionError)
"""What the decoders raise. An answer is foreign text, so they are always caught."""

decode_members = msgspec.json.Decoder(dict[str, Raw]).decode
decode_items = msgspec.json.Decoder(list[Raw]).decode
decode_object = msgspec.json.Decoder(dict[str, Any]).decode
encode = msgspec.json.Encoder().encode

Decoded = TypeVar("Decoded")
Fields = dict[str, Json]
"""The members of an object, each as its JSON text."""


def says_nothing(raw: Raw | bytes | None) -> bool:
    """Whether a member is absent, or there in name alone: some servers write an empty error beside every answer."""
    return raw is None or (len(raw) <= 5 and bytes(raw).replace(b" ", b"") in _SAYS_NOTHING)


def text_of(raw: Raw | bytes | None) -> str:
    """The text of a string; empty if the value is something else."""
    literal = bytes(raw) if raw is not None else b""
    return unquote(literal) if literal[:1] == b'"' else ""


def items_in(raw: Raw | None) -> list[Json]:
    """The items of a list; none if the value is something else."""
    text = bytes(raw) if raw is not None else b""
    return [bytes(item) for item in decode_items(text)] if text[:1] == b"[" else []


def fields_of(raw: Json | None) -> Fields | None:
    """The members of an object, or None if it is none."""
    if raw is None or raw[:1] != b"{":
        return None
    return {key: bytes(value) for key, value in decode_members(raw).items()}


def items_of(raw: Json | None) -> list[Json] | None:
    """The items of a list, or None if it is none."""
    if raw is None or raw[:1] != b"[":
        return None
    return [bytes(item) for item in decode_items(raw)]


def parse_numbered_items(raw: Json | None) -> list[Json] | None:
    """The items of a list that was written as an object with their numbers for keys, or None if it is none.

    Some languages write a list so once an item was taken out of it.
    """
    fields = fields_of(raw)
    return list(fields.values()) if fields and all(key.isdecimal() for key in fields) else None


def first_of(fields: Mapping[str, Json], names: Iterable[str]) -> Json | None:
    """The first of these members that is there and not null."""
    for name in names:
        found = fields.get(name)
        if found is not None and found != NULL:
            return found
    return None


def parse_embedded_object(literal: Json) -> Json | None:
    """The JSON object that a string holds, if it holds one."""
    text = unquote(literal).strip().encode()
    try:
        return text if text[:1] == b"{" and msgspec.json.decode(text, type=dict) is not None else None
    except UNREADABLE:
        return None


def as_text(raw: Json) -> Json:
    """A string as it is, anything else as the string of its JSON."""
    return raw if raw[:1] == b'"' else quote(raw.decode())


def valid_utf8(data: bytes) -> bytes:
    """Bytes that are UTF-8, which decoders do not check where they skip over raw JSON."""
    try:
        data.decode()
    except UnicodeDecodeError:
        return data.decode("utf-8", "replace").encode()
    return data


def decode_broken(
    decode: Callable[[bytes], Decoded], data: bytes, mend: Callable[[bytes], bytes] = replace_lone_surrogates
) -> tuple[Decoded | None, bytes]:
    """What a provider sent, though its text may be broken or not fit, and the text that was decoded. None if nothing
    can be.

    `mend` takes care of halves of surrogate pairs.
    """
    if not data.isascii():
        data = valid_utf8(data)
    try:
        return decode(data), data
    except UNREADABLE:
        data = mend(data)
    try:
        return decode(data), data
    except UNREADABLE:
        return decode_fitted(decode, data)


def decode_answer(body: bytes) -> dict[str, Raw]:
    """The members of a whole answer, though its text may be broken. Raises one of `UNREADABLE` if there are none."""
    found, _ = decode_broken(decode_members, body)
    if found is None:
        raise msgspec.DecodeError("no object")
    return found


def is_stream(body: bytes) -> bool:
    """Whether a server streams although it was asked for a whole answer. JSON has no line end between two objects."""
    if body[:1] == b"{" and body.find(b"\n") < 0:
        return False
    begun = body[:64].lstrip()
    return (
        begun.startswith((b"data:", b"event:", b"id:", b":", b"["))
        or body.find(b"}\n{") >= 0
        or body.find(b"}\r\n{") >= 0
    )
