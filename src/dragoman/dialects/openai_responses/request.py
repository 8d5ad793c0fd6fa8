"""A Responses request, both ways."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial

from msgspec import Raw
from msgspec.structs import replace

from dragoman.conversation.conversation import Ask, Conversation
from dragoman.conversation.literals import quote
from dragoman.conversation.messages import ASSISTANT, FIELD, SYSTEM, TOOL, USER, Message, Role
from dragoman.conversation.near_misses import Miss
from dragoman.conversation.parts import Call, Json, Opaque, Part, Reasoning, Result, Text
from dragoman.conversation.traits import observe_message
from dragoman.dialects.dialect import RenderOptions, RequestCodec, locate_message
from dragoman.dialects.near_misses.members import MeantMembers, MemberForm, parse_members_meant
from dragoman.dialects.near_misses.turns import MeantPart, MeantTurn, MissLog, WireForm, render_items, types_by_members
from dragoman.dialects.openai_responses import NAME, message_parse
from dragoman.dialects.openai_responses.message_render import render_messages, turn_items
from dragoman.dialects.openai_responses.schema import decode_items, open_input_part, open_output_part, open_summary
from dragoman.dialects.openai_responses.settings import PLACES, parse_top_level, render_top_level
from dragoman.dialects.shared.parsed_messages import ListParser, ParsedList
from dragoman.dialects.shared.raw_json import Fields, fields_of, items_of, text_of
from dragoman.dialects.shared.read_lists import ListReading
from dragoman.dialects.shared.rendering import BodyLayout, amend_body, render_body
from dragoman.dialects.shared.request_reader import RequestReader
from dragoman.dialects.shared.top_level import decode_value
from dragoman.dialects.shared.wire_schema import fits
from dragoman.errors import MalformedRequest
from dragoman.wire.json_reader import render_list, render_object

_STORED = ("previous_response_id", "conversation", "prompt")
"""Members beside which there need not be any input."""


def _find_members(found: Mapping[str, Raw], form: MemberForm) -> MeantMembers:
    return MeantMembers(found, form.messages) if _is_stored(found) else parse_members_meant(found, form)


def _is_stored(found: Mapping[str, Raw]) -> bool:
    return any(key in found for key in _STORED)


def _parse_input(raw: Raw | None, meant: MeantMembers, reading: ListReading | None) -> ParsedList:
    """A text alone is a message of the user."""
    first = bytes(memoryview(raw)[:1]) if raw is not None else b"n"
    if first == b"n" and not _is_stored(meant.found):
        raise MalformedRequest("there is no input", at="/input", hint='a Responses request has "input"')
    if raw is not None and first == b'"' and meant.list_name == "input":
        return ParsedList([observe_message(Message(USER, (Text(bytes(raw)),), 0))])
    if raw is None or (first == b"n" and meant.list_name == "input"):
        return ParsedList([])
    if first not in (b"[", b"{", b'"'):
        raise MalformedRequest("input is neither a string nor a list of items", at="/input")
    return message_parse.settle(LIST.parse(raw, meant.list_name, reading))


locate = partial(locate_message, list_name="input", system="instructions")


def locate_parts(message: Message) -> list[str]:
    """The pointers to all parts of a message. An assistant's turn may be several items."""
    at, count = f"/input/{message.at}", len(message.parts)
    if message.at == FIELD:
        return ["/instructions"] * count
    if message.role is TOOL:
        return [f"/input/{message.at + part}" for part in range(count)]
    if message.role is not ASSISTANT:
        if _is_approval(message):
            return [at]
        return [f"{at}/content/{part}" for part in range(count)] if message.listed else [f"{at}/content"] * count
    pointers: list[str] = []
    for index, parts in enumerate(turn_items(message.parts)):
        at = f"/input/{message.at + index}"
        pointers += [f"{at}/content/{place}" for place in range(len(parts))] if len(parts) > 1 else [at]
    return pointers


def _is_approval(message: Message) -> bool:
    """Whether an item of the user's without content stands alone in a turn."""
    first = message.parts[0] if len(message.parts) == 1 else None
    return type(first) is Opaque and first.kind in message_parse.USER_ITEMS - {message_parse.AGENT_MESSAGE}


LAYOUT = BodyLayout("input", True, render_top_level, render_messages)


def render_request(conversation: Conversation, options: RenderOptions, ask: Ask | None = None) -> bytes:
    """The body: amended if `ask` is the client's own request in this dialect, else a new one."""
    if ask is None:
        return render_body(LAYOUT, conversation, options)
    if conversation.messages is not ask.conversation.messages:
        items = _list_items(bytes(ask.members.get("input", b"")))
        ask = replace(ask, members={**ask.members, "input": items})
    return amend_body(LAYOUT, ask, conversation, options)


def _list_items(raw: bytes) -> bytes:
    """The input as a list of items, so that single items of it can be amended."""
    if raw[:1] == b'"':
        return b'[{"type":"message","role":"user","content":' + raw + b"}]"
    return raw if raw[:1] == b"[" else b"[]"


# How what does not fit is written


def _render_turn(turn: MeantTurn) -> list[Json]:
    """Texts and media as a message, calls and results as items of their own, in their order."""
    return render_items(_messages(turn), render_messages)


def _messages(turn: MeantTurn) -> list[Message]:
    """Runs of results, of the model's parts and of the user's."""
    found: list[Message] = []
    run: list[Part] = []
    role, usual = turn.role, _find_speaker(turn)
    for piece in turn.pieces:
        part = _interpret_part(piece)
        speaker = TOOL if type(part) is Result else ASSISTANT if isinstance(part, (Call, Reasoning)) else usual
        if run and speaker is not role:
            found.append(_make_message(role, run, turn))
            run = []
        role = speaker
        run.append(part)
    return [*found, _make_message(role, run, turn)]


def _find_speaker(turn: MeantTurn) -> Role:
    """Whose words those of a turn are."""
    called = any(type(piece.meant) is Call for piece in turn.pieces)
    return ASSISTANT if called else USER if turn.role is TOOL else turn.role


def _make_message(role: Role, parts: list[Part], turn: MeantTurn) -> Message:
    listed = turn.listed and role is not ASSISTANT and role is not TOOL
    return Message(role, tuple(parts), listed=listed, inline=role is SYSTEM, role_text=turn.role_text)


def _interpret_part(piece: MeantPart) -> Part:
    if piece.kept is not None:
        return message_parse.parse_part(piece.kept, "/0")
    assert piece.meant is not None
    return piece.meant


def _repair_item(item: Json, log: MissLog) -> Json | None:
    """A compaction under its old name; reasoning without its summary; an item with a null that it does not take. Raises
    MalformedRequest if the summary is none."""
    fields = fields_of(item)
    if fields is not None and text_of(fields.get("type")) == message_parse.OLD_COMPACTION:
        log.note(Miss.PART)
        return render_object({**fields, "type": b'"compaction"'})
    if fields is not None and "type" not in fields and "summary" in fields and "role" not in fields:
        log.note(Miss.PART)  # nothing else has a summary
        fields = {"type": b'"reasoning"', **fields}
        return _repair_item(render_object(fields), log) or render_object(fields)
    kind = text_of(fields.get("type")) if fields is not None else ""
    if fields is None or kind not in _NOT_NULL:
        return None
    null = next((name for name in _NOT_NULL[kind] if fields.get(name) == b"null"), None)
    if null is not None:
        log.note(Miss.NULL, f"/{null}", fields.pop(null))
        return _repair_item(render_object(fields), log) or render_object(fields)
    if kind != "reasoning":
        return None
    if fields.get("summary", b"null") != b"null":
        return _repair_summary(fields, log)
    log.note(Miss.NULL if "summary" in fields else Miss.CONTENT)
    return render_object({**fields, "summary": b"[]"})


_NOT_NULL = {
    "reasoning": ("content", "id", "status"),
    "function_call": ("namespace", "id"),
    "custom_tool_call": ("namespace", "id"),
    "function_call_output": ("id",),
    "custom_tool_call_output": ("id",),
}
"""Members of an item that SDKs write as null, and that are a value or absent."""


def _repair_summary(fields: Fields, log: MissLog) -> Json | None:
    """Reasoning whose summary is made of texts in another form. Raises MalformedRequest if it is not."""
    given = fields["summary"]
    listed = [given] if given[:1] in (b'"', b"{") else items_of(given) or []
    texts = [text_of(item) or text_of((fields_of(item) or {}).get("text")) for item in listed]
    if not all(texts) or fits(open_summary, given):
        decode_value(open_summary, given, f"{log.at}/summary")
        return None
    log.note(Miss.PART, "/summary")
    pieces = [b'{"type":"summary_text","text":' + quote(text) + b"}" for text in texts]
    return render_object({**fields, "summary": render_list(pieces)})


def _open_part(raw: Json, role: Role) -> object:
    return (open_output_part if role is ASSISTANT else open_input_part)(raw)


def _render_instructions(texts: list[Json]) -> Json:
    """Several texts stay apart, each a system message: whether and how they are joined is a choice."""
    return texts[0] if len(texts) == 1 else render_list(texts)


MEMBERS = MemberForm("input", "instructions", lambda raw: raw[:1] in (b'"', b"n"), _render_instructions)
FORM = WireForm(
    name=NAME,
    list_name="input",
    content_name="content",
    roles=frozenset({"user", "assistant", "system", "developer"}),
    fits=message_parse.fits_item,
    fits_part=lambda raw, role: fits(lambda part: _open_part(part, role), raw),
    render=_render_turn,
    repair_item=_repair_item,
    has_items=True,
    optional={"id": b'"', "status": b'"', "type": b'"'},
    decode_part=_open_part,
    part_types=types_by_members(
        input_text="text",
        output_text="text",
        refusal="refusal",
        input_image="image_url|file_id",
        input_file="file_data|file_url|file_id",
    ),
)
LIST = ListParser(FORM, message_parse.parse_item, message_parse.parse_odd_item, decode_items, message_parse.parse_turn)
READER = RequestReader(
    "a Responses request",
    MEMBERS,
    LIST,
    parse_top_level,
    parse_system=message_parse.parse_system,
    find_members=_find_members,
    parse_list=_parse_input,
)
REQUESTS = RequestCodec(READER.parse, render_request, locate_parts, PLACES, locate)
