"""Cohere's messages to ours.

The words before a call stand in `tool_plan`. They are the assistant's text, as in any other dialect.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import msgspec
from msgspec import Raw

from dragoman.conversation.collect import arguments_of
from dragoman.conversation.literals import EMPTY, joined, unquote
from dragoman.conversation.messages import ASSISTANT, SYSTEM, TOOL, USER, Message, Role
from dragoman.conversation.parts import (
    Call,
    Citation,
    Extras,
    Json,
    Media,
    MediaKind,
    Opaque,
    Part,
    Reasoning,
    Result,
    Text,
)
from dragoman.dialects.cohere import NAME, ORIGIN
from dragoman.dialects.cohere.documents import parse_document
from dragoman.dialects.parsing import extras_of, kind_of, link_literal, made_id, stated_detail
from dragoman.dialects.raw_json import ABSENT, NOTHING
from dragoman.errors import MalformedRequest
from dragoman.wire.json_reader import salvage, split_items, split_members

THINKING = "thinking"
"""The field of thinking, where a dialect has several."""


class CohereWireFunction(msgspec.Struct, forbid_unknown_fields=True, gc=False):
    name: str
    arguments: Raw = ABSENT


class CohereWireCall(msgspec.Struct, forbid_unknown_fields=True, gc=False):
    id: str | None = None
    type: str | None = "function"
    function: CohereWireFunction | None = None


class CohereWireMessage(msgspec.Struct, forbid_unknown_fields=True, gc=False):
    role: str
    content: Raw = ABSENT
    tool_calls: list[CohereWireCall] | None = None
    tool_plan: Raw = ABSENT
    citations: Raw = ABSENT
    tool_call_id: str | None = None


class CohereWirePart(msgspec.Struct, forbid_unknown_fields=True, gc=False):
    type: str
    text: Raw = ABSENT
    image_url: Raw = ABSENT
    thinking: Raw = ABSENT
    document: Raw = ABSENT


_messages = msgspec.json.Decoder(list[CohereWireMessage]).decode
_message = msgspec.json.Decoder(CohereWireMessage)
_part = msgspec.json.Decoder(CohereWirePart)

ExtraFields = Mapping[str, Mapping[str, Json]]
_NO_EXTRAS: ExtraFields = {}
_ROLES = {"user": USER, "assistant": ASSISTANT, "system": SYSTEM}


def parse_messages(raw: bytes | Raw) -> tuple[Message, ...]:
    """The list of messages. Consecutive tool messages become one TOOL message."""
    parser = CohereMessageParser()
    try:
        wire = _messages(raw)
    except msgspec.DecodeError:
        for index, item in enumerate(split_items(raw, "/messages")):
            salvaged = salvage(item, _message, f"/messages/{index}")
            parser.parse(salvaged.value, salvaged.extras)
        return parser.messages()
    for message in wire:
        parser.parse(message, _NO_EXTRAS)
    return parser.messages()


class CohereMessageParser:
    """Collects tool messages into one turn, and counts calls to make ids for those without one."""

    def __init__(self) -> None:
        self._done: list[Message] = []
        self._results: list[Part] = []
        self._since = 0
        self._index = -1
        self._calls = 0

    def parse(self, wire: CohereWireMessage, extras: ExtraFields) -> None:
        self._index += 1
        if wire.role == "tool":
            if not self._results:
                self._since = self._index
            self._results.append(self._result(wire, extras))
            return
        self._flush()
        role = _ROLES.get(wire.role)
        if role is ASSISTANT:
            self._done.append(self._assistant(wire, extras))
        else:
            self._done.append(self._plain(role or USER, wire, extras, "" if role is not None else wire.role))

    def messages(self) -> tuple[Message, ...]:
        self._flush()
        return tuple(self._done)

    def _flush(self) -> None:
        if self._results:
            self._done.append(Message(TOOL, tuple(self._results), self._since, len(self._results)))
            self._results = []

    def _plain(self, role: Role, wire: CohereWireMessage, extras: ExtraFields, role_text: str) -> Message:
        content = bytes(wire.content)
        return Message(
            role,
            self._content(content),
            self._index,
            extras=_extras(wire, extras, _ALL),
            listed=content[:1] == b"[",
            role_text=role_text,
        )

    def _assistant(self, wire: CohereWireMessage, extras: ExtraFields) -> Message:
        content = bytes(wire.content)
        stated = _one_thought(self._content(content))
        if wire.tool_calls and _is_nothing(stated):
            content, stated = b"", ()
        plan = bytes(wire.tool_plan)
        parts: list[Part] = [*stated]
        if plan[:1] == b'"' and plan != EMPTY:
            parts.append(Text(plan))
        citations = bytes(wire.citations)
        if citations[:1] == b"[":
            parts += [Citation(json=bytes(item), origin=ORIGIN) for item in split_items(citations)]
        parts += [self._call(call, number, extras) for number, call in enumerate(wire.tool_calls or ())]
        listed = content[:1] == b"[" and any(type(part) is not Reasoning for part in stated)
        return Message(
            ASSISTANT, tuple(parts), self._index, extras=_extras(wire, extras, ("tool_call_id",)), listed=listed
        )

    def _call(self, wire: CohereWireCall, number: int, extras: ExtraFields) -> Call:
        self._calls += 1
        at = f"$.tool_calls[{number}]"
        function = wire.function
        if function is None:
            place = f"/messages/{self._index}/tool_calls/{number}/function"
            raise MalformedRequest("a tool call without its function", at=place)
        fields = {**extras.get(at, {}), **extras.get(at + ".function", {})} if extras else {}
        identity = wire.id or made_id(self._calls, function.name)
        return Call(identity, function.name, _arguments(bytes(function.arguments)), extras=extras_of(NAME, fields))

    def _result(self, wire: CohereWireMessage, extras: ExtraFields) -> Result:
        content = bytes(wire.content)
        if wire.tool_call_id is None:
            raise MalformedRequest(
                "a tool message without the id of its call",
                at=f"/messages/{self._index}/tool_call_id",
                hint="repeat the id of the tool call it answers",
            )
        others = _extras(wire, extras, ("tool_calls", "tool_plan", "citations"))
        return Result(wire.tool_call_id, self._content(content), listed=content[:1] == b"[", extras=others)

    def _content(self, content: bytes) -> tuple[Part, ...]:
        if content[:1] == b'"':
            return (Text(content),)
        if content in NOTHING:
            return ()
        at = f"/messages/{self._index}/content"
        if content[:1] != b"[":
            raise MalformedRequest("content is neither a string nor a list of parts", at=at)
        return tuple([parse_part(bytes(item), f"{at}/{index}") for index, item in enumerate(split_items(content, at))])


def _one_thought(parts: tuple[Part, ...]) -> tuple[Part, ...]:
    """The parts with all thinking in one. Cohere's answers have one such part; who sends back several gets one turn."""
    thoughts = [part for part in parts if isinstance(part, Reasoning) and part.text is not None]
    if len(thoughts) < 2:
        return parts
    text = joined("\n", [part.text.literal for part in thoughts if part.text is not None])
    surplus = {id(part) for part in thoughts[1:]}
    rest = [part for part in parts if id(part) not in surplus]
    return tuple([Reasoning(text=Text(text), field=THINKING) if part is thoughts[0] else part for part in rest])


def _is_nothing(parts: tuple[Part, ...]) -> bool:
    """Whether this is the empty text that clients write beside calls."""
    only = parts[0] if len(parts) == 1 else None
    return type(only) is Text and only.literal == EMPTY and only.extras is None


def _arguments(raw: bytes) -> Json:
    """An argument string as the object that it holds. An object in its place is taken as it is."""
    if raw[:1] == b'"':
        return arguments_of(unquote(raw))
    return b"{}" if raw in NOTHING else raw


_ALL = ("tool_calls", "tool_plan", "citations", "tool_call_id")
"""Fields that a message of the user or the system does not have."""
_EMPTY: tuple[Any, ...] = (b"", b"null", b"[]", b'""')


def _extras(wire: CohereWireMessage, extras: ExtraFields, foreign: tuple[str, ...]) -> Extras | None:
    """Unknown fields, and known ones that have no meaning on this role. Those that hold nothing are left out."""
    fields = dict(extras.get("$", {})) if extras else {}
    for name in foreign:
        value = getattr(wire, name)
        text = bytes(value) if isinstance(value, Raw) else msgspec.json.encode(value)
        if text not in _EMPTY:
            fields[name] = text
    return extras_of(NAME, fields)


def parse_part(raw: bytes, at: str) -> Part:
    """One content part. A part of an unknown type is kept verbatim."""
    if raw[:1] != b"{":
        raise MalformedRequest("a content part that is not an object", at=at)
    try:
        wire, extras = _part.decode(raw), None
    except msgspec.DecodeError:
        known = kind_of(raw, at)
        if known not in PART_PARSERS:
            return Opaque(kind=known, json=raw, origin=ORIGIN)
        salvaged = salvage(raw, _part, at)
        wire, extras = salvaged.value, extras_of(NAME, salvaged.extras.get("$", {}))
    parser = PART_PARSERS.get(wire.type)
    part = parser(wire, extras) if parser is not None else None
    return part if part is not None else Opaque(kind=wire.type, json=raw, origin=ORIGIN)


def _parse_text(wire: CohereWirePart, extras: Extras | None) -> Part | None:
    literal = bytes(wire.text)
    return Text(literal, extras=extras) if literal[:1] == b'"' else None


def _parse_thinking(wire: CohereWirePart, extras: Extras | None) -> Part | None:
    literal = bytes(wire.thinking)
    return Reasoning(text=Text(literal), field=THINKING, extras=extras) if literal[:1] == b'"' else None


def _parse_image(wire: CohereWirePart, extras: Extras | None) -> Part | None:
    raw = bytes(wire.image_url)
    members = split_members(raw) if raw[:1] == b"{" else {}
    url = bytes(members.get("url", b""))
    if url[:1] != b'"' or members.keys() - {"url", "detail"}:
        return None
    detail = bytes(members.get("detail", b"null"))
    stated = stated_detail(unquote(detail)) if detail[:1] == b'"' else None
    return Media(MediaKind.IMAGE, link_literal(url), detail=stated, extras=extras)


def _parse_document(wire: CohereWirePart, extras: Extras | None) -> Part | None:
    raw = bytes(wire.document)
    return parse_document(raw) if raw[:1] == b"{" and extras is None else None


PART_PARSERS: dict[str, Callable[[CohereWirePart, Extras | None], Part | None]] = {
    "text": _parse_text,
    "thinking": _parse_thinking,
    "image_url": _parse_image,
    "document": _parse_document,
}
