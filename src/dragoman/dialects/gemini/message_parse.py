"""Gemini's contents to our messages.

One strict typed decode knows each key in both spellings. Only where it fails, a content or a part is decoded again, and
its unknown fields become extras under their camelCase names.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Mapping
from typing import Any

import msgspec
from msgspec import Raw

from dragoman.conversation import reasoning_states
from dragoman.conversation.literals import joined, quote, unquote
from dragoman.conversation.messages import ASSISTANT, FIELD, SYSTEM, TOOL, USER, Message, Role
from dragoman.conversation.parts import (
    NO_ID,
    Call,
    Extras,
    Inline,
    Json,
    Media,
    MediaKind,
    Opaque,
    Part,
    Reasoning,
    Remote,
    Result,
    Stored,
    Text,
)
from dragoman.dialects.gemini import NAME, ORIGIN
from dragoman.dialects.gemini.proto_schema import camel
from dragoman.dialects.parsing import extras_of, made_id, parse_state
from dragoman.dialects.raw_json import ABSENT, NOTHING
from dragoman.errors import MalformedRequest
from dragoman.wire.json_reader import salvage, split_items, split_members


class GeminiWireContent(msgspec.Struct, forbid_unknown_fields=True, gc=False):
    role: str | None = None
    parts: Raw = ABSENT


class GeminiWireCall(msgspec.Struct, forbid_unknown_fields=True, gc=False):
    name: str
    id: str | None = None
    args: Raw = ABSENT


class GeminiWireResult(msgspec.Struct, forbid_unknown_fields=True, gc=False):
    name: str | None = None
    id: str | None = None
    response: Raw = ABSENT
    parts: Raw = ABSENT


class GeminiWirePart(msgspec.Struct, forbid_unknown_fields=True, gc=False):
    text: Raw = ABSENT
    thought: bool | None = None
    thought_signature: Raw = ABSENT
    thoughtSignature: Raw = ABSENT  # noqa: N815
    function_call: GeminiWireCall | None = None
    functionCall: GeminiWireCall | None = None  # noqa: N815
    function_response: GeminiWireResult | None = None
    functionResponse: GeminiWireResult | None = None  # noqa: N815
    inline_data: Raw = ABSENT
    inlineData: Raw = ABSENT  # noqa: N815
    file_data: Raw = ABSENT
    fileData: Raw = ABSENT  # noqa: N815


_contents = msgspec.json.Decoder(list[GeminiWireContent]).decode
_content = msgspec.json.Decoder(GeminiWireContent)
_parts = msgspec.json.Decoder(list[GeminiWirePart]).decode
_part = msgspec.json.Decoder(GeminiWirePart)
_loose = msgspec.json.decode

_BESIDE = frozenset({"thought", "thoughtSignature", "videoMetadata", "mediaResolution", "partMetadata"})
"""Members of a part that stand beside its content."""

Fields = Mapping[str, Mapping[str, Json]]
_NO_FIELDS: Fields = {}


def parse_messages(raw: bytes | Raw) -> list[Message]:
    """The list of contents. A user's content of responses and other parts becomes TOOL + USER."""
    parser = GeminiContentParser()
    try:
        wire = _contents(raw)
    except msgspec.DecodeError:
        for index, item in enumerate(split_items(raw, "/contents")):
            salvaged = salvage(item, _content, f"/contents/{index}")
            parser.parse(salvaged.value, _named(salvaged.extras.get("$", {})))
        return parser.messages()
    for content in wire:
        parser.parse(content, {})
    return parser.messages()


def parse_system(raw: bytes) -> list[Message]:
    """The `systemInstruction`: one message, of a text or of parts. Its role has no meaning."""
    if raw in NOTHING:
        return []
    if raw[:1] == b'"':
        return [Message(SYSTEM, (Text(raw),), FIELD)]
    at = "/systemInstruction"
    salvaged = salvage(raw, _content, at)
    parts = GeminiContentParser().parts(bytes(salvaged.value.parts), f"{at}/parts")
    extras = extras_of(NAME, _named(salvaged.extras.get("$", {})))
    return [Message(SYSTEM, parts, FIELD, extras=extras)] if parts or extras else []


_NO_ROLE: Mapping[str, Json] = {"role": b"null"}
"""The extra field of a content without a role. It is the user's, but not every server accepts it."""


class GeminiContentParser:
    """Collects contents into turns, and remembers unanswered calls, since a response may come without an id."""

    def __init__(self) -> None:
        self._done: list[Message] = []
        self._index = -1
        self._calls = 0
        self._orphans = 0
        self._waiting = _WaitingCalls()
        self._runs: list[tuple[Role, list[Part]]] = []
        self._since = 0
        self._without_role = False

    def messages(self) -> list[Message]:
        self._index += 1
        self._flush()
        return self._done

    def parse(self, wire: GeminiWireContent, fields: Mapping[str, Json]) -> None:
        self._index += 1
        at = f"/contents/{self._index}/parts"
        role = wire.role or "user"
        if wire.role is None and not fields:
            fields = _NO_ROLE
        if role == "model":
            self._flush()
            if self._done and self._done[-1].role is not ASSISTANT:
                self._waiting.clear()
            self._add(ASSISTANT, self.parts(bytes(wire.parts), at), fields)
            return
        parts = self.parts(bytes(wire.parts), at)
        if role == "system":
            self._flush()
            self._add(SYSTEM, parts, fields, inline=True)
        elif any(type(part) is Result for part in parts):
            self._turn(parts, fields)
        else:
            self._flush()
            self._add(USER, parts, fields, role_text="" if role in ("user", "function") else role)

    def _add(self, role: Role, parts: tuple[Part, ...], fields: Mapping[str, Json], **more: Any) -> None:
        extras = extras_of(NAME, fields)
        self._done.append(Message(role, parts, self._index, extras=extras, **more))

    def _turn(self, parts: tuple[Part, ...], fields: Mapping[str, Json]) -> None:
        """Runs of responses and of other parts. Responses continue the run that ends the content before."""
        without_role = fields is _NO_ROLE
        if without_role:
            fields = {}
        continues = self._runs and self._runs[-1][0] is TOOL and type(parts[0]) is Result and not fields
        if not continues:
            self._flush()
            self._since = self._index
        self._without_role = self._without_role or without_role
        for part in parts:
            role = TOOL if type(part) is Result else USER
            if not self._runs or self._runs[-1][0] is not role:
                self._runs.append((role, []))
            self._runs[-1][1].append(part)
        if fields:
            self._flush(extras_of(NAME, fields))

    def _flush(self, extras: Extras | None = None) -> None:
        span = self._index - self._since + (1 if extras else 0)
        if self._without_role:
            extras = extras or Extras(NAME, _NO_ROLE)
            self._without_role = False
        for role, run in self._runs:
            self._done.append(Message(role, tuple(run), self._since, span, extras=extras))
        self._runs = []

    def parts(self, raw: bytes, at: str) -> tuple[Part, ...]:
        """A list of parts, or a single one."""
        if raw in NOTHING:
            return ()
        if raw[:1] == b"{":
            return (self._salvaged(raw, at, 0),)
        if raw[:1] != b"[":
            raise MalformedRequest("parts are not a list", at=at)
        try:
            wire = _parts(raw)
        except msgspec.DecodeError:
            return tuple([self._salvaged(bytes(item), at, index) for index, item in enumerate(split_items(raw, at))])
        found = [self._part(part, _NO_FIELDS, at, index) for index, part in enumerate(wire)]
        if None not in found:
            return joined_thoughts(found)  # type: ignore[arg-type]
        raws = split_items(raw, at)
        return tuple([_opaque(bytes(raws[index])) if part is None else part for index, part in enumerate(found)])

    def _salvaged(self, raw: bytes, at: str, index: int) -> Part:
        if raw[:1] != b"{":
            raise MalformedRequest("a part that is not an object", at=f"{at}/{index}")
        salvaged = salvage(raw, _part, f"{at}/{index}")
        part = None
        if {camel(key) for key in salvaged.extras.get("$", {})} <= _BESIDE:
            part = self._part(salvaged.value, salvaged.extras, at, index)
        return _opaque(raw) if part is None else part

    def _part(self, wire: GeminiWirePart, fields: Fields, at: str, index: int) -> Part | None:
        """A part of a known type, or None."""
        signature = bytes(wire.thoughtSignature) or bytes(wire.thought_signature)
        literal = b"" if wire.text is ABSENT else _given(wire.text)
        call = wire.functionCall or wire.function_call
        response = wire.functionResponse or wire.function_response
        if literal[:1] == b'"' and call is None and response is None:
            if not fields and not wire.thought and not signature:
                return Text(literal)
            return parse_text(literal, bool(wire.thought), signature, _extras(fields))
        if call is not None and response is None and not literal:
            return self._call(call, bool(wire.thought), signature, fields, f"{at}/{index}")
        if response is not None and call is None and not literal:
            return self._result(response, _fields_beside(wire.thought, signature, fields), f"{at}/{index}")
        more = _fields_beside(wire.thought, signature, fields)
        media = _media(bytes(wire.inlineData) or bytes(wire.inline_data), _parse_inline, more)
        media = media or _media(bytes(wire.fileData) or bytes(wire.file_data), _parse_file, more)
        if media is None and signature[:1] == b'"' and call is None and response is None:
            return parse_text(b"", True, signature, _extras(fields))
        return media

    def _call(self, wire: GeminiWireCall, thought: bool, signature: bytes, fields: Fields, at: str) -> Call:
        self._calls += 1
        arguments = bytes(wire.args)
        if arguments in NOTHING:
            arguments = b"{}"
        if arguments[:1] != b"{":
            raise MalformedRequest("arguments that are no object", at=f"{at}/functionCall/args")
        held = parse_state(reasoning_states.THOUGHT, signature, ORIGIN) if signature[:1] == b'"' else None
        identity, spelled = (wire.id, "") if wire.id else (made_id(self._calls, wire.name), NO_ID)
        extras = extras_of(NAME, _fields_beside(thought, b"", fields)) if fields or thought else None
        call = Call(identity, wire.name, arguments, held, spelled=spelled, extras=extras)
        self._waiting.add(call)
        return call

    def _result(self, wire: GeminiWireResult, beside: Mapping[str, Json], at: str) -> Result:
        response = bytes(wire.response)
        if response not in NOTHING and response[:1] != b"{":
            raise MalformedRequest("a response that is no object", at=f"{at}/functionResponse/response")
        parts, is_error = parse_response(response)
        media = self.parts(bytes(wire.parts), f"{at}/functionResponse/parts")
        call_id, spelled = (wire.id, "") if wire.id else (self._answered(wire.name), NO_ID)
        self._waiting.answer(call_id)
        extras = extras_of(NAME, beside)
        return Result(call_id, parts + media, is_error, wire.name, spelled=spelled, extras=extras)

    def _answered(self, name: str | None) -> str:
        """The id of the call that a response without an id answers: the first of its name, else the first."""
        found = self._waiting.first(name)
        if found is not None:
            return found
        self._orphans += 1
        return made_id(-self._orphans, name or "")


class _WaitingCalls:
    """Calls that no response has answered yet, in their order. Each is looked at a few times only."""

    __slots__ = ("_by_name", "_ids", "_order")

    def __init__(self) -> None:
        self._ids: set[str] = set()
        self._order: deque[str] = deque()
        self._by_name: dict[str, deque[str]] = {}

    def add(self, call: Call) -> None:
        self._ids.add(call.id)
        self._order.append(call.id)
        self._by_name.setdefault(call.name, deque()).append(call.id)

    def answer(self, call_id: str) -> None:
        self._ids.discard(call_id)

    def clear(self) -> None:
        self._ids.clear()

    def first(self, name: str | None) -> str | None:
        """The id of the first call of this name, else of the first of all."""
        named = self._by_name.get(name or "")
        return (self._first_of(named) if named is not None else None) or self._first_of(self._order)

    def _first_of(self, order: deque[str]) -> str | None:
        while order and order[0] not in self._ids:
            order.popleft()
        return order[0] if order else None


def _given(raw: Raw) -> bytes:
    """The text of a member, empty where it is null."""
    text = bytes(raw)
    return b"" if text == b"null" else text


def _named(fields: Mapping[str, Json]) -> dict[str, Json]:
    """Fields under their camelCase names, without nulls."""
    return {camel(key): value for key, value in fields.items() if value != b"null"}


def _all_named(fields: Fields) -> Iterator[tuple[str, Json]]:
    for path, found in fields.items():
        head = camel(path[2:]) + "." if path != "$" else ""
        for key, value in _named(found).items():
            yield head + key, value


def _extras(fields: Fields) -> Extras | None:
    return extras_of(NAME, dict(_all_named(fields)))


def _fields_beside(thought: bool | None, signature: bytes, fields: Fields) -> dict[str, Json]:
    """The extra fields beside the content of a part, including marks that our part has no place for."""
    found = dict(_all_named(fields))
    if thought:
        found["thought"] = b"true"
    if signature not in NOTHING:
        found["thoughtSignature"] = signature
    return found


def _opaque(raw: bytes) -> Opaque:
    names = [camel(key) for key in split_members(raw)]
    kind = next((name for name in names if name not in _BESIDE), "")
    return Opaque(kind=kind, json=raw, origin=ORIGIN)


def parse_text(literal: bytes, thought: bool, signature: bytes, extras: Extras | None) -> Part:
    held = parse_state(reasoning_states.THOUGHT, signature, ORIGIN) if signature[:1] == b'"' else None
    if not thought:
        return Text(literal, held, extras=extras)
    text = Text(literal) if literal else None
    return Reasoning(
        text=text, state=held, redacted=held is not None and held.kind == reasoning_states.REDACTED, extras=extras
    )


def joined_thoughts(parts: list[Part]) -> tuple[Part, ...]:
    """Join the pieces of a streamed thought where the signature after them is another provider's.

    Gemini takes its own pieces back as they are. Other providers want the signature with the whole text.
    """
    if not any(_is_foreign_signature(part) for part in parts):
        return tuple(parts)
    out: list[Part] = []
    pieces = 0  # how many thoughts without a signature stand at the end of `out`
    for part in parts:
        if pieces and _is_foreign_signature(part):
            texts = [one.text.literal for one in (*out[-pieces:], part) if type(one) is Reasoning and one.text]
            part = msgspec.structs.replace(part, text=Text(joined("", texts)))
            del out[-pieces:]
        out.append(part)
        is_piece = type(part) is Reasoning and part.state is None and part.extras is None
        pieces = pieces + 1 if is_piece else 0
    return tuple(out)


def _is_foreign_signature(part: Part) -> bool:
    return type(part) is Reasoning and part.state is not None and not part.redacted and part.state.origin != ORIGIN


def parse_response(raw: bytes) -> tuple[tuple[Part, ...], bool]:
    """The texts of a response, and whether they are an error.

    A text is rendered as `{"output": "…"}` or `{"error": "…"}`, several as `{"outputs": […]}` or `{"errors": […]}`. Any
    other object is one text that holds it as JSON.
    """
    if raw in NOTHING:
        return (), False
    found = split_members(raw)
    if not found:
        return (), False
    if len(found) == 1:
        (key, value), text = next(iter(found.items())), bytes(next(iter(found.values())))
        if key in ("output", "error") and text[:1] == b'"':
            return (Text(text),), key == "error"
        if key in ("outputs", "errors") and text[:1] == b"[":
            texts = [bytes(item) for item in split_items(value)]
            if not texts and key == "errors":
                return (), True
            if len(texts) > 1 and all(item[:1] == b'"' for item in texts):
                return tuple([Text(item) for item in texts]), key == "errors"
    return (Text(quote(raw.decode())),), False


Source = tuple[MediaKind, Inline | Remote | Stored, dict[str, Json]]


def _media(raw: bytes, parse: Any, beside: Mapping[str, Json]) -> Media | None:
    if raw[:1] != b"{":
        return None
    wire = {camel(key): bytes(value) for key, value in split_members(raw).items() if bytes(value) != b"null"}
    title = wire.pop("displayName", b"")
    found: Source | None = parse(wire)
    if found is None:
        return None
    kind, source, rest = found
    extras = extras_of(NAME, {**beside, **rest})
    return Media(kind, source, unquote(title) if title[:1] == b'"' else None, extras=extras)


def _parse_inline(wire: dict[str, bytes]) -> Source | None:
    media_type, content = wire.pop("mimeType", b'""'), wire.pop("data", b"")
    if media_type[:1] != b'"' or content[:1] != b'"':
        return None
    name = unquote(media_type)
    return (
        kind_of(name),
        Inline(name, standard_base64(content)),
        {f"inlineData.{key}": value for key, value in wire.items()},
    )


_STANDARD = bytes.maketrans(b"-_", b"+/")


def standard_base64(data: bytes) -> bytes:
    """Base64 in the standard alphabet, padded. Google's own SDK writes the alphabet for URLs."""
    if b"-" in data or b"_" in data:
        data = data.translate(_STANDARD)
    missing = -(len(data) - 2) % 4
    return data[:-1] + b"=" * missing + b'"' if missing in (1, 2) and b"\\" not in data else data


def _parse_file(wire: dict[str, bytes]) -> Source | None:
    media_type, uri = wire.pop("mimeType", b'""'), wire.pop("fileUri", b"")
    if media_type[:1] != b'"' or uri[:1] != b'"':
        return None
    name, url = unquote(media_type), unquote(uri)
    kind = kind_of(name or guess(url))
    name = "" if name.endswith("/*") else name
    source = Stored(url, NAME, name) if _is_stored(url) else Remote(url, name)
    return kind, source, {f"fileData.{key}": value for key, value in wire.items()}


def _is_stored(url: str) -> bool:
    """Whether Google stores the file: in its Files API or in a bucket."""
    return url.startswith(("gs://", "files/")) or ("/files/" in url and "googleapis.com/" in url)


def kind_of(media_type: str) -> MediaKind:
    return _KINDS.get(media_type.partition("/")[0], MediaKind.DOCUMENT)


def guess(url: str) -> str:
    """The media type by the ending of a URL; empty where it is unknown."""
    return _ENDINGS.get(url.partition("?")[0].rpartition(".")[2].lower(), "")


_KINDS = {"image": MediaKind.IMAGE, "audio": MediaKind.AUDIO, "video": MediaKind.VIDEO}
_ENDINGS = {
    "png": "image/png",
    "jpg": "image/jpeg",
    "jpeg": "image/jpeg",
    "gif": "image/gif",
    "webp": "image/webp",
    "mp3": "audio/mpeg",
    "wav": "audio/wav",
    "mp4": "video/mp4",
    "webm": "video/webm",
}
