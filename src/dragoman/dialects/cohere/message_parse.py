"""Cohere's messages to ours.

The words before a call stand in `tool_plan`. They are the assistant's text, as in any other dialect.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import msgspec
from msgspec import Raw

from dragoman.conversation import traits
from dragoman.conversation.collect import arguments_of
from dragoman.conversation.literals import EMPTY, join_texts, quote, unquote
from dragoman.conversation.messages import ASSISTANT, FIELD, SYSTEM, TOOL, USER, Message, Role
from dragoman.conversation.parts import (
    Call,
    Citation,
    Extras,
    Json,
    Media,
    MediaKind,
    Opaque,
    Part,
    Plain,
    Reasoning,
    Result,
    Text,
)
from dragoman.conversation.traits import CODES, ObservedMessage, observe_message, observe_result
from dragoman.dialects.cohere import NAME, ORIGIN, schema
from dragoman.dialects.shared.media_links import LONG, parse_links
from dragoman.dialects.shared.parsed_messages import QUOTE, ParsedList, is_blank, join_results, share_places
from dragoman.dialects.shared.parsing import extras_of, kind_of, link_literal, make_id, parse_detail, parse_listed
from dragoman.dialects.shared.raw_json import ABSENT, NOTHING
from dragoman.dialects.shared.top_level import decode_value
from dragoman.dialects.shared.wire_schema import split_unknown
from dragoman.errors import MalformedRequest
from dragoman.wire.json_reader import render_object, salvage, split_items, split_members

THINKING = "thinking"
"""The field of thinking, if a dialect has several."""

_KINDS: Mapping[str, type[Any]] = {
    "user": schema.CohereUser,
    "assistant": schema.CohereAssistant,
    "tool": schema.CohereResult,
    "system": schema.CohereSystem,
}
_ROLES: Mapping[type, Role] = {schema.CohereUser: USER, schema.CohereSystem: SYSTEM}

ExtraFields = Mapping[str, Mapping[str, Json]]
_decode_text = msgspec.json.Decoder(str).decode


def parse_turn(turn: Any, index: int) -> Sequence[ObservedMessage] | None:
    """A message that is decoded. What stayed raw in it is not yet checked."""
    content = bytes(turn.content)
    kind = type(turn)
    try:
        if kind is schema.CohereAssistant:
            return _parse_assistant(turn, content, index)
        if content[:1] == b'"':
            parts: Sequence[Part] | None = (Text(content),)
        else:
            parts = _parse_listed(content, kind) if content[:1] == b"[" else None
    except msgspec.DecodeError:
        return None
    if parts is None:
        return None
    listed = content[:1] == b"["
    if kind is schema.CohereResult:
        identity = turn.tool_call_id
        if not identity:
            return None
        result = Result(identity, tuple(parts), False, None, listed)
        seen = observe_result(result) if listed else traits.BLANK_TEXT if is_blank(content) else 0
        return (ObservedMessage(Message(TOOL, (result,), index), seen, "t", [identity]),)
    role = _ROLES[kind]
    message = Message(role, tuple(parts), index, listed=listed)
    if listed:
        return (observe_message(message),)
    return (ObservedMessage(message, traits.BLANK_TEXT if is_blank(content) else 0, CODES[role]),)


def _parse_assistant(turn: schema.CohereAssistant, content: Json, index: int) -> Sequence[ObservedMessage] | None:
    calls = turn.tool_calls or ()
    parts: list[Part] = []
    listed = False
    if not calls or content not in _NO_TEXT or turn.tool_plan is not ABSENT or turn.citations is not ABSENT:
        stated = _parse_stated(turn, content)
        if stated is None:
            return None
        parts = _gather_words(turn, stated)
        if len(content) > LONG:
            parts = [*parse_links(tuple(parts))]
        listed = _is_listed(turn, stated, content[:1] == b"[")
    for call in calls:
        function, identity = call.function, call.id
        if function is None or not identity or call.type != "function" or function.arguments is ABSENT:
            return None
        if memoryview(function.arguments)[0] != QUOTE:
            return None
        parts.append(Call(identity, function.name, arguments_of(_decode_text(function.arguments))))
    return (observe_message(Message(ASSISTANT, tuple(parts), index, listed=listed)),)


def _parse_stated(turn: schema.CohereAssistant, content: Json) -> Sequence[Part] | None:
    """The content of a turn whose members fit the schema; None if one of them does not."""
    if bytes(turn.tool_plan)[:1] not in b'"n' or bytes(turn.citations)[:1] not in b"[n":
        return None
    if content[:1] == b'"':
        return (Text(content),)
    if content in NOTHING:
        return ()
    return _parse_listed(content, schema.CohereAssistant) if content[:1] == b"[" else None


_NO_TEXT = (b"", b"null", EMPTY)
"""What may stand for the content of a turn of nothing but calls."""


class _CohereRole(msgspec.Struct, gc=False):
    role: str


_decode_role = msgspec.json.Decoder(_CohereRole).decode
_DECODERS: Mapping[str, Any] = {role: msgspec.json.Decoder(kind) for role, kind in _KINDS.items()}


def parse_odd_item(raw: Json, index: int) -> Sequence[ObservedMessage]:
    """A message with members or parts that the schema does not name, or with a role that nobody knows."""
    at = f"/messages/{index}"
    role = decode_value(_decode_role, raw, at).role
    role_text = "" if role in _KINDS else role
    if role_text:
        role, raw = "user", render_object({**split_members(raw, at), "role": b'"user"'})
    salvaged = salvage(raw, _DECODERS[role], at)
    turn = salvaged.value
    content = bytes(turn.content)
    parts = (Text(content),) if content[:1] == b'"' else _parse_parts(content, f"{at}/content")
    return (
        observe_message(
            _compose(turn, parts, index, listed=content[:1] == b"[", extras=salvaged.extras, role_text=role_text)
        ),
    )


def _compose(
    turn: schema.CohereMessage,
    parts: tuple[Part, ...],
    index: int,
    *,
    listed: bool,
    extras: ExtraFields,
    role_text: str,
) -> Message:
    """The message of these parts, which were its content."""
    others = _gather_extras(extras.get("$", {}))
    if type(turn) is schema.CohereAssistant:
        words = _gather_words(turn, parts)
        calls = [_parse_call(call, number, index, extras) for number, call in enumerate(turn.tool_calls or ())]
        listed = _is_listed(turn, parts, listed)
        return Message(ASSISTANT, (*words, *calls), index, extras=others, listed=listed)
    if type(turn) is schema.CohereResult:
        if turn.tool_call_id is None:
            raise MalformedRequest(
                "a tool message without the id of its call",
                at=f"/messages/{index}/tool_call_id",
                hint="repeat the id of the tool call it answers",
            )
        return Message(TOOL, (Result(turn.tool_call_id, parts, listed=listed, extras=others),), index)
    return Message(_ROLES[type(turn)], parts, index, extras=others, listed=listed, role_text=role_text)


def _gather_words(turn: schema.CohereAssistant, stated: Sequence[Part]) -> list[Part]:
    """The content, the plan and the citations."""
    parts: list[Part] = [] if _is_nothing(turn, stated) else _one_thought(stated)
    plan, citations = bytes(turn.tool_plan), bytes(turn.citations)
    if plan[:1] == b'"' and plan != EMPTY:
        parts.append(Text(plan))
    if citations[:1] == b"[":
        parts += [Citation(json=bytes(item), origin=ORIGIN) for item in split_items(citations)]
    return parts


def _parse_call(wire: schema.CohereCall, number: int, index: int, extras: ExtraFields) -> Call:
    function = wire.function
    if function is None:
        place = f"/messages/{index}/tool_calls/{number}/function"
        raise MalformedRequest("a tool call without its function", at=place)
    identity = wire.id or make_id(index * _MOST_CALLS + number, function.name)
    arguments = _parse_arguments(bytes(function.arguments))
    at = f"$.tool_calls[{number}]"
    fields = {**extras.get(at, {}), **extras.get(f"{at}.function", {})}
    return Call(identity, function.name, arguments, extras=extras_of(NAME, fields))


_MOST_CALLS = 1024
"""Calls of one message, which have their own ids if it gives them none."""


def _parse_arguments(raw: Json) -> Json:
    """An argument string as the object that it holds. An object in its place is taken as it is."""
    if raw[:1] != b'"':
        return b"{}" if raw in NOTHING else raw
    return arguments_of(unquote(raw))


def _one_thought(parts: Sequence[Part]) -> list[Part]:
    """The parts with all thinking in one. Cohere's answers have one such part; who sends back several gets one turn."""
    thoughts = [part for part in parts if type(part) is Reasoning and part.text is not None] if len(parts) > 1 else []
    if len(thoughts) < 2:
        return [*parts]
    text = join_texts("\n", [part.text.literal for part in thoughts if part.text is not None])
    surplus = {id(part) for part in thoughts[1:]}
    rest = [part for part in parts if id(part) not in surplus]
    return [Reasoning(text=Text(text), field=THINKING) if part is thoughts[0] else part for part in rest]


def _is_nothing(turn: schema.CohereAssistant, stated: Sequence[Part]) -> bool:
    """Whether this is the empty text that clients write beside calls."""
    only = stated[0] if turn.tool_calls and len(stated) == 1 else None
    return type(only) is Text and only.literal == EMPTY and only.extras is None


def _is_listed(turn: schema.CohereAssistant, stated: Sequence[Part], listed: bool) -> bool:
    """Whether a list has words in it, since thinking alone is always written as a list, or a plan stands beside words,
    which are two texts then."""
    planned = bytes(turn.tool_plan) not in (b"", b"null", EMPTY)
    says = any(type(part) is not Reasoning for part in stated) and not _is_nothing(turn, stated)
    return says and (listed or planned)


_ELSEWHERE = ("tool_calls", "tool_plan", "citations", "tool_call_id")
"""Members of messages of some role."""
_EMPTY = (b"null", b"[]", b'""')


def _gather_extras(unknown: Mapping[str, Json]) -> Extras | None:
    """Unknown fields, and known ones that have no meaning on this role. Those that hold nothing are left out."""
    fields = {name: value for name, value in unknown.items() if name not in _ELSEWHERE}
    fields |= {name: unknown[name] for name in _ELSEWHERE if name in unknown and unknown[name] not in _EMPTY}
    return extras_of(NAME, fields)


def settle(listed: ParsedList, documents: Message | None) -> ParsedList:
    """Make one message of consecutive results, and put the documents of the request before the first turn: all of the
    conversation may be about them."""
    done = join_results(listed.messages)
    if listed.misses:
        done = share_places(done)
    if documents is not None:
        opening = next((place for place, one in enumerate(done) if one.code != "s"), len(done))
        done.insert(opening, observe_message(documents))
    return listed.settled(done, alone=documents is None)


# Parts


def _parse_listed(content: Json, kind: type[schema.CohereMessage]) -> Sequence[Part] | None:
    """The parts of a list. None, or DecodeError, if one of them does not fit the schema."""
    parts: list[Part] = []
    for wire in schema.decode_parts[kind](content):
        if type(wire) is schema.CohereDocument:
            schema.decode_content(wire.document)
        elif type(wire) is schema.CohereImage and wire.image_url.detail is None:
            return None
        part = PARSERS[type(wire)](wire, None)
        if part is None:
            return None
        parts.append(part)
    return parts


def _parse_parts(content: Json, at: str) -> tuple[Part, ...]:
    """A list of parts of any kind."""
    return tuple(parse_listed(content, at, _parse_part))


def _parse_part(raw: Json, at: str) -> Part:
    """A part. Members that its type does not name become extra fields; one of an unknown form is kept as it is."""
    if raw[:1] != b"{":
        raise MalformedRequest("a content part that is not an object", at=at)
    members = split_members(raw, at)
    kind = "text" if "text" in members and "type" not in members else kind_of(raw, at)
    part = None
    if kind in _PARTS:
        known, unknown = split_unknown(raw, _PARTS[kind])
        others = {name: value for name, value in unknown.items() if name not in _PARTS}
        try:
            wire = msgspec.json.decode(known, type=_PARTS[kind])
            part = PARSERS[_PARTS[kind]](wire, extras_of(NAME, others))
        except msgspec.DecodeError:
            part = None
    return part if part is not None else Opaque(kind=kind, json=raw, origin=ORIGIN)


def _parse_text(wire: schema.CohereText, extras: Extras | None) -> Part | None:
    literal = bytes(wire.text)
    return Text(literal, extras=extras) if literal[:1] == b'"' else None


def _parse_thinking(wire: schema.CohereThinking, extras: Extras | None) -> Part | None:
    literal = bytes(wire.thinking)
    return Reasoning(text=Text(literal), field=THINKING, extras=extras) if literal[:1] == b'"' else None


def _parse_image(wire: schema.CohereImage, extras: Extras | None) -> Part | None:
    link = wire.image_url
    if memoryview(link.url)[0] != QUOTE:
        return None
    return Media(MediaKind.IMAGE, link_literal(link.url), detail=parse_detail(link.detail), extras=extras)


def _parse_document(wire: schema.CohereDocument, extras: Extras | None) -> Part | None:
    raw = bytes(wire.document)
    return parse_document(raw) if raw[:1] == b"{" and extras is None else None


_PARTS: Mapping[str, type[Any]] = {
    "text": schema.CohereText,
    "thinking": schema.CohereThinking,
    "image_url": schema.CohereImage,
    "document": schema.CohereDocument,
}
"""By their types, each of which is also the name of the member that holds what the part says."""
PARSERS: Mapping[type[Any], Callable[[Any, Extras | None], Part | None]] = {
    schema.CohereText: _parse_text,
    schema.CohereThinking: _parse_thinking,
    schema.CohereImage: _parse_image,
    schema.CohereDocument: _parse_document,
}


# Documents: those of the whole request, and those that a tool gave back. A document is a text, or an object. Its data
# is a text, or an object whose members the model reads by name. One with nothing but a title and a text is both to us;
# any other object is the text of its JSON.

BARE, TEXT, OBJECT = "bare", "text", "object"
"""Spellings: a text in place of the document, a text as its data, and an object with members of its own."""
INSIDE = "document."
"""How the names of a document's further members begin, such as its id."""
_USUAL = frozenset({"title", "text"})


def parse_documents(raw: bytes) -> Message | None:
    """The documents of a request as a user's turn of their own; None if there are none, or in an unknown form."""
    if raw[:1] != b"[":
        return None
    parts = [parse_document(bytes(item)) for item in split_items(raw, "/documents")]
    known: list[Part] = [part for part in parts if part is not None]
    return Message(USER, tuple(known), FIELD, listed=True) if known and len(known) == len(parts) else None


def parse_document(raw: bytes) -> Media | None:
    """One document, or None if it has another form."""
    if raw[:1] == b'"':
        return Media(MediaKind.DOCUMENT, Plain(raw), wire_form=BARE)
    wire = split_members(raw) if raw[:1] == b"{" else {}
    content = bytes(wire.get("data", b""))
    others = extras_of(NAME, {INSIDE + key: bytes(value) for key, value in wire.items() if key != "data"})
    if content[:1] == b'"':
        return Media(MediaKind.DOCUMENT, Plain(content), wire_form=TEXT, extras=others)
    if content[:1] != b"{":
        return None
    title, text = _find_usual_members(split_members(content))
    if text is None:
        return Media(MediaKind.DOCUMENT, Plain(quote(content.decode())), wire_form=OBJECT, extras=others)
    return Media(MediaKind.DOCUMENT, Plain(text), title, extras=others)


def _find_usual_members(members: Mapping[str, Raw]) -> tuple[str | None, Json | None]:
    """The title and the text, if there is nothing else."""
    literals = {key: bytes(value) for key, value in members.items()}
    plain = all(value[:1] == b'"' for value in literals.values())
    if not plain or literals.keys() - _USUAL or "text" not in literals:
        return None, None
    return unquote(literals["title"]) if "title" in literals else None, literals["text"]
