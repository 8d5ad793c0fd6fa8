"""JSON parsing whose errors point at the place, and the raw members of objects and lists."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Any, TypeVar, get_args, get_type_hints

import msgspec
from msgspec import Raw, UnsetType

from dragoman.conversation.literals import JsonText
from dragoman.errors import DuplicateKey, MalformedRequest

T = TypeVar("T")

_members = msgspec.json.Decoder(dict[str, Raw]).decode
_items = msgspec.json.Decoder(list[Raw]).decode
_encode = msgspec.json.Encoder().encode
_STEP = re.compile(r"\.([^.\[\]]+)|\[(\d+|\.\.\.)\]")
_UNKNOWN = ("Object contains unknown field ", "Expected `msgspec.UnsetType`")
_AT = " - at `"
_SURROGATE = re.compile(rb"\\u[dD][89a-fA-F]")
# Halves without a partner, and escaped backslashes that look like the start of an escape. Whole pairs (every emoji is
# one) are skipped by the regular expression engine; only a text with one of these is searched in Python.
_SUSPECTS = (
    re.compile(rb"\\u[dD][89abAB][0-9a-fA-F]{2}(?!\\u[dD][c-fC-F])"),
    re.compile(rb"\\u[dD][c-fC-F](?<!\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F])"),
    re.compile(rb"\\\\u[dD]"),
)

_MALFORMED = "JSON is malformed: "

ABSENT = b""
NULL = b"null"


def readable(body: bytes) -> tuple[bytes, tuple[str, ...]]:
    """The body as JSON that can be decoded, and the repairs that this needed.

    Raises MalformedRequest if the body is not UTF-8. Half of a surrogate pair becomes U+FFFD.
    """
    if body[:3] == b"\xef\xbb\xbf":
        body = body[3:]
    if not body.isascii():
        _check_utf8(body)
    if not _names_surrogate(body) or not any(_occurs(suspect, body) for suspect in _SUSPECTS):
        return body, ()
    repaired = replace_lone_surrogates(body)
    return (body, ()) if repaired == body else (repaired, ("replaced half of a surrogate pair by U+FFFD",))


_SEARCHED = 1024 * 1024


def _occurs(suspect: re.Pattern[bytes], body: bytes) -> bool:
    """Searched in windows, since a search holds the interpreter. One that ends inside a pair is a false alarm."""
    starts = range(0, len(body), _SEARCHED)
    return any(suspect.search(body, start, start + _SEARCHED + 12) is not None for start in starts)


_STRETCH = 16 * 1024


def _names_surrogate(body: bytes) -> bool:
    """Whether there is an escape of half a pair. A search for a backslash passes over megabytes of a picture twenty
    times as fast as one for the escape, so that looks only at stretches that begin with a backslash."""
    at = body.find(b"\\")
    while at >= 0:
        end = at + _STRETCH
        if _SURROGATE.search(body, at, end + 3) is not None:  # the escape may begin at the last byte
            return True
        at = body.find(b"\\", end)
    return False


def open_object(body: bytes) -> tuple[bytes, dict[str, Raw], tuple[str, ...]]:
    """The body as `readable` gives it, its members, and the repairs.

    The decoder refuses half of a surrogate pair wherever it stands, so there is no need to search for one before.
    """
    if body.isascii() or is_utf8(body):
        try:
            return body, _members(body), ()
        except (msgspec.DecodeError, RecursionError):
            pass
    source, repairs = readable(body)
    return source, split_members(source), repairs


_WINDOW = 16 * 1024


def is_utf8(body: bytes) -> bool:
    """Checked in windows: most of a long body is base64. To see that a window is ASCII costs a tenth of decoding it."""
    start, end = 0, len(body)
    while start < end:
        stop = start + _WINDOW
        for _ in range(3):  # the other bytes of a character that would be cut
            stop -= stop < end and body[stop] & 0xC0 == 0x80
        window = body[start:stop]
        try:
            if not window.isascii():
                window.decode()
        except UnicodeDecodeError:
            return False
        start = stop
    return True


def _check_utf8(body: bytes) -> None:
    try:
        body.decode()
    except UnicodeDecodeError as error:
        raise MalformedRequest(
            f"the body is not UTF-8: byte {error.start} is 0x{body[error.start]:02x}", hint="send JSON encoded as UTF-8"
        ) from None


_LONE_HIGH = re.compile(rb"\\u[dD][89abAB][0-9a-fA-F]{2}(?!\\u[dD][c-fC-F][0-9a-fA-F]{2})")
_LONE_LOW = re.compile(rb"(?<!\\u[dD][89abAB][0-9a-fA-F]{2})\\u[dD][c-fC-F][0-9a-fA-F]{2}")
_HIDDEN = b"\0\0"


def replace_lone_surrogates(text: bytes) -> bytes:
    r"""The JSON text with U+FFFD for every `\ud800`-like escape without a partner.

    In a few passes of the regular expression engine: millions of escapes are not looked at one by one in Python. One
    stretch after another, since the engine holds the interpreter.
    """
    if not _names_surrogate(text) or b"\0" in text:  # a NUL is no JSON
        return text
    return replace_in_stretches(_without_lone, text)


def replace_in_stretches(replace: Callable[[bytes], bytes], text: bytes) -> bytes:
    """JSON text, replaced stretch by stretch."""
    return replace(text) if len(text) < _STRETCH else b"".join(map(replace, _stretches(text)))


_ESCAPES = re.compile(rb"(?:[^\\]{1,64}+|\\u[0-9a-fA-F]{4}|\\.){1,16384}+", re.DOTALL)
_STRETCH = 32768
_MARK = re.compile(rb"\\u0001[dD][89a-fA-F][0-9a-fA-F]{2}")
_PAIR = re.compile(rb"\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}")


def _stretches(text: bytes) -> Iterator[bytes]:
    """The text in pieces that end neither inside an escape nor inside a pair, marked (`wire/surrogates.py`) or not."""
    at = 0
    while (found := _ESCAPES.match(text, at)) is not None:
        end = found.end()
        if end >= 6 and _PAIR.match(text, end - 6):
            end += 6
        elif end >= 6 and _MARK.match(text, end - 6):
            end += 4
        yield text[at:end]
        at = end
    yield text[at:]


def _without_lone(text: bytes) -> bytes:
    hidden = hide_backslashes(text)
    return show_backslashes(_LONE_LOW.sub(rb"\\ufffd", _LONE_HIGH.sub(rb"\\ufffd", hidden)))


def hide_backslashes(text: bytes) -> bytes:
    """The text without escaped backslashes: then every backslash begins an escape. It must not have a NUL."""
    return text.replace(b"\\\\", _HIDDEN)


def show_backslashes(text: bytes) -> bytes:
    return text.replace(_HIDDEN, b"\\\\")


def split_members(body: bytes | Raw, at: str = "") -> dict[str, Raw]:
    """The members of an object as raw JSON, in their order."""
    try:
        return _members(body)
    except msgspec.DecodeError as error:
        raise make_malformed(error, at) from None
    except RecursionError:
        raise too_deep(at) from None


def split_items(body: bytes | Raw, at: str = "") -> list[Raw]:
    """The items of a list as raw JSON."""
    try:
        return _items(body)
    except msgspec.DecodeError as error:
        raise make_malformed(error, at) from None
    except RecursionError:
        raise too_deep(at) from None


def render_object(fields: Mapping[str, bytes | Raw]) -> JsonText:
    """An object of raw members, without spaces."""
    if not fields:
        return JsonText(b"{}")
    out: list[bytes | Raw] = []
    for name, value in fields.items():
        out += (member_head(name), value)
    out[0] = b"{" + bytes(out[0])[1:]
    out.append(b"}")
    return join_json(out)


join_json: Callable[[Iterable[bytes | Raw]], JsonText] = b"".join  # type: ignore[assignment]
"""Pieces of JSON, one after the other."""


LONGEST_KEY = 64
MOST_KEYS = 512
"""Keys come from clients: only short ones are remembered, and only so many."""


class _MemberHeads(dict[str, bytes]):
    """What stands before values, by their keys. Looking one up runs no Python code unless it is missing."""

    def __missing__(self, key: str) -> bytes:
        head: bytes = b"," + _encode(key) + b":"
        if len(key) <= LONGEST_KEY:
            if len(self) >= MOST_KEYS:
                self.clear()
            self[key] = head
        return head


member_head: Callable[[str], bytes] = _MemberHeads().__getitem__
"""The bytes before the value of a member that is not the first."""


def render_list(values: Sequence[bytes]) -> JsonText:
    return JsonText(b"[" + b",".join(values) + b"]")


def make_malformed(error: msgspec.DecodeError, at: str = "") -> MalformedRequest:
    """The error of a decoder as MalformedRequest, its path as a JSON pointer."""
    text = str(error)
    what, at_path, path = text.rpartition(_AT)  # the sentence may repeat what the client wrote, the path never does
    if not at_path:
        if isinstance(error, msgspec.ValidationError):
            hint = "" if at else "the body must be one JSON object"
            return MalformedRequest(text[:1].lower() + text[1:], at=at, hint=hint)
        what = text.removeprefix(_MALFORMED).replace(
            "Input data was truncated", "the body ends in the middle of a value"
        )
        return MalformedRequest(f"not JSON: {what}", at=at, hint="send one JSON object, without NaN")
    return MalformedRequest(what[:1].lower() + what[1:], at=at + pointer(path.removesuffix("`")))


def too_deep(at: str = "") -> MalformedRequest:
    """The error for JSON that is nested deeper than a decoder can follow."""
    return MalformedRequest("the JSON is nested too deeply", at=at, hint="no provider accepts hundreds of levels")


def pointer(path: str) -> str:
    """`$.messages[3].content` → `/messages/3/content`."""
    return "".join(f"/{name or index}" for name, index in _STEP.findall(path))


def refuse_duplicates(body: bytes, found: Mapping[str, Any]) -> None:
    """Raise DuplicateKey if a top-level key is there twice.

    Decoders keep the last one silently. A compact body, or one of `json.dumps`, is checked by its length alone.
    """
    size = 0
    for name in found:
        size += len(name) + len(found[name])
    length, count = len(body.strip()) - size, len(found)
    if length == 4 * count + 1 or length == 6 * count:
        return
    _refuse_repeated(body, found)


_KEY = re.compile(rb'[\s,{]*("(?:[^"\\]|\\.)*+")\s*+:\s*+', re.DOTALL)


def _refuse_repeated(body: bytes, found: Mapping[str, Any]) -> None:
    """Walk over the members. A value that is not the one that the decoder kept was replaced by a later one."""
    seen: set[str] = set()
    at = 0
    while (match := _KEY.match(body, at)) is not None:
        key = msgspec.json.decode(match[1], type=str)
        value = bytes(found.get(key, b""))
        if key in seen or not value or not body.startswith(value, match.end()):
            raise DuplicateKey(f'the key "{key[:LONGEST_KEY]}" is there twice', at=f"/{key}", hint="send each key once")
        seen.add(key)
        at = match.end() + len(value)


def find_member(body: bytes, found: Mapping[str, Any], name: str) -> int:
    """Where the value of a member begins in the text of its object; -1 if it is not there."""
    at = 0
    while (match := _KEY.match(body, at)) is not None:
        literal = match[1]
        key = msgspec.json.decode(literal, type=str) if b"\\" in literal else literal[1:-1].decode()
        if key == name:
            return match.end()
        at = match.end() + len(found.get(key, b""))
    return -1


def names_of(body: bytes, values: Iterable[bytes | Raw]) -> Collection[str]:
    """The names of an object's members as they stand in its text. `values`: theirs, over which nothing is searched."""
    names: list[str] = []
    at = 0
    for value in values:
        match = _KEY.match(body, at)
        if match is None:
            return split_members(body)
        names.append(msgspec.json.decode(match[1], type=str))
        at = match.end() + len(value)
    return names if body[at : at + 2].strip() == b"}" else split_members(body)


class Salvaged(msgspec.Struct):
    """A parsed value, and the unknown fields by their path (`$`, `$.a[0]`)."""

    value: Any
    extras: dict[str, dict[str, bytes]]


def salvage(raw: bytes | Raw, decoder: msgspec.json.Decoder[T], at: str = "") -> Salvaged:
    """Decode, putting unknown fields aside. Other faults are MalformedRequest with a pointer."""
    extras: dict[str, dict[str, bytes]] = {}
    kind: Any = decoder.type
    try:
        for deep in (False, True):  # mostly the object itself has them, seldom those inside it
            try:
                return Salvaged(decoder.decode(raw), extras)
            except msgspec.ValidationError as fault:
                if not str(fault).startswith(_UNKNOWN):
                    raise
            raw = _keep_known(raw, _shape(kind), "$", extras, deep)
        return Salvaged(decoder.decode(raw), extras)
    except msgspec.DecodeError as fault:
        raise make_malformed(fault, at) from None
    except RecursionError:
        raise too_deep(at) from None


class _Shape(msgspec.Struct, frozen=True):
    """The fields that a type knows, each with the shape of the objects in it, if they are looked at.

    A field that must never be there, since another dialect has it, is not among them.
    """

    fields: Mapping[str, _Shape | None]


@lru_cache(maxsize=64)
def _shape(kind: Any) -> _Shape:
    types = get_type_hints(kind)
    names = zip(kind.__struct_fields__, kind.__struct_encode_fields__, strict=True)
    known = {wire: _shape_inside(types[name]) for name, wire in names if types[name] is not UnsetType}
    tag = kind.__struct_config__.tag_field
    return _Shape({**known, tag: None} if tag else known)


def _shape_inside(kind: Any) -> _Shape | None:
    """The shape of a value that is an object, a list of objects, or may be."""
    if isinstance(kind, type) and issubclass(kind, msgspec.Struct):
        return _shape(kind)
    return next((shape for one in get_args(kind) if (shape := _shape_inside(one)) is not None), None)


def _keep_known(
    raw: bytes | Raw, shape: _Shape, path: str, extras: dict[str, dict[str, bytes]], deep: bool
) -> bytes | Raw:
    """A value without the unknown fields of its objects. They go to `extras`, by the path of what held them."""
    opening = bytes(memoryview(raw)[:1])
    if opening == b"[":
        entries = [_keep_known(one, shape, f"{path}[{index}]", extras, deep) for index, one in enumerate(_items(raw))]
        return b"[" + b",".join(entries) + b"]"
    if opening != b"{":
        return raw
    known: dict[str, bytes | Raw] = {}
    for key, value in _members(raw).items():
        if key not in shape.fields:
            extras.setdefault(path, {})[key] = _encode(msgspec.json.decode(value))
            continue
        inside = shape.fields[key] if deep else None
        known[key] = value if inside is None else _keep_known(value, inside, f"{path}.{key}", extras, deep)
    return render_object(known)
