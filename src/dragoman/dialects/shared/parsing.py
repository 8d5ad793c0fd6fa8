"""What the parsers of all dialects share: opening a body, ids if a dialect has none, data URLs, sealed state."""

from __future__ import annotations

import re
from binascii import b2a_base64
from collections.abc import Callable, Mapping
from typing import Any
from urllib.parse import unquote_to_bytes

import msgspec
from msgspec import Raw

from dragoman.conversation.canonical import base62
from dragoman.conversation.envelope import may_be_sealed, unseal
from dragoman.conversation.failures import Failure, FailureKind
from dragoman.conversation.literals import quote, unquote
from dragoman.conversation.near_misses import Miss, NearMiss
from dragoman.conversation.parts import CacheHint, Extras, Inline, Json, Opaque, Origin, Part, Remote
from dragoman.conversation.tools import Tool
from dragoman.dialects.shared.raw_json import NOTHING
from dragoman.dialects.shared.read_lists import ListReading
from dragoman.dialects.shared.wire_schema import fits, split_unknown
from dragoman.errors import MalformedRequest
from dragoman.wire.json_reader import make_malformed, open_object, refuse_duplicates, split_items

FRAME_TOO_LONG = Failure(FailureKind.ANSWER_TOO_LARGE, "The provider sent an event that is too long to be one.", 502)

LONGEST_MEDIA_TYPE = 256
"""Where the comma of a data URL is looked for: behind its media type."""
OPENAI_FILES = "openai"
"""The holder of files that Chat and Responses name by an id."""


def vendor_id(prefix: str, identity: str, request: str = "") -> str:
    """An id that looks like one of the client's vendor: as it is if it does, else one made from its hash. With the
    id of a request it is always made, and like no other."""
    if not identity or (identity.startswith(prefix) and not request):
        return identity
    return prefix + base62(identity, *((request,) if request else ()), length=24)


CALL_ID = "call_"
"""How the ids begin that are made for calls without one."""
_CALL_ID_LENGTH = 30


def answer_call_id(*words: object) -> str:
    """An id for a call of an answer that gave it none, from what tells this call from all others."""
    return CALL_ID + base62(*words, length=24)


def vendor_call_id(prefix: str, made: str) -> str:
    """An id that `answer_call_id` made, in the form that the client's vendor gives its ids."""
    return (prefix + made.removeprefix(CALL_ID))[:_CALL_ID_LENGTH]


def make_id(ordinal: int, name: str) -> str:
    """The id of the n-th call of a conversation whose dialect gave it none."""
    return _MADE_IDS[ordinal, name]


class _MadeIds(dict[tuple[int, str], str]):
    """The ids of calls by their numbers and names. An agent's calls are the same on every turn but for the last ones,
    and to hash a name takes fifty look-ups."""

    def __missing__(self, key: tuple[int, str]) -> str:
        made = CALL_ID + base62(*key, length=24)
        if len(key[1]) <= _USUAL_NAME:
            if len(self) >= _MOST_IDS:
                self.clear()
            self[key] = made
        return made


_USUAL_NAME = 64
_MOST_IDS = 4096
_MADE_IDS = _MadeIds()


def parse_state(kind: str, literal: Json, origin: Origin) -> Opaque:
    """Opaque state: as it is, or as another dialect made it if it is sealed."""
    sealed = unseal(unquote(literal)) if may_be_sealed(literal) else None
    return sealed if sealed is not None and sealed.json else Opaque(kind=kind, json=literal, origin=origin)


def parse_link(url: str) -> Inline | Remote:
    """The source that a URL names: a data URL holds the bytes itself, any other URL is remote."""
    comma = url.find(",")
    if comma < 0 or url[:5].lower() != "data:":
        return Remote(url)
    media_type, _, encoding = url[5:comma].rpartition(";")
    if encoding.lower() == "base64":
        return Inline(media_type, quote(url[comma + 1 :]))
    # the other form of a data URL: its text as it is, with %20 for a space
    return Inline(url[5:comma], quote(b2a_base64(unquote_to_bytes(url[comma + 1 :]), newline=False).decode()))


def link_literal(literal: Json | Raw) -> Inline | Remote:
    """The source that the JSON literal of a URL names: a picture is copied once, not decoded and encoded again."""
    view = memoryview(literal)
    head = bytes(view[: 6 + LONGEST_MEDIA_TYPE])
    comma = head.find(b",", 6)
    if head[1:6] != b"data:" or comma < 0 or b"\\" in head[:comma] or not head[:comma].endswith(b";base64"):
        return parse_link(unquote(bytes(literal)))
    return Inline(head[6 : comma - 7].decode(), b"".join((b'"', view[comma + 1 :])))


DOCUMENT_TYPES: Mapping[str, str] = {
    "pdf": "application/pdf",
    "csv": "text/csv",
    "doc": "application/msword",
    "docx": "application/vnd.openxmlformats-officedocument.wordprocessingml.document",
    "xls": "application/vnd.ms-excel",
    "xlsx": "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
    "html": "text/html",
    "txt": "text/plain",
    "md": "text/markdown",
}
"""How names of files end → media type."""
HEADLESS = "headless"
"""The spelling of a file or a picture as its base64 alone, without the head of a data URL that names its type."""
_PDF = b'"JVBERi'
_BASE64_HEAD = re.compile(rb'"[A-Za-z0-9+/]{16,}')


_PICTURES = {b'"iVBORw0KGgo': "image/png", b'"/9j/': "image/jpeg", b'"R0lGOD': "image/gif", b'"UklGR': "image/webp"}
"""How pictures begin in base64."""


def parse_headless_picture(literal: Json | Raw) -> Inline | None:
    """A picture as base64 alone, where its URL belongs; None if it is none."""
    head = bytes(memoryview(literal)[:64])
    if not _BASE64_HEAD.match(head):
        return None
    found = next((kind for start, kind in _PICTURES.items() if head.startswith(start)), None)
    return None if found is None else Inline(found, bytes(literal))


def parse_headless(literal: Json, name: str | None) -> Inline | None:
    """Base64 alone. Its type is that of the file's name, or shows in its first bytes; None if neither tells."""
    if not _BASE64_HEAD.match(literal[:64]):
        return None
    ending = (name or "").rpartition(".")[2].lower()
    found = DOCUMENT_TYPES["pdf"] if literal.startswith(_PDF) else DOCUMENT_TYPES.get(ending)
    return None if found is None else Inline(found, literal)


def data_url(source: Inline) -> tuple[bytes, memoryview]:
    """The JSON literal of a data URL, in pieces: a picture is copied only if they are joined."""
    return b'"data:%b;base64,' % quote(source.media_type)[1:-1], memoryview(source.data)[1:]


def parse_detail(word: str | None) -> str | None:
    """The level of detail of an image. `auto` is what holds if nothing is stated."""
    return None if word == "auto" else word


def kind_of(raw: bytes, at: str) -> str:
    """The `type` of an object that has unknown fields."""
    kind = msgspec.json.decode(raw).get("type")
    if not isinstance(kind, str):
        raise MalformedRequest("the type is not a string", at=f"{at}/type")
    return kind


def parse_listed(raw: Json, at: str, parse: Callable[[Json, str], Part], of: str = "parts") -> list[Part]:
    """A list of parts of any kind, each read with its pointer."""
    if raw in NOTHING:
        return []
    if raw[:1] != b"[":
        raise MalformedRequest(f"content is neither a string nor a list of {of}", at=at)
    return [parse(bytes(item), f"{at}/{index}") for index, item in enumerate(split_items(raw, at))]


def decode_known(
    raw: Json, at: str, decode: Callable[[Json], Any], kinds: Mapping[str, type[msgspec.Struct]]
) -> tuple[Any, Mapping[str, Json]] | None:
    """A part, and the members that its type does not name. None if it is of an unknown type, lacks a member, or holds
    something newer than this."""
    try:
        return decode(raw), {}
    except msgspec.DecodeError:
        if raw[:1] != b"{":
            raise MalformedRequest("a content part that is not an object", at=at) from None
    kind = kinds.get(kind_of(raw, at))
    if kind is None:
        return None
    known, unknown = split_unknown(raw, kind)
    try:
        return decode(known), unknown
    except msgspec.DecodeError as fault:
        error = make_malformed(fault, at)
        if error.at == at or error.at.endswith("/type"):
            return None
        raise error from None


def cache_hint(raw: Raw | None) -> CacheHint | None:
    """The cache hint in a member, if it holds one."""
    text = bytes(raw) if raw is not None else b""
    return None if text in (b"", b"null") else CacheHint(text)


def take_function(members: dict[str, Any], place: str, schema: str = "parameters") -> Tool:
    """The function in an object, whose members are taken out. Raises MalformedRequest if it has no name. `place`: the
    pointer to it; `schema`: the member that holds the schema of its arguments."""
    name, about, given, strict = [bytes(members.pop(key, b"")) for key in ("name", "description", schema, "strict")]
    if name[:1] != b'"':
        raise MalformedRequest("a tool without a name", at=f"{place}/name")
    description = about if about[:1] == b'"' else None
    return Tool(unquote(name), description, None if given in NOTHING else given, _FLAGS_OF.get(strict))


_FLAGS_OF = {b"true": True, b"false": False}


def extras_of(dialect: str, fields: Mapping[str, Json]) -> Extras | None:
    return Extras(dialect, fields) if fields else None


class OpenBody(msgspec.Struct, frozen=True):
    """A client's body, opened."""

    source: bytes
    """Its text."""
    members: dict[str, Raw]
    """Its members at the top level."""
    repairs: tuple[str, ...]
    """Sentences about what was mended before it could be decoded."""
    reading: ListReading | None = None
    """What was read before of its messages; its list then has only those that follow."""


class OpenedBytes(bytes):
    """A body that was opened already, to recognise its dialect or its conversation. Its parser need not do so again."""

    opened: OpenBody


def opened_bytes(opened: OpenBody) -> OpenedBytes:
    body = OpenedBytes(opened.source)
    body.opened = opened
    return body


def open_body(body: bytes) -> OpenBody:
    """Raises MalformedRequest if it is no JSON object in UTF-8, DuplicateKey if a member stands twice."""
    if isinstance(body, OpenedBytes):
        return body.opened
    source, found, repairs = open_object(body)
    refuse_duplicates(source, found)
    return OpenBody(source, found, repairs)


def asks_for_stream(members: Mapping[str, Raw]) -> bool:
    if "stream" not in members:
        return False
    raw = bytes(members["stream"])
    if raw in _FLAGS:
        return raw == b"true"
    if raw.lower() not in _FLAG_TEXTS:
        raise MalformedRequest("stream is neither true nor false", at="/stream", hint="send true or false")
    return raw.lower() == b'"true"'


def stream_misses(members: Mapping[str, Raw]) -> tuple[NearMiss, ...]:
    """The wish for a stream, if it is written as a text."""
    if "stream" not in members or bytes(members["stream"]) in _FLAGS:
        return ()
    return (NearMiss(Miss.SETTING, "/stream", members=("stream",)),)


LATEST = 253_402_300_799
"""The last second that a date can name: dialects that write dates have no other."""


def moment_of(seconds: float | None) -> int | None:
    """The seconds since 1970 of an answer; None if they are none, or no date can name them."""
    return int(seconds) if seconds is not None and 0 < seconds <= LATEST else None


def option_misses(members: Mapping[str, Raw], decode: Callable[[bytes], object]) -> tuple[NearMiss, ...]:
    """The options of a stream, if they do not fit or there is no stream: then they are left out."""
    raw = bytes(members.get("stream_options", b"null"))
    streams = asks_for_stream(members)
    if raw == b"null" or (streams and fits(decode, raw)):
        return ()
    kind = Miss.TYPE if streams else Miss.NO_STREAM
    return (NearMiss(kind, "/stream_options", members=("stream_options",), lost=raw),)


_FLAGS = (b"false", b"true", b"null")
_FLAG_TEXTS = (b'"true"', b'"false"')


def parse_model(members: Mapping[str, Raw]) -> str | None:
    """The model that the client named, if any."""
    raw = bytes(members.get("model", b"null"))
    if raw == b"null":
        return None
    if raw[:1] != b'"':
        raise MalformedRequest("the model is not a string", at="/model")
    return unquote(raw)
