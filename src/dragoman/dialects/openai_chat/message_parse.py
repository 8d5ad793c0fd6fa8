"""Chat messages to ours.

One strict typed decode takes the whole list. Only where it fails, each message is decoded again, and its unknown fields
become extras.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from operator import attrgetter
from typing import Any

import msgspec
from msgspec import UNSET, Raw, UnsetType

from dragoman.conversation import reasoning_states
from dragoman.conversation.literals import EMPTY, quote
from dragoman.conversation.messages import ASSISTANT, DEVELOPER, SYSTEM, TOOL, USER, Message, Role
from dragoman.conversation.parts import (
    CacheHint,
    Call,
    Citation,
    Extras,
    Inline,
    Json,
    Media,
    MediaKind,
    Opaque,
    Part,
    Reasoning,
    Refusal,
    Remote,
    Result,
    Stored,
    Text,
)
from dragoman.dialects.openai_chat import NAME, ORIGIN
from dragoman.dialects.openai_chat.plain_messages import parse_arguments
from dragoman.dialects.parsing import (
    OPENAI_FILES,
    cache_hint,
    extras_of,
    kind_of,
    made_id,
    parse_link,
    parse_state,
    stated_detail,
)
from dragoman.dialects.raw_json import ABSENT, NOTHING
from dragoman.errors import MalformedRequest
from dragoman.wire.json_reader import render_object, salvage, split_items, split_members

LEGACY = "function_call"
_BLANKS = (b"null", EMPTY)
"""What may stand for the content of a turn of nothing but calls."""
UNTITLED = "untitled"
"""The name for a file without one: Chat demands a name beside a file's bytes."""
BARE = "bare"
DOCUMENT_URL = "document_url"
"""Spellings of media other than Chat's own: a URL as plain text, and a document by its URL."""


class ChatWireFunction(msgspec.Struct, forbid_unknown_fields=True, gc=False):
    name: str
    arguments: Raw = ABSENT


class ChatWireCustom(msgspec.Struct, forbid_unknown_fields=True, gc=False):
    name: str
    input: Raw = ABSENT


class ChatWireCall(msgspec.Struct, forbid_unknown_fields=True, gc=False):
    id: str | None = None
    type: str | None = "function"
    function: ChatWireFunction | None = None
    custom: ChatWireCustom | None = None
    extra_content: Raw = ABSENT
    cache_control: Raw = ABSENT


class ChatWireMessage(msgspec.Struct, forbid_unknown_fields=True, gc=False):
    role: str
    content: Raw = ABSENT
    name: str | UnsetType | None = UNSET
    tool_calls: list[ChatWireCall] | UnsetType | None = UNSET
    tool_call_id: str | UnsetType | None = UNSET
    refusal: Raw = ABSENT
    reasoning_content: Raw = ABSENT
    reasoning: Raw = ABSENT
    reasoning_details: Raw = ABSENT
    function_call: ChatWireFunction | UnsetType | None = UNSET
    audio: Raw = ABSENT
    annotations: Raw = ABSENT
    cache_control: Raw = ABSENT
    prefix: bool | UnsetType | None = UNSET


class ChatWirePart(msgspec.Struct, forbid_unknown_fields=True, gc=False):
    type: str
    text: Raw = ABSENT
    refusal: Raw = ABSENT
    image_url: Raw = ABSENT
    input_audio: Raw = ABSENT
    file: Raw = ABSENT
    video_url: Raw = ABSENT
    document_url: Raw = ABSENT
    cache_control: Raw = ABSENT


_messages = msgspec.json.Decoder(list[ChatWireMessage]).decode
_message = msgspec.json.Decoder(ChatWireMessage)
_part = msgspec.json.Decoder(ChatWirePart)

ExtraFields = Mapping[str, Mapping[str, Json]]
_NO_EXTRAS: ExtraFields = {}


def parse_messages(raw: bytes | Raw) -> tuple[Message, ...]:
    """The list of messages. Consecutive tool messages become one TOOL message."""
    try:
        wire = _messages(raw)
    except msgspec.DecodeError:
        return _parse_salvaged(raw)
    parser = ChatMessageParser()
    for message in wire:
        parser.parse(message, _NO_EXTRAS)
    return parser.messages()


def _parse_salvaged(raw: bytes | Raw) -> tuple[Message, ...]:
    parser = ChatMessageParser()
    for index, item in enumerate(split_items(raw, "/messages")):
        salvaged = salvage(item, _message, f"/messages/{index}")
        parser.parse(salvaged.value, salvaged.extras)
    return parser.messages()


class ChatMessageParser:
    """Collects tool messages into one turn, and counts calls to make ids for those without one."""

    def __init__(self) -> None:
        self._done: list[Message] = []
        self._results: list[Part] = []
        self._since = 0
        self._index = -1
        self._calls = 0
        self._legacy: str = ""

    def parse(self, wire: ChatWireMessage, extras: ExtraFields) -> None:
        self._index += 1
        role = wire.role
        if role == "tool" or role == "function":
            if not self._results:
                self._since = self._index
            self._results.append(self._result(wire, extras))
            return
        if self._results:
            self._flush()
        if role == "user":
            self._done.append(self._plain(USER, wire, extras))
        elif role == "assistant":
            self._done.append(self._assistant(wire, extras))
        elif role == "system":
            self._done.append(self._plain(SYSTEM, wire, extras))
        elif role == "developer":
            self._done.append(self._plain(DEVELOPER, wire, extras))
        else:
            self._done.append(self._plain(USER, wire, extras, role))

    def messages(self) -> tuple[Message, ...]:
        if self._results:
            self._flush()
        return (*map(_unmarked, self._done[:-1]), *self._done[-1:])

    def _flush(self) -> None:
        results = tuple(self._results)
        self._done.append(Message(TOOL, results, self._since, len(results)))
        self._results = []

    def _plain(self, role: Role, wire: ChatWireMessage, extras: ExtraFields, role_text: str = "") -> Message:
        content = bytes(wire.content)
        if content[:1] == b'"':
            parts: tuple[Part, ...] = (Text(content),)
        else:
            parts = self._content(content)
        return Message(
            role,
            parts,
            self._index,
            name=wire.name or None,
            hint=cache_hint(wire.cache_control),
            extras=_extras(wire, extras, _FOREIGN_TO_PLAIN),
            listed=content[:1] == b"[",
            role_text=role_text,
        )

    def _assistant(self, wire: ChatWireMessage, extras: ExtraFields) -> Message:
        content = bytes(wire.content)
        parts: list[Part] = []
        if wire.reasoning_content is not ABSENT or wire.reasoning is not ABSENT or wire.reasoning_details is not ABSENT:
            parts += self._reasoning(wire)
        calls = wire.tool_calls
        if content[:1] == b'"':
            if content != EMPTY or not (calls or wire.function_call):
                parts.append(Text(content))
        elif content not in NOTHING:
            parts += self._content(content)
        if wire.refusal is not ABSENT or wire.audio is not ABSENT or wire.annotations is not ABSENT:
            parts += self._other_parts(wire)
        if calls:
            parts += [self._call(call, number, extras) for number, call in enumerate(calls)]
        if wire.function_call:
            parts.append(self._legacy_call(wire.function_call))
        return Message(
            ASSISTANT,
            tuple(parts),
            self._index,
            name=wire.name or None,
            hint=cache_hint(wire.cache_control),
            extras=_extras(wire, extras, _FOREIGN_TO_ASSISTANT, "tool_calls"),
            listed=content[:1] == b"[",
            prefill=wire.prefix is True,
            blank=content if calls and content in _BLANKS else b"",
        )

    def _reasoning(self, wire: ChatWireMessage) -> list[Part]:
        listed = bytes(wire.reasoning_details)
        details = [_detail(bytes(item)) for item in split_items(listed)] if listed[:1] == b"[" else []
        if any(part.text is not None and _is_sealed(part) for part in details):
            # We handed these out, with the same text in a plain field for clients that read only that.
            return [*details]
        parts: list[Part] = []
        for field in ("reasoning_content", "reasoning"):
            literal = bytes(getattr(wire, field))
            if literal[:1] == b'"':
                parts.append(Reasoning(text=Text(literal), field=field))
        return [*parts, *details]

    def _other_parts(self, wire: ChatWireMessage) -> list[Part]:
        parts: list[Part] = []
        refusal = bytes(wire.refusal)
        if refusal[:1] == b'"':
            parts.append(Refusal(refusal))
        audio = bytes(wire.audio)
        if audio[:1] == b"{":
            words = bytes(split_members(audio).get("transcript", b""))
            transcript = words if words[:1] == b'"' and words != EMPTY else None
            parts.append(Opaque(kind="audio", json=audio, origin=ORIGIN, words=transcript))
        annotations = bytes(wire.annotations)
        if annotations[:1] == b"[":
            parts += [Citation(json=bytes(item), origin=ORIGIN) for item in split_items(annotations)]
        return parts

    def _call(self, wire: ChatWireCall, number: int, extras: ExtraFields) -> Call:
        self._calls += 1
        if wire.custom is not None:
            name, arguments, custom = wire.custom.name, _custom_input(wire.custom.input), True
        elif wire.function is not None:
            name, arguments, custom = wire.function.name, parse_arguments(bytes(wire.function.arguments)), False
        else:
            raise MalformedRequest(
                "a tool call without its function", at=f"/messages/{self._index}/tool_calls/{number}/function"
            )
        identity = wire.id or made_id(self._calls, name)
        if not extras and wire.extra_content is ABSENT and wire.cache_control is ABSENT:
            return Call(identity, name, arguments, None, custom)
        at = f"$.tool_calls[{number}]"
        fields = {**extras.get(at, {}), **extras.get(at + ".function", {})}
        signature = _signature(bytes(wire.extra_content), fields)
        return Call(
            identity,
            name,
            arguments,
            signature,
            custom,
            hint=cache_hint(wire.cache_control),
            extras=extras_of(NAME, fields),
        )

    def _legacy_call(self, function: ChatWireFunction) -> Call:
        self._calls += 1
        self._legacy = made_id(self._calls, function.name)
        return Call(self._legacy, function.name, parse_arguments(bytes(function.arguments)), spelled=LEGACY)

    def _result(self, wire: ChatWireMessage, extras: ExtraFields) -> Result:
        content = bytes(wire.content)
        legacy = wire.role == "function"
        call_id = self._legacy if legacy else wire.tool_call_id
        if not isinstance(call_id, str):
            raise MalformedRequest(
                "a tool message without the id of its call",
                at=f"/messages/{self._index}/tool_call_id",
                hint="repeat the id of the tool call it answers",
            )
        if content[:1] == b'"':
            parts: tuple[Part, ...] = (Text(content),)
        else:
            parts = self._content(content)
        return Result(
            call_id,
            parts,
            name=wire.name or None,
            listed=content[:1] == b"[",
            spelled=LEGACY if legacy else "",
            hint=cache_hint(wire.cache_control),
            extras=_extras(wire, extras, *(_IN_LEGACY if legacy else _IN_RESULT)),
        )

    def _content(self, content: bytes) -> tuple[Part, ...]:
        if content in NOTHING:
            return ()
        at = f"/messages/{self._index}/content"
        if content[:1] != b"[":
            raise MalformedRequest("content is neither a string nor a list of parts", at=at)
        return tuple([parse_part(bytes(item), f"{at}/{index}") for index, item in enumerate(split_items(content, at))])


def _extras(wire: ChatWireMessage, extras: ExtraFields, foreign: tuple[str, ...], own: str = "name") -> Extras | None:
    """Unknown fields, known fields that have no meaning on this role, and fields that are null or empty.

    Null and empty lists mean nothing to us, but strict servers refuse them. `own` is the field that only messages of
    this role have.
    """
    if not extras and _BESIDE[own](wire) == _ABSENT[own] and getattr(wire, own) not in _EMPTY_FIELDS:
        return None  # nothing but what belongs there
    fields = dict(extras.get("$", {}))
    for name in _FIELDS:
        value = getattr(wire, name)
        if value is UNSET or value is ABSENT:
            continue
        text = bytes(value) if type(value) is Raw else b"null" if value is None else b"" if value else _raw_json(value)
        if text in _HOLDS_NOTHING:
            fields[name] = text
        elif name in foreign:
            fields[name] = text or _raw_json(value)
    return Extras(NAME, fields) if fields else None


def _unmarked(message: Message) -> Message:
    """Only the last message can be continued. On the others the mark is an extra field."""
    if not message.prefill:
        return message
    fields = dict(message.extras.fields) if message.extras is not None else {}
    return message.but(prefill=False, extras=Extras(NAME, {**fields, "prefix": b"true"}))


def _raw_json(value: Any) -> bytes:
    """A decoded field as JSON again, without members that were absent."""
    if isinstance(value, list):
        return b"[" + b",".join([_raw_json(item) for item in value]) + b"]"
    if not isinstance(value, msgspec.Struct):
        return bytes(value) if isinstance(value, Raw) else msgspec.json.encode(value)
    found = {name: getattr(value, name) for name in value.__struct_fields__}
    return render_object(
        {name: _raw_json(item) for name, item in found.items() if item is not None and item is not ABSENT}
    )


_FOREIGN_TO_PLAIN = (
    "tool_calls",
    "tool_call_id",
    "refusal",
    "reasoning_content",
    "reasoning",
    "reasoning_details",
    "function_call",
    "audio",
    "annotations",
    "prefix",
)
_FOREIGN_TO_ASSISTANT = ("tool_call_id",)
_IN_RESULT = (tuple(name for name in _FOREIGN_TO_PLAIN if name != "tool_call_id"), "tool_call_id")
_IN_LEGACY = (_FOREIGN_TO_PLAIN, "name")
_FIELDS = ("name", *_FOREIGN_TO_PLAIN)
_BESIDE = {
    own: attrgetter(*(name for name in _FIELDS if name != own)) for own in ("name", "tool_calls", "tool_call_id")
}
_ABSENT = {own: beside(ChatWireMessage("")) for own, beside in _BESIDE.items()}
_EMPTY_FIELDS: tuple[Any, ...] = (None, [])
_HOLDS_NOTHING = (b"null", b"[]", b"false")
"""`false` is a mark (`prefix`) that is not set."""


def _custom_input(raw: Raw) -> Json:
    return bytes(raw) or EMPTY


def _signature(extra_content: bytes, fields: dict[str, Json]) -> Opaque | None:
    """The signature that Google's compatible endpoint puts there. Anything else there is an extra field."""
    if extra_content[:1] != b"{":
        return None
    try:
        found = msgspec.json.decode(extra_content)["google"]["thought_signature"]
    except (KeyError, TypeError):
        found = None
    if not isinstance(found, str):
        fields["extra_content"] = extra_content
        return None
    return parse_state(reasoning_states.THOUGHT, quote(found), ORIGIN)


_PLAIN_DETAIL = {"type", "text"}


def _is_sealed(part: Reasoning) -> bool:
    """Whether the state is another dialect's, which came back sealed."""
    return part.state is not None and part.state.origin is not ORIGIN


def _detail(raw: bytes) -> Reasoning:
    """One entry of `reasoning_details`. Sealed state in it is what we handed out before."""
    entry = split_members(raw) if raw[:1] == b"{" else {}
    literal = bytes(entry.get("text") or entry.get("summary") or b"")
    text = Text(literal) if literal[:1] == b'"' else None
    for key in ("signature", "data"):
        value = bytes(entry.get(key, b""))
        if value[:1] == b'"':
            found = parse_state(reasoning_states.DETAIL, value, ORIGIN)
            if found.origin is not ORIGIN:
                return Reasoning(
                    text=text,
                    state=found,
                    redacted=found.kind == reasoning_states.REDACTED,
                    field=reasoning_states.DETAIL,
                )
    if text is not None and entry.keys() == _PLAIN_DETAIL:
        return Reasoning(text=text, field=reasoning_states.DETAIL)
    return Reasoning(
        text=text, state=Opaque(kind=reasoning_states.DETAIL, json=raw, origin=ORIGIN), field=reasoning_states.DETAIL
    )


def parse_part(raw: bytes, at: str) -> Part:
    """One content part. A part of an unknown type is kept verbatim."""
    if raw[:1] != b"{":
        raise MalformedRequest("a content part that is not an object", at=at)
    try:
        wire = _part.decode(raw)
        extras = None
    except msgspec.DecodeError:
        known = kind_of(raw, at)
        if known not in PART_PARSERS:
            return Opaque(kind=known, json=raw, origin=ORIGIN)
        salvaged = salvage(raw, _part, at)
        wire, extras = salvaged.value, extras_of(NAME, salvaged.extras.get("$", {}))
    parser = PART_PARSERS.get(wire.type)
    if parser is not None:
        extras = _with_other_members(wire, extras)
    part = parser(wire, cache_hint(wire.cache_control), extras) if parser is not None else None
    if part is not None:
        return part
    if parser is not None:
        _refuse_misfit(wire, at)
    return Opaque(kind=wire.type, json=raw, origin=ORIGIN)


def _refuse_misfit(wire: ChatWirePart, at: str) -> None:
    """Raise MalformedRequest where the member that a part is named after has a value that says nothing."""
    content = _loose(getattr(wire, wire.type))
    needed = _NEEDED.get(wire.type)
    if needed is None or isinstance(content, str):
        return
    if not isinstance(content, dict):
        raise MalformedRequest(f"{wire.type} is not an object", at=f"{at}/{wire.type}", hint=_NEEDED_HINT)
    if not any(isinstance(content.get(key), str) for key in needed):
        raise MalformedRequest(
            f"{wire.type} has no {needed[0]} that is a string", at=f"{at}/{wire.type}/{needed[0]}", hint=_NEEDED_HINT
        )


_NEEDED = {
    "image_url": ("url",),
    "video_url": ("url",),
    "document_url": ("url",),
    "input_audio": ("data",),
    "file": ("file_data", "file_id"),
}
_NEEDED_HINT = "write it as the dialect's documentation has it, or leave the part out"


def _with_other_members(wire: ChatWirePart, extras: Extras | None) -> Extras | None:
    """The extras, with members of other part types, which SDKs write as null."""
    found = {
        name: bytes(getattr(wire, name))
        for name in PART_PARSERS
        if name != wire.type and getattr(wire, name) is not ABSENT
    }
    if not found:
        return extras
    return Extras(NAME, {**found, **(extras.fields if extras is not None else {})})


def _parse_text(wire: ChatWirePart, hint: CacheHint | None, extras: Extras | None) -> Part | None:
    literal = bytes(wire.text)
    return Text(literal, hint=hint, extras=extras) if literal[:1] == b'"' else None


def _parse_refusal(wire: ChatWirePart, hint: CacheHint | None, extras: Extras | None) -> Part | None:
    literal = bytes(wire.refusal)
    return Refusal(literal, hint=hint, extras=extras) if literal[:1] == b'"' else None


def _parse_image(wire: ChatWirePart, hint: CacheHint | None, extras: Extras | None) -> Part | None:
    return _parse_link(MediaKind.IMAGE, wire.image_url, hint, extras)


def _parse_video(wire: ChatWirePart, hint: CacheHint | None, extras: Extras | None) -> Part | None:
    return _parse_link(MediaKind.VIDEO, wire.video_url, hint, extras)


def _parse_document(wire: ChatWirePart, hint: CacheHint | None, extras: Extras | None) -> Part | None:
    return _parse_link(MediaKind.DOCUMENT, wire.document_url, hint, extras)


def _parse_link(kind: MediaKind, raw: Raw, hint: CacheHint | None, extras: Extras | None) -> Part | None:
    content = _loose(raw)
    form = DOCUMENT_URL if kind is MediaKind.DOCUMENT else ""
    if isinstance(content, str):
        return Media(kind, parse_link(content), spelled=form or BARE, hint=hint, extras=extras)
    if not isinstance(content, dict) or not isinstance(content.get("url"), str) or content.keys() - {"url", "detail"}:
        return None
    detail = stated_detail(content.get("detail"))
    return Media(kind, parse_link(content["url"]), detail=detail, spelled=form, hint=hint, extras=extras)


def _parse_audio(wire: ChatWirePart, hint: CacheHint | None, extras: Extras | None) -> Part | None:
    content = _loose(wire.input_audio)
    if not isinstance(content, dict) or not isinstance(content.get("data"), str) or content.keys() - {"data", "format"}:
        return None
    form = str(content.get("format") or "")
    source = Inline("audio/" + _AUDIO_TYPES.get(form, form), quote(content["data"]))
    return Media(MediaKind.AUDIO, source, hint=hint, extras=extras)


def _parse_file(wire: ChatWirePart, hint: CacheHint | None, extras: Extras | None) -> Part | None:
    content = _loose(wire.file)
    if not isinstance(content, dict) or content.keys() - {"file_data", "filename", "file_id"}:
        return None
    source: Inline | Remote | Stored
    if isinstance(content.get("file_id"), str):
        source = Stored(content["file_id"], OPENAI_FILES)
    elif isinstance(content.get("file_data"), str):
        source = parse_link(content["file_data"])
    else:
        return None
    title = content.get("filename")
    form = "" if title is not None or isinstance(source, Stored) else UNTITLED
    named = title if title != UNTITLED else None
    return Media(MediaKind.DOCUMENT, source, title=named, spelled=form, hint=hint, extras=extras)


def _loose(raw: Raw) -> Any:
    text = bytes(raw)
    return msgspec.json.decode(text) if text else None


_AUDIO_TYPES = {"mp3": "mpeg"}

PART_PARSERS: dict[str, Callable[[ChatWirePart, CacheHint | None, Extras | None], Part | None]] = {
    "text": _parse_text,
    "refusal": _parse_refusal,
    "image_url": _parse_image,
    "input_audio": _parse_audio,
    "file": _parse_file,
    "video_url": _parse_video,
    "document_url": _parse_document,
}
