"""Ollama's messages to ours.

The content is a string. Media stand beside it, in `images`, and the model sees them before the text. Calls and results
may come without ids: then a result answers the first waiting call of its name.
"""

from __future__ import annotations

from collections.abc import Mapping

import msgspec
from msgspec import Raw

from dragoman.conversation.literals import EMPTY
from dragoman.conversation.messages import ASSISTANT, DEVELOPER, SYSTEM, TOOL, USER, Message
from dragoman.conversation.parts import NO_ID, Call, Inline, Json, Media, Part, Reasoning, Result, Text
from dragoman.dialects.near_misses.call_ids import CallIds
from dragoman.dialects.ollama import NAME, THINKING
from dragoman.dialects.ollama.media_kinds import kind_of, media_type_of
from dragoman.dialects.parsing import extras_of
from dragoman.dialects.raw_json import ABSENT, NOTHING
from dragoman.errors import MalformedRequest
from dragoman.wire.json_reader import salvage, split_items


class OllamaWireFunction(msgspec.Struct, forbid_unknown_fields=True, gc=False):
    name: str
    arguments: Raw = ABSENT
    index: int | None = None


class OllamaWireCall(msgspec.Struct, forbid_unknown_fields=True, gc=False):
    function: OllamaWireFunction
    id: str | None = None
    type: str | None = None


class OllamaWireMessage(msgspec.Struct, forbid_unknown_fields=True, gc=False):
    role: str
    content: Raw = ABSENT
    thinking: Raw = ABSENT
    images: Raw = ABSENT
    tool_calls: list[OllamaWireCall] | None = None
    tool_name: str | None = None
    tool_call_id: str | None = None


_messages = msgspec.json.Decoder(list[OllamaWireMessage]).decode
_message = msgspec.json.Decoder(OllamaWireMessage)
_ROLES = {"user": USER, "assistant": ASSISTANT, "system": SYSTEM, "developer": DEVELOPER, "tool": TOOL}

ExtraFields = Mapping[str, Mapping[str, Json]]
_NO_EXTRAS: ExtraFields = {}


def parse_messages(raw: bytes | Raw) -> tuple[Message, ...]:
    """The list of messages. Consecutive tool messages become one TOOL message."""
    parser = OllamaMessageParser()
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


class OllamaMessageParser:
    """Collects tool messages into one turn. The ids of calls and results are settled when all of them are known."""

    def __init__(self) -> None:
        self._done: list[Message] = []
        self._results: list[Part] = []
        self._since = 0
        self._index = -1
        self._unnamed = False

    def parse(self, wire: OllamaWireMessage, extras: ExtraFields) -> None:
        self._index += 1
        role = _ROLES.get(wire.role.lower())
        if role is TOOL:
            self._since = self._since if self._results else self._index
            self._results.append(self._result(wire, extras))
            return
        self._flush()
        if role is ASSISTANT:
            self._done.append(self._assistant(wire, extras))
            return
        fields = {**_beside(wire), **extras.get("$", {})}
        role_text = "" if role is not None else wire.role
        parts = self._content(wire)
        found = Message(role or USER, parts, self._index, extras=extras_of(NAME, fields), role_text=role_text)
        self._done.append(found)

    def messages(self) -> tuple[Message, ...]:
        self._flush()
        return identified(self._done) if self._unnamed else tuple(self._done)

    def _flush(self) -> None:
        if self._results:
            results, self._results = tuple(self._results), []
            self._done.append(Message(TOOL, results, self._since, len(results)))

    def _content(self, wire: OllamaWireMessage) -> tuple[Part, ...]:
        """Media, then the text. An empty text beside media says nothing."""
        literal = self._text(wire)
        media = self._media(bytes(wire.images))
        if literal == EMPTY and media:
            return media
        return (*media, Text(literal)) if literal else media

    def _text(self, wire: OllamaWireMessage) -> bytes:
        literal = bytes(wire.content)
        if literal in NOTHING:
            return b""
        if literal[:1] != b'"':
            at = f"/messages/{self._index}/content"
            raise MalformedRequest("content is not a string", at=at, hint="put media into `images`")
        return literal

    def _media(self, raw: bytes) -> tuple[Part, ...]:
        if raw in NOTHING:
            return ()
        at = f"/messages/{self._index}/images"
        return tuple([_parse_medium(bytes(item), f"{at}/{place}") for place, item in enumerate(split_items(raw, at))])

    def _assistant(self, wire: OllamaWireMessage, extras: ExtraFields) -> Message:
        parts: list[Part] = []
        thinking = bytes(wire.thinking)
        if thinking[:1] == b'"' and thinking != EMPTY:
            parts.append(Reasoning(text=Text(thinking), field=THINKING))
        content = self._content(wire)
        if not wire.tool_calls or content != (Text(EMPTY),):
            parts += content
        parts += [self._call(call, place, extras) for place, call in enumerate(wire.tool_calls or ())]
        fields = {**_named(wire), **extras.get("$", {})}
        return Message(ASSISTANT, tuple(parts), self._index, extras=extras_of(NAME, fields))

    def _call(self, wire: OllamaWireCall, place: int, extras: ExtraFields) -> Call:
        arguments = bytes(wire.function.arguments)
        if arguments in NOTHING:
            arguments = b"{}"
        if arguments[:1] != b"{":
            at = f"/messages/{self._index}/tool_calls/{place}/function/arguments"
            raise MalformedRequest("arguments that are no object", at=at)
        self._unnamed = self._unnamed or not wire.id
        at = f"$.tool_calls[{place}]"
        fields = {**extras.get(at, {}), **extras.get(at + ".function", {})}
        return Call(wire.id or "", wire.function.name, arguments, extras=extras_of(NAME, fields))

    def _result(self, wire: OllamaWireMessage, extras: ExtraFields) -> Result:
        self._unnamed = self._unnamed or not wire.tool_call_id
        fields = {**_thoughts(wire), **_calls(wire), **extras.get("$", {})}
        parts = self._content(wire)
        return Result(wire.tool_call_id or "", parts, name=wire.tool_name or None, extras=extras_of(NAME, fields))


def identified(messages: list[Message]) -> tuple[Message, ...]:
    """The messages with the ids that the order of calls and results tells, where there are none."""
    ids = CallIds([part for message in messages for part in message.parts])
    return tuple([message.but(parts=tuple([_identified(part, ids) for part in message.parts])) for message in messages])


def _identified(part: Part, ids: CallIds) -> Part:
    if type(part) is Call:
        identity = ids.call(part)
        return part if part.id else msgspec.structs.replace(part, id=identity, spelled=NO_ID)
    if type(part) is Result:
        identity, name = ids.result(part)
        named = part.name or name or None
        spelled = "" if part.call_id else NO_ID
        return msgspec.structs.replace(part, call_id=identity, name=named, spelled=spelled)
    return part


def _parse_medium(literal: Json, at: str) -> Media:
    if literal[:1] != b'"':
        raise MalformedRequest("an image that is not a string of base64", at=at)
    media_type = media_type_of(literal)
    return Media(kind_of(media_type), Inline(media_type, literal))


def _thoughts(wire: OllamaWireMessage) -> dict[str, Json]:
    thinking = bytes(wire.thinking)
    return {} if thinking in NOTHING else {"thinking": thinking}


def _calls(wire: OllamaWireMessage) -> dict[str, Json]:
    return {"tool_calls": msgspec.json.encode(wire.tool_calls)} if wire.tool_calls else {}


def _named(wire: OllamaWireMessage) -> dict[str, Json]:
    named = {"tool_name": wire.tool_name, "tool_call_id": wire.tool_call_id}
    return {key: msgspec.json.encode(value) for key, value in named.items() if value}


def _beside(wire: OllamaWireMessage) -> dict[str, Json]:
    """Members that belong to messages of another role."""
    return {**_thoughts(wire), **_calls(wire), **_named(wire)}
