"""Chat messages to ours."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from operator import attrgetter, is_
from typing import Any

import msgspec
from msgspec import UNSET, Raw
from msgspec.structs import replace

from dragoman.conversation import traits
from dragoman.conversation.literals import EMPTY, blank
from dragoman.conversation.messages import ASSISTANT, DEVELOPER, SYSTEM, TOOL, USER, Message, Role
from dragoman.conversation.parts import (
    BESIDE,
    LEGACY,
    Call,
    Citation,
    Extras,
    Inline,
    Json,
    Media,
    MediaKind,
    Opaque,
    Part,
    Refusal,
    Remote,
    Result,
    Stored,
    Text,
)
from dragoman.conversation.traits import CALLING, CODES, ObservedMessage, observe_message, observe_name, observe_result
from dragoman.dialects.families.reasoning_forms import parse_reasoning, parse_signature
from dragoman.dialects.openai_chat import NAME, ORIGIN, schema
from dragoman.dialects.shared import parsing
from dragoman.dialects.shared.parsed_messages import (
    BRACE,
    BRACE_END,
    LIST,
    MAYBE_BLANK,
    QUOTE,
    ParsedList,
    check_object,
    is_blank,
    join_results,
    share_places,
)
from dragoman.dialects.shared.raw_json import ABSENT
from dragoman.dialects.shared.wire_schema import split_unknown
from dragoman.errors import MalformedRequest
from dragoman.wire.json_reader import render_object, salvage, split_items, split_members

_BLANKS = (b"null", EMPTY)
"""What may stand for the content of a turn of nothing but calls or pictures."""
UNTITLED = "untitled"
"""The name for a file without one: Chat demands a name beside a file's bytes."""
BARE = "bare"
DOCUMENT_URL = "document_url"
LINKED_SOUND = "sound_url"
"""The spelling of a sound as a URL where its base64 belongs: a data URL, or one to fetch."""
_LINKS = (b'"data:', b'"http:', b'"https:')
"""Spellings of media other than Chat's own: a URL as plain text, and a document by its URL."""

_TURNS: Mapping[type, tuple[Role, str]] = {
    turn: (role, CODES[role])
    for turn, role in ((schema.ChatUser, USER), (schema.ChatSystem, SYSTEM), (schema.ChatDeveloper, DEVELOPER))
}
"""The role of a turn, and its letter."""
_LONG = 64 * 1024
"""Content of this size holds a picture rather than words."""


_decode_text = msgspec.json.Decoder(str).decode


def parse_turn(turn: Any, index: int) -> Sequence[ObservedMessage] | None:
    """A message of `ChatMessage`. The decode has checked all but what stays raw in it."""
    raw_content = turn.content
    content = bytes(raw_content) if len(raw_content) < _LONG else _copy_text(raw_content)
    first = content[0] if content else None
    kind = type(turn)
    if kind is schema.ChatToolResult:
        identity = turn.tool_call_id
        if first == QUOTE:
            message = Message(TOOL, (Result(identity, (Text(content),)),), index)
            return (ObservedMessage(message, traits.BLANK_TEXT if is_blank(content) else 0, "t", [identity]),)
        found = _parse_parts(raw_content) if first == LIST else None
        if found is None:
            return None
        result = Result(identity, found, listed=True)
        return (ObservedMessage(Message(TOOL, (result,), index), observe_result(result), "t", [identity]),)
    name = None
    if kind is schema.ChatAssistant:
        if turn.tool_calls is not UNSET:
            return _parse_calls(turn, content, index)
        role, code = ASSISTANT, "a"
    elif kind is schema.ChatFunctionResult:
        return None
    else:
        role, code = _TURNS[kind]
        if turn.name is not UNSET:
            name = turn.name
            if name is None:
                return None
    seen = 0 if name is None else traits.NAMED
    if first == QUOTE:
        if content[1] in MAYBE_BLANK and blank(content):
            seen |= traits.BLANK_TEXT
        return (ObservedMessage(Message(role, (Text(content),), index, 1, name), seen, code),)
    found = _parse_parts(raw_content) if first == LIST else None
    if found is None:
        return None
    return (observe_message(Message(role, found, index, name=name, listed=True)),)


def _copy_text(raw: Raw) -> bytes:
    """Long content if it is a text; else its first byte, as pictures are not copied."""
    first = bytes(memoryview(raw)[:1])
    return bytes(raw) if first == b'"' else first


def _parse_calls(turn: schema.ChatAssistant, content: Json, index: int) -> Sequence[ObservedMessage] | None:
    """A turn that calls functions, with a text before them or without."""
    has_text = len(content) > len(EMPTY) and content[0] == QUOTE
    if not turn.tool_calls or not (has_text or content in _NO_TEXT):
        return None
    seen = traits.CALLS | (traits.BLANK_TEXT if has_text and is_blank(content) else 0)
    parts: list[Part] = [Text(content)] if has_text else []
    ids: list[str] = []
    for call in turn.tool_calls:
        if type(call) is not schema.ChatFunctionCall:
            return None
        function = call.function
        arguments = function.arguments.encode()
        if arguments[0] != BRACE or arguments[-1] != BRACE_END:
            return None
        try:
            check_object(arguments)
        except (msgspec.DecodeError, RecursionError):
            return None
        parts.append(Call(call.id, function.name, arguments))
        ids.append(call.id)
        seen |= observe_name(function.name)
    message = Message(ASSISTANT, tuple(parts), index, blank=b"" if has_text else content)
    return (ObservedMessage(message, seen, CALLING, ids),)


_NO_TEXT = (b"", b"null", EMPTY)


def _parse_parts(raw: Raw) -> tuple[Part, ...] | None:
    """A list of texts and pictures; None if it holds anything else."""
    try:
        wire = schema.decode_parts(raw)
    except msgspec.DecodeError:
        return None
    parts: list[Part] = []
    for one in wire:
        part = PART_PARSERS[type(one)](one) if type(one) in _PLAIN_PARTS else None
        if part is None or (type(part) is Media and part.wire_form):
            return None
        parts.append(part)
    return tuple(parts)


# The second pass


def settle(listed: ParsedList) -> ParsedList:
    """Make one message of consecutive results, and give ids to calls without one. The last one may be continued."""
    if listed.fits and "tt" not in listed.codes():
        return listed
    done = join_results(listed.messages)
    seen = 0
    marked = False
    for one in done:
        seen |= one.traits
        marked = marked or bool(one.message.prefill)
    alone = True
    if seen & _ODD_CALLS:
        before, done = done, _identify(done)
        alone = not seen & traits.LEGACY and all(map(is_, before, done))
    if marked:
        done = [*map(_unmark, done[:-1]), done[-1]]
    return listed.settled(share_places(done) if listed.misses else done, alone)


_ODD_CALLS = traits.LEGACY | traits.ODD_IDS


def _identify(messages: list[ObservedMessage]) -> list[ObservedMessage]:
    """Give ids to the calls without one, by their number. A result in the older form answers the last such call."""
    done: list[ObservedMessage] = []
    calls = 0
    legacy = ""
    for one in messages:
        parts: list[Part] = []
        for part in one.message.parts:
            if type(part) is Call:
                calls += 1
                if not part.id:
                    part = replace(part, id=parsing.make_id(calls, part.name))
                if part.wire_form == LEGACY:
                    legacy = part.id
            elif type(part) is Result and part.wire_form == LEGACY:
                part = replace(part, call_id=legacy)
            parts.append(part)
        same = all(map(is_, parts, one.message.parts))
        done.append(one if same else observe_message(replace(one.message, parts=tuple(parts))))
    return done


def _unmark(one: ObservedMessage) -> ObservedMessage:
    """Only the last message can be continued. On the others the mark is an extra field."""
    message = one.message
    if not message.prefill:
        return one
    fields = dict(message.extras.fields) if message.extras is not None else {}
    return observe_message(replace(message, prefill="", extras=Extras(NAME, {**fields, message.prefill: b"true"})))


# Messages with more than that


_message = msgspec.json.Decoder(schema.ChatWireMessage)

ExtraFields = Mapping[str, Mapping[str, Json]]
_ROLES = {"user": USER, "assistant": ASSISTANT, "system": SYSTEM, "developer": DEVELOPER}


def parse_odd_item(raw: Json, index: int) -> Sequence[ObservedMessage]:
    """A message with anything that may stand in one, known or not."""
    salvaged = salvage(raw, _message, f"/messages/{index}")
    wire, extras = salvaged.value, salvaged.extras
    role = wire.role
    if role == "tool" or role == "function":
        return (observe_message(Message(TOOL, (_parse_result(wire, extras, index),), index)),)
    if role == "assistant":
        return (observe_message(_parse_assistant(wire, extras, index)),)
    return (observe_message(_parse_turn(wire, extras, index)),)


def _parse_turn(wire: schema.ChatWireMessage, extras: ExtraFields, index: int) -> Message:
    content = bytes(wire.content)
    return Message(
        _ROLES.get(wire.role, USER),
        _parse_content(content, index),
        index,
        name=wire.name if wire.name is not UNSET else None,
        hint=parsing.cache_hint(wire.cache_control),
        extras=_extras(wire, extras, _FOREIGN_TO_PLAIN),
        listed=content[:1] == b"[",
        role_text="" if wire.role in _ROLES else wire.role,
    )


def _parse_assistant(wire: schema.ChatWireMessage, extras: ExtraFields, index: int) -> Message:
    content = bytes(wire.content)
    parts: list[Part] = []
    foreign: tuple[str, ...] = _FOREIGN_TO_ASSISTANT
    if wire.reasoning_content is not ABSENT or wire.reasoning is not ABSENT or wire.reasoning_details is not ABSENT:
        parts += parse_reasoning(wire.reasoning_content, wire.reasoning, wire.reasoning_details, ORIGIN)
        foreign = (*foreign, *[name for name, first in _THOUGHTS if bytes(getattr(wire, name))[:1] not in (b"", first)])
    calls = wire.tool_calls
    pictures = _parse_pictures(bytes(wire.images)) if wire.images is not ABSENT else []
    if content != EMPTY or not (calls or wire.function_call or pictures):
        parts += _parse_content(content, index)
    parts += pictures
    if wire.refusal is not ABSENT or wire.audio is not ABSENT or wire.annotations is not ABSENT:
        parts += _parse_other_parts(wire)
    if calls:
        parts += [_parse_call(call, number, extras, index) for number, call in enumerate(calls)]
    if wire.function_call:
        function, unknown = wire.function_call, parsing.extras_of(NAME, extras.get("$.function_call", {}))
        arguments = parse_arguments(bytes(function.arguments))
        parts.append(Call("", function.name, arguments, wire_form=LEGACY, extras=unknown))
    signed = wire.extra_content is not ABSENT and _sign_text(parts, bytes(wire.extra_content))
    foreign = foreign if signed else (*foreign, "extra_content")
    foreign = foreign if pictures else (*foreign, "images")
    return Message(
        ASSISTANT,
        tuple(parts),
        index,
        name=wire.name if wire.name is not UNSET else None,
        hint=parsing.cache_hint(wire.cache_control),
        extras=_extras(wire, extras, foreign, "tool_calls"),
        listed=content[:1] == b"[",
        prefill="prefix" if wire.prefix is True else "partial" if wire.partial is True else "",
        blank=content if (calls or pictures or not parts) and content in _BLANKS else b"",
    )


def _parse_pictures(raw: bytes) -> list[Part]:
    """Pictures that the model made, as OpenRouter gives them and takes them back; none if one cannot be read."""
    parts: list[Part] = []
    for item in split_items(raw) if raw[:1] == b"[" else ():
        try:
            part = parse_part(bytes(item), "")
        except MalformedRequest:
            return []
        if type(part) is not Media or part.kind is not MediaKind.IMAGE:
            return []
        parts.append(replace(part, wire_form=BESIDE))
    return parts


def _sign_text(parts: list[Part], extra_content: bytes) -> bool:
    """Put the signature of a message on its last text; one without parts has an empty one. False if there is no
    signature, or no text."""
    signature = _take_signature(extra_content, {})
    if signature is not None and not parts:
        parts.append(Text(b'""'))
    places = [number for number, part in enumerate(parts) if type(part) is Text]
    if signature is None or not places:
        return False
    parts[places[-1]] = replace(parts[places[-1]], signature=signature)
    return True


def _parse_other_parts(wire: schema.ChatWireMessage) -> list[Part]:
    parts: list[Part] = []
    refusal = bytes(wire.refusal)
    if refusal[:1] == b'"':
        parts.append(Refusal(refusal))
    audio = bytes(wire.audio)
    if audio[:1] == b"{":
        parts.append(_parse_audio_answer(audio))
    annotations = bytes(wire.annotations)
    if annotations[:1] == b"[":
        parts += [Citation(json=bytes(item), origin=ORIGIN) for item in split_items(annotations)]
    return parts


def _parse_audio_answer(audio: Json) -> Opaque:
    """A spoken answer. It is sent back by its id; an answer has more members, which clients send back too."""
    members = {name: bytes(value) for name, value in split_members(audio).items()}
    words = members.get("transcript", b"")
    transcript = words if words[:1] == b'"' and words != EMPTY else None
    if "id" in members:
        audio = render_object({"id": members.pop("id")})
        return Opaque("audio", audio, ORIGIN, transcript, extras=parsing.extras_of(NAME, members))
    return Opaque("audio", audio, ORIGIN, transcript)


def _parse_call(wire: schema.ChatWireCall, number: int, extras: ExtraFields, index: int) -> Call:
    if wire.custom is not None:
        name, arguments, custom = wire.custom.name, bytes(wire.custom.input) or EMPTY, True
    elif wire.function is not None:
        name, arguments, custom = wire.function.name, parse_arguments(bytes(wire.function.arguments)), False
    else:
        raise MalformedRequest("a tool call without its function", at=f"/messages/{index}/tool_calls/{number}/function")
    identity = wire.id or ""
    if not extras and wire.extra_content is ABSENT and wire.cache_control is ABSENT:
        return Call(identity, name, arguments, None, custom)
    at = f"$.tool_calls[{number}]"
    fields = {**extras.get(at, {}), **extras.get(at + ".function", {})}
    signature = _take_signature(bytes(wire.extra_content), fields)
    return Call(
        identity,
        name,
        arguments,
        signature,
        custom,
        hint=parsing.cache_hint(wire.cache_control),
        extras=parsing.extras_of(NAME, fields),
    )


def _parse_result(wire: schema.ChatWireMessage, extras: ExtraFields, index: int) -> Result:
    content = bytes(wire.content)
    legacy = wire.role == "function"
    call_id = "" if legacy else wire.tool_call_id
    if not isinstance(call_id, str):
        raise MalformedRequest(
            "a tool message without the id of its call",
            at=f"/messages/{index}/tool_call_id",
            hint="repeat the id of the tool call it answers",
        )
    return Result(
        call_id,
        _parse_content(content, index),
        name=wire.name or ("" if wire.name == "" and not legacy else None),
        listed=content[:1] == b"[",
        wire_form=LEGACY if legacy else "",
        hint=parsing.cache_hint(wire.cache_control),
        extras=_extras(wire, extras, *(_IN_LEGACY if legacy else _IN_RESULT)),
    )


def _parse_content(content: bytes, index: int) -> tuple[Part, ...]:
    if content[:1] == b'"':
        return (Text(content),)
    return tuple(parsing.parse_listed(content, f"/messages/{index}/content", parse_part))


def parse_arguments(raw: bytes) -> Json:
    """An argument string decoded and checked: a JSON object, or the string as it was if it holds none.

    An empty one means no arguments. The schema of calls knows it, so it is a near miss.
    """
    if raw[:1] != b'"':
        return b"{}" if raw in (b"", b"null") else raw
    text = _decode_text(raw).encode().strip()
    try:
        check_object(text)
    except (msgspec.DecodeError, RecursionError):
        return b"{}" if raw == EMPTY else raw
    return text


def _extras(
    wire: schema.ChatWireMessage, extras: ExtraFields, foreign: tuple[str, ...], own: str = "name"
) -> Extras | None:
    """Unknown fields, known fields that have no meaning on this role, and fields that are null or empty.

    Null and empty lists mean nothing to us, but strict servers refuse them. `own` is the field that only messages of
    this role have.
    """
    is_alone = _BESIDE[own](wire) == _ABSENT[own]
    if not extras and is_alone and getattr(wire, own) not in _EMPTY_FIELDS:
        return None  # nothing but what belongs there
    fields = dict(extras.get("$", {}))
    for name in (own,) if is_alone else _FIELDS:
        value = getattr(wire, name)
        if value is UNSET or value is ABSENT:
            continue
        text = (
            bytes(value) if type(value) is Raw else b"null" if value is None else b"" if value else _json_again(value)
        )
        if text in _HOLDS_NOTHING:
            fields[name] = text
        elif name in foreign:
            fields[name] = text or _json_again(value)
    return Extras(NAME, fields) if fields else None


def _json_again(value: Any) -> bytes:
    """A decoded field as JSON again, without members that were absent."""
    if isinstance(value, list):
        return b"[" + b",".join([_json_again(item) for item in value]) + b"]"
    if not isinstance(value, msgspec.Struct):
        return bytes(value) if isinstance(value, Raw) else msgspec.json.encode(value)
    found = {name: getattr(value, name) for name in value.__struct_fields__}
    return render_object(
        {name: _json_again(item) for name, item in found.items() if item is not None and item is not ABSENT}
    )


_FOREIGN_TO_PLAIN = (
    *("tool_calls", "tool_call_id", "refusal", "reasoning_content", "reasoning", "reasoning_details"),
    *("function_call", "audio", "annotations", "prefix", "partial", "extra_content", "images"),
)
_FOREIGN_TO_ASSISTANT = ("tool_call_id",)
_THOUGHTS = (("reasoning_content", b'"'), ("reasoning", b'"'), ("reasoning_details", b"["))
"""The fields of thinking, and how what is read of them begins."""
_IN_RESULT = (tuple(name for name in _FOREIGN_TO_PLAIN if name != "tool_call_id"), "tool_call_id")
_IN_LEGACY = (_FOREIGN_TO_PLAIN, "name")
_FIELDS = ("name", *_FOREIGN_TO_PLAIN)
_BESIDE = {
    own: attrgetter(*(name for name in _FIELDS if name != own)) for own in ("name", "tool_calls", "tool_call_id")
}
_ABSENT = {own: beside(schema.ChatWireMessage("")) for own, beside in _BESIDE.items()}
_EMPTY_FIELDS: tuple[Any, ...] = (None, [])
_HOLDS_NOTHING = (b"null", b"[]", b"false")
"""`false` is a mark (`prefix`) that is not set."""


def _take_signature(extra_content: bytes, fields: dict[str, Json]) -> Opaque | None:
    """The signature of Google's. Anything else there is an extra field."""
    signature = parse_signature(extra_content, ORIGIN)
    if signature is None and extra_content:
        fields["extra_content"] = extra_content
    return signature


def parse_part(raw: bytes, at: str) -> Part:
    """One content part. One of an unknown type, or with something newer in it, is kept as it is."""
    if raw[:1] != b"{":
        raise MalformedRequest("a content part that is not an object", at=at)
    kind = parsing.kind_of(raw, at)
    if kind not in schema.PARTS:
        return Opaque(kind=kind, json=raw, origin=ORIGIN)
    known, unknown = split_unknown(raw, schema.PARTS[kind])
    try:
        wire = schema.decode_part(known)
        part = PART_PARSERS[type(wire)](wire, parsing.extras_of(NAME, unknown))
    except msgspec.DecodeError:
        part = None
    if part is None:
        _refuse_misfit(kind, known, at)
    return Opaque(kind=kind, json=raw, origin=ORIGIN) if part is None else part


def _refuse_misfit(kind: str, raw: Json, at: str) -> None:
    """Raise MalformedRequest if the member that a part is named after has a value that says nothing."""
    content = msgspec.json.decode(raw).get(kind)
    needed = _NEEDED.get(kind)
    if needed is None or isinstance(content, str):
        return
    if not isinstance(content, dict):
        raise MalformedRequest(f"{kind} is not an object", at=f"{at}/{kind}", hint=_NEEDED_HINT)
    if not any(isinstance(content.get(key), str) for key in needed):
        raise MalformedRequest(
            f"{kind} has no {needed[0]} that is a string", at=f"{at}/{kind}/{needed[0]}", hint=_NEEDED_HINT
        )


_NEEDED = {
    "image_url": ("url",),
    "video_url": ("url",),
    "document_url": ("url",),
    "input_audio": ("data",),
    "file": ("file_data", "file_id"),
}
_NEEDED_HINT = "write it as the dialect's documentation has it, or leave the part out"


def _parse_text(wire: schema.ChatText, extras: Extras | None = None) -> Part | None:
    literal = bytes(wire.text)
    return Text(literal, hint=parsing.cache_hint(wire.cache_control), extras=extras) if literal[0] == QUOTE else None


def _parse_refusal(wire: schema.ChatRefusalPart, extras: Extras | None = None) -> Part | None:
    literal = bytes(wire.refusal)
    return Refusal(literal, hint=parsing.cache_hint(wire.cache_control), extras=extras) if literal[0] == QUOTE else None


def _parse_image(wire: schema.ChatImage, extras: Extras | None = None) -> Part | None:
    return _parse_link(MediaKind.IMAGE, wire.image_url, wire.cache_control, extras)


def _parse_video(wire: schema.ChatVideo, extras: Extras | None = None) -> Part | None:
    return _parse_link(MediaKind.VIDEO, wire.video_url, wire.cache_control, extras)


def _parse_document(wire: schema.ChatDocument, extras: Extras | None = None) -> Part | None:
    return _parse_link(MediaKind.DOCUMENT, wire.document_url, wire.cache_control, extras)


def _parse_link(kind: MediaKind, link: schema.ChatUrl | str, hint: Raw, extras: Extras | None) -> Part | None:
    form = DOCUMENT_URL if kind is MediaKind.DOCUMENT else ""
    if isinstance(link, str):
        return Media(
            kind, parsing.parse_link(link), wire_form=form or BARE, hint=parsing.cache_hint(hint), extras=extras
        )
    if memoryview(link.url)[0] != QUOTE:
        return None
    detail = parsing.parse_detail(link.detail)
    headless = parsing.parse_headless_picture(link.url) if kind is MediaKind.IMAGE else None
    source = parsing.link_literal(link.url) if headless is None else headless
    form = form if headless is None else parsing.HEADLESS
    return Media(kind, source, detail=detail, wire_form=form, hint=parsing.cache_hint(hint), extras=extras)


def _parse_audio(wire: schema.ChatAudio, extras: Extras | None = None) -> Part | None:
    sound = wire.input_audio
    if isinstance(sound, str) or memoryview(sound.data)[0] != QUOTE:
        return None
    form = sound.format or ""
    named = "audio/" + _AUDIO_TYPES.get(form, form)
    data = bytes(sound.data)
    source: Inline | Remote = Inline(named, data)
    linked = data.startswith(_LINKS)
    if linked:
        link = parsing.link_literal(data)
        source = Inline(named, link.data) if isinstance(link, Inline) else link
    hint = parsing.cache_hint(wire.cache_control)
    return Media(MediaKind.AUDIO, source, wire_form=LINKED_SOUND if linked else "", hint=hint, extras=extras)


def _parse_file(wire: schema.ChatFile, extras: Extras | None = None) -> Part | None:
    identity, data, title = bytes(wire.file.file_id), bytes(wire.file.file_data), wire.file.filename
    source: Inline | Remote | Stored
    headless = None
    if identity[:1] == b'"':
        source = Stored(_decode_text(identity), parsing.OPENAI_FILES)
    elif data[:1] == b'"':
        headless = parsing.parse_headless(data, title)
        source = parsing.link_literal(data) if headless is None else headless
    else:
        return None
    form = "" if title is not None or isinstance(source, Stored) else UNTITLED
    form = parsing.HEADLESS if headless is not None else form
    named = title if title != UNTITLED else None
    hint = parsing.cache_hint(wire.cache_control)
    return Media(MediaKind.DOCUMENT, source, title=named, wire_form=form, hint=hint, extras=extras)


_AUDIO_TYPES = {"mp3": "mpeg"}

PART_PARSERS: dict[type[Any], Callable[..., Part | None]] = {
    schema.ChatText: _parse_text,
    schema.ChatRefusalPart: _parse_refusal,
    schema.ChatImage: _parse_image,
    schema.ChatAudio: _parse_audio,
    schema.ChatFile: _parse_file,
    schema.ChatVideo: _parse_video,
    schema.ChatDocument: _parse_document,
}
_PLAIN_PARTS = (schema.ChatText, schema.ChatImage)
"""Those that nearly every list holds."""
