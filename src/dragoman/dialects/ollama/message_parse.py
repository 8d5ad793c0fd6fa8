"""Ollama's messages to ours.

The content is a string. Media stand beside it, in `images`, and the model sees them before the text. Calls and results
may come without ids: then a result answers the first waiting call of its name.
"""

from __future__ import annotations

from base64 import b64decode
from collections.abc import Mapping, Sequence

import msgspec
from msgspec.structs import force_setattr, replace

from dragoman.conversation import traits
from dragoman.conversation.literals import EMPTY, unquote
from dragoman.conversation.messages import ASSISTANT, DEVELOPER, SYSTEM, TOOL, USER, Message, Role
from dragoman.conversation.parts import (
    NO_ID,
    Call,
    Inline,
    Json,
    Media,
    MediaKind,
    Part,
    Reasoning,
    Remote,
    Result,
    Text,
)
from dragoman.conversation.traits import CALLING, CODES, ObservedMessage, observe_message, observe_name
from dragoman.dialects.near_misses.call_ids import CallIds
from dragoman.dialects.ollama import NAME, THINKING
from dragoman.dialects.ollama.schema import OllamaCall, OllamaMessage, message_decoder
from dragoman.dialects.shared.media_links import LONG, parse_links
from dragoman.dialects.shared.parsed_messages import ParsedList, is_blank, join_results, share_places
from dragoman.dialects.shared.parsing import extras_of
from dragoman.dialects.shared.raw_json import ABSENT, NOTHING
from dragoman.errors import MalformedRequest
from dragoman.wire.json_reader import salvage, split_items

_ROLES = {"user": USER, "assistant": ASSISTANT, "system": SYSTEM, "developer": DEVELOPER, "tool": TOOL}
_OF_IDS = traits.ODD_IDS | traits.DUPLICATE_ID

ExtraFields = Mapping[str, Mapping[str, Json]]
_NO_EXTRAS: ExtraFields = {}


def parse_turn(turn: OllamaMessage, index: int) -> Sequence[ObservedMessage] | None:
    """A message that is decoded. Those of a text, a result or calls have a short way."""
    content, thinking, calls = bytes(turn.content), turn.thinking, turn.tool_calls
    identity, name = turn.tool_call_id, turn.tool_name
    role = _ROLES.get(turn.role)
    try:
        if content[:1] == b'"' and thinking is ABSENT and turn.images is ABSENT and role is not None:
            if role is TOOL:
                if calls is None:
                    return (_parse_result(identity or "", name, content, index),)
            elif identity is None and name is None:
                if calls is None and role is ASSISTANT and len(content) > LONG:
                    return (observe_message(Message(role, parse_links((Text(content),)), index)),)
                if calls is None:
                    message = Message(role, (Text(content),), index)
                    return (ObservedMessage(message, traits.BLANK_TEXT if is_blank(content) else 0, CODES[role]),)
                if role is ASSISTANT and calls:
                    return (_parse_calls(calls, content, index),)
        role = role or _ROLES.get(turn.role.lower())
        if role is None or (thinking is not ABSENT and memoryview(thinking)[0] not in b'"n'):
            return None
        return (observe_message(_parse_message(turn, role, index)),)
    except MalformedRequest:
        return None


def _parse_result(identity: str, name: str | None, content: Json, index: int) -> ObservedMessage:
    wire_form = "" if identity else NO_ID
    result = Result(identity, (Text(content),), name=name or None, wire_form=wire_form)
    seen = (traits.BLANK_TEXT if is_blank(content) else 0) | (0 if identity else traits.LEGACY)
    return ObservedMessage(Message(TOOL, (result,), index), seen, "t", [identity])


def _parse_calls(calls: Sequence[OllamaCall], content: Json, index: int) -> ObservedMessage:
    parts: list[Part] = []
    ids: list[str] = []
    seen = traits.CALLS
    if content != EMPTY:
        parts.append(Text(content))
        seen = traits.CALLS | traits.BLANK_TEXT if is_blank(content) else traits.CALLS
    for place, wire in enumerate(calls):
        call = _parse_call(wire, index, place)
        parts.append(call)
        ids.append(call.id)
        seen |= observe_name(call.name) | (traits.LEGACY if call.wire_form else 0)
    return ObservedMessage(Message(ASSISTANT, tuple(parts), index), seen, CALLING, ids)


def parse_odd_item(raw: Json, index: int) -> Sequence[ObservedMessage]:
    """A message with members that the schema does not name, or with a role that nobody knows."""
    salvaged = salvage(raw, message_decoder, f"/messages/{index}")
    turn = salvaged.value
    return (observe_message(_parse_message(turn, _ROLES.get(turn.role.lower()), index, salvaged.extras)),)


def _parse_message(turn: OllamaMessage, role: Role | None, index: int, extras: ExtraFields = _NO_EXTRAS) -> Message:
    content = _parse_content(turn, index)
    calls = turn.tool_calls or ()
    if role is TOOL:
        identity, name = turn.tool_call_id or "", turn.tool_name or None
        fields = _gather_fields(turn, ("thinking", "tool_calls"), extras)
        wire_form = "" if identity else NO_ID
        result = Result(identity, content, False, name, wire_form=wire_form, extras=extras_of(NAME, fields))
        return Message(TOOL, (result,), index)
    if role is not ASSISTANT:
        fields = _gather_fields(turn, ("thinking", "tool_calls", "tool_name", "tool_call_id"), extras)
        role_text = "" if role is not None else turn.role
        return Message(role or USER, content, index, extras=extras_of(NAME, fields), role_text=role_text)
    parts: list[Part] = []
    thinking = bytes(turn.thinking)
    if thinking[:1] == b'"' and thinking != EMPTY:
        parts.append(Reasoning(text=Text(thinking), field=THINKING))
    if not calls or content != (Text(EMPTY),):
        parts += parse_links(content)
    parts += [_parse_call(call, index, place, extras) for place, call in enumerate(calls)]
    fields = _gather_fields(turn, ("tool_name", "tool_call_id"), extras)
    return Message(ASSISTANT, tuple(parts), index, extras=extras_of(NAME, fields))


def _parse_content(turn: OllamaMessage, index: int) -> tuple[Part, ...]:
    """Media, then the text. An empty text beside media says nothing."""
    content = bytes(turn.content)
    if content[:1] == b'"':
        text: tuple[Part, ...] = (Text(content),)
    elif content in NOTHING:
        text = ()
    else:
        at = f"/messages/{index}/content"
        raise MalformedRequest("content is not a string", at=at, hint="put media into `images`")
    images = bytes(turn.images)
    if images in NOTHING:
        return text
    at = f"/messages/{index}/images"
    media = [_parse_medium(bytes(item), f"{at}/{place}") for place, item in enumerate(split_items(images, at))]
    return tuple(media) if media and content == EMPTY else (*media, *text)


def _parse_call(wire: OllamaCall, index: int, place: int, extras: ExtraFields = _NO_EXTRAS) -> Call:
    arguments, identity = bytes(wire.function.arguments), wire.id or ""
    if arguments[:1] != b"{":
        if arguments not in NOTHING:
            at = f"/messages/{index}/tool_calls/{place}/function/arguments"
            raise MalformedRequest("arguments that are no object", at=at)
        arguments = b"{}"
    call = Call(identity, wire.function.name, arguments, None, False, "" if identity else NO_ID)
    if not extras:
        return call
    path = f"$.tool_calls[{place}]"
    fields = {**extras.get(path, {}), **extras.get(f"{path}.function", {})}
    return replace(call, extras=extras_of(NAME, fields))


def _gather_fields(turn: OllamaMessage, foreign: Sequence[str], extras: ExtraFields) -> Mapping[str, Json]:
    """Extra fields, with those members that belong to messages of another role."""
    found = {name: msgspec.json.encode(value) for name in foreign if (value := getattr(turn, name))}
    return {**{name: value for name, value in found.items() if value != b"null"}, **extras.get("$", {})}


# The second pass


def settle(listed: ParsedList) -> ParsedList:
    """Make one message of consecutive results, and give the ids that the order of calls and results tells."""
    done = join_results(listed.messages)
    legacy = any(one.traits & traits.LEGACY for one in done)
    if legacy:
        ids = CallIds([part for one in done for part in one.message.parts])
        for one in done:
            if one.ids:
                _identify(one, ids)
    return listed.settled(share_places(done) if listed.misses else done, alone=not legacy)


def _identify(one: ObservedMessage, ids: CallIds) -> None:
    """Give a message its ids, and its results the names of their calls.

    The parts are filled in place: they were made a moment ago, and nobody else has seen them.
    """
    found: list[str] = []
    for part in one.message.parts:
        if type(part) is Call:
            identity = ids.call(part)
            if not part.id:
                force_setattr(part, "id", identity)
            found.append(identity)
        elif type(part) is Result:
            identity, name = ids.result(part)
            if not part.call_id:
                force_setattr(part, "call_id", identity)
            if not part.name and name:
                force_setattr(part, "name", name)
            found.append(identity)
    one.traits &= ~_OF_IDS
    one.ids = found


# Media: a request does not name their type, but their bytes begin with it

_HEAD = 24
"""Characters of base64 that are looked at: eighteen bytes."""
_BEGINNINGS = (
    (b"\x89PNG", "image/png"),
    (b"\xff\xd8\xff", "image/jpeg"),
    (b"GIF8", "image/gif"),
    (b"BM", "image/bmp"),
    (b"ID3", "audio/mpeg"),
    (b"\xff\xfb", "audio/mpeg"),
    (b"OggS", "audio/ogg"),
    (b"fLaC", "audio/flac"),
)
_CONTAINED = {b"WEBP": "image/webp", b"WAVE": "audio/wav"}
"""What a RIFF file holds."""
_USUAL = "image/png"


def _parse_medium(literal: Json, at: str) -> Media:
    if literal[:1] != b'"':
        raise MalformedRequest("an image that is not a string of base64", at=at)
    if literal.startswith(DATA_URL):
        raise MalformedRequest("a data URL in place of base64", at=at)
    if literal.startswith(_LINKS):
        return Media(MediaKind.IMAGE, Remote(unquote(literal)))
    media_type = media_type_of(literal)
    kind = MediaKind.AUDIO if media_type.startswith("audio/") else MediaKind.IMAGE
    return Media(kind, Inline(media_type, literal))


DATA_URL = b'"data:'
"""How a URL begins that holds the bytes itself. The loose reader takes these out."""
_LINKS = (b'"http://', b'"https://')


def media_type_of(literal: Json) -> str:
    """The media type of a JSON string of base64. If nothing tells, it is a picture."""
    try:
        head = b64decode(literal[1:-1][:_HEAD].rstrip(b"=") + b"==")
    except ValueError:
        return _USUAL
    if head[:4] == b"RIFF":
        return _CONTAINED.get(head[8:12], _USUAL)
    return next((media_type for beginning, media_type in _BEGINNINGS if head.startswith(beginning)), _USUAL)
