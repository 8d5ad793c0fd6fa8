"""What fits the schema of Responses, and how a turn is written that did not."""

from __future__ import annotations

from typing import Annotated, Literal

import msgspec
from msgspec import UNSET, Meta, Raw, UnsetType

from dragoman.conversation.literals import quote
from dragoman.conversation.messages import ASSISTANT, SYSTEM, TOOL, USER, Message, Role
from dragoman.conversation.near_misses import Miss
from dragoman.conversation.parts import Call, Json, Part, Reasoning, Result
from dragoman.dialects.near_misses.fitting import fits
from dragoman.dialects.near_misses.loose_json import Fields, fields_of, items_of, text_of
from dragoman.dialects.near_misses.members import MemberForm
from dragoman.dialects.near_misses.parts import fits_items
from dragoman.dialects.near_misses.tools import NO_ARGUMENTS, MeantTool, ToolForm
from dragoman.dialects.near_misses.turns import MeantPart, MeantTurn, MissLog, WireForm
from dragoman.dialects.openai_responses import NAME
from dragoman.dialects.openai_responses.content import parse_content
from dragoman.dialects.openai_responses.message_render import render_messages
from dragoman.dialects.raw_json import UNREADABLE
from dragoman.dialects.rendering import Pieces
from dragoman.dialects.top_level import decoded
from dragoman.wire.json_reader import render_list, render_object


class _ResponsesSchemaInputText(msgspec.Struct, gc=False, tag="input_text"):
    text: str


class _ResponsesSchemaOutputText(msgspec.Struct, gc=False, tag="output_text"):
    text: str
    annotations: list[dict[str, Raw]] | UnsetType = UNSET


class _ResponsesSchemaRefusal(msgspec.Struct, gc=False, tag="refusal"):
    refusal: str


class _ResponsesSchemaImage(msgspec.Struct, gc=False, tag="input_image"):
    image_url: str | None = None
    file_id: str | None = None
    detail: str | UnsetType = UNSET


class _ResponsesSchemaFile(msgspec.Struct, gc=False, tag="input_file"):
    file_id: str | None = None
    file_data: str | UnsetType = UNSET
    filename: str | UnsetType = UNSET


class _ResponsesSchemaAudio(msgspec.Struct, gc=False, tag="input_audio"):
    input_audio: dict[str, Raw]


_OutputParts = _ResponsesSchemaOutputText | _ResponsesSchemaRefusal
_InputParts = _ResponsesSchemaInputText | _ResponsesSchemaImage | _ResponsesSchemaFile | _ResponsesSchemaAudio


class _ResponsesSchemaSummary(msgspec.Struct, gc=False, forbid_unknown_fields=True):
    type: Literal["summary_text"]
    text: str


class _ResponsesSchemaItem(msgspec.Struct, gc=False):
    """The members that say what an item is. What must be there depends on its type."""

    type: str | UnsetType = UNSET
    id: str | UnsetType = UNSET
    status: str | UnsetType | None = UNSET
    role: str | None = None
    content: Raw | UnsetType = UNSET
    parts: UnsetType = UNSET
    tool_calls: UnsetType = UNSET
    tool_call_id: UnsetType = UNSET
    call_id: str | None = None
    name: str | None = None
    arguments: Raw = Raw()
    output: Raw = Raw()
    summary: Raw = Raw()


_decode_item = msgspec.json.Decoder(_ResponsesSchemaItem).decode
_decode_items = msgspec.json.Decoder(list[_ResponsesSchemaItem]).decode
_decode_output = msgspec.json.Decoder(str | list[_OutputParts]).decode
_decode_input = msgspec.json.Decoder(str | list[_InputParts]).decode
_decode_output_part = msgspec.json.Decoder(_OutputParts).decode
_decode_input_part = msgspec.json.Decoder(_InputParts).decode
_decode_summary = msgspec.json.Decoder(list[_ResponsesSchemaSummary]).decode
_ROLES = frozenset({"user", "assistant", "system", "developer"})
_PARTS = frozenset(
    {
        *("text", "image_url", "image", "input_text", "output_text", "input_image", "tool_use", "tool_result"),
        *("human", "ai", "system", "user", "assistant"),
    }
)
"""Types of parts and messages that are no items of Responses."""
_NULL = Raw(b"null")
_OUTPUTS = ("function_call_output", "custom_tool_call_output")


def fits_output(raw: Json) -> bool:
    """Whether the output of a call fits the schema."""
    return fits(_decode_input, raw) or fits_items(raw, lambda item: _fits_part(item, TOOL))


def _fits_list(raw: Json) -> bool:
    try:
        return all(map(_is_whole, _decode_items(raw)))
    except UNREADABLE:
        return False


def _fits(item: Json) -> bool:
    try:
        return _is_whole(_decode_item(item))
    except UNREADABLE:
        return False


def _is_whole(item: _ResponsesSchemaItem) -> bool:
    """Whether an item has what its type needs. Types that are not known here are not looked at."""
    kind = item.type
    if kind == "message" or (kind is UNSET and item.role is not None):
        return item.role in _ROLES and item.status is not None and _fits_content(item)
    if kind == "function_call":
        return bool(item.call_id) and item.name is not None and bytes(item.arguments)[:1] == b'"'
    if kind in _OUTPUTS:
        return bool(item.call_id) and fits_output(bytes(item.output))
    if kind == "reasoning":
        return item.content != _NULL and bytes(item.summary)[:1] == b"[" and _fits_summary(item.summary)
    return kind is not UNSET and kind not in _PARTS


def _fits_summary(raw: Raw) -> bool:
    _decode_summary(raw)
    return True


def _fits_content(item: _ResponsesSchemaItem) -> bool:
    if item.content is UNSET:
        return False
    decode = _decode_output if item.role == "assistant" else _decode_input
    decode(item.content)
    return True


def _fits_part(item: Json, role: Role) -> bool:
    return fits(_decode_output_part if role is ASSISTANT else _decode_input_part, item)


def _render_turn(turn: MeantTurn) -> list[Json]:
    """Texts and media as a message, calls and results as items of their own, in their order."""
    out: Pieces = []
    messages = list(_messages(turn))
    render_messages(messages, 0, len(messages), out)
    return items_of(b"[" + b"".join(out)[1:] + b"]") or []


def _messages(turn: MeantTurn) -> list[Message]:
    """Runs of results, of the model's parts and of the user's."""
    found: list[Message] = []
    run: list[Part] = []
    role = turn.role
    for piece in turn.pieces:
        part = _part(piece)
        speaker = TOOL if type(part) is Result else ASSISTANT if isinstance(part, (Call, Reasoning)) else _speaker(turn)
        if run and speaker is not role:
            found.append(_message(role, run, turn))
            run = []
        role = speaker
        run.append(part)
    return [*found, _message(role, run, turn)]


def _speaker(turn: MeantTurn) -> Role:
    called = any(type(piece.meant) is Call for piece in turn.pieces)
    return ASSISTANT if called else USER if turn.role is TOOL else turn.role


def _message(role: Role, parts: list[Part], turn: MeantTurn) -> Message:
    listed = turn.listed and role is not ASSISTANT and role is not TOOL
    return Message(role, tuple(parts), listed=listed, inline=role is SYSTEM, role_text=turn.role_text)


def _part(piece: MeantPart) -> Part:
    if piece.kept is not None:
        return parse_content(b"[" + piece.kept + b"]", "")[0]
    assert piece.meant is not None
    return piece.meant


class _ResponsesSchemaTool(msgspec.Struct, gc=False):
    """A tool. What it must have depends on its type."""

    type: str
    name: Annotated[str, Meta(min_length=1)] | UnsetType = UNSET
    function: UnsetType = UNSET
    parameters: dict[str, Raw] | None = None
    description: str | None = None
    strict: bool | None = None


class _ResponsesSchemaOwnTool(msgspec.Struct, gc=False, tag="function"):
    """A function in the form of Responses."""

    name: Annotated[str, Meta(min_length=1)]
    parameters: dict[str, Raw] | None
    description: str | None = None
    strict: bool | None = None


_decode_own_tool = msgspec.json.Decoder(_ResponsesSchemaOwnTool).decode
_decode_tool = msgspec.json.Decoder(_ResponsesSchemaTool).decode


def _fits_tool(entry: Json) -> bool:
    """Whether a tool has the form of Responses, or is a provider's own."""
    try:
        tool = _decode_tool(entry)
    except UNREADABLE:
        return False
    return tool.type != "function" or tool.name is not UNSET


def _render_tool(tool: MeantTool) -> Json:
    entry: dict[str, Json] = {"type": b'"function"', "name": quote(tool.name)}
    if tool.description is not None:
        entry["description"] = tool.description
    entry["parameters"] = tool.schema or NO_ARGUMENTS
    if tool.strict is not None:
        entry["strict"] = tool.strict
    return render_object(entry)


def _repair_item(item: Json, log: MissLog) -> Json | None:
    """Reasoning without its summary, or with null as its content. Raises MalformedRequest where the summary is none."""
    fields = fields_of(item)
    if fields is None or fields.get("type") != b'"reasoning"':
        return None
    if fields.get("content") == b"null":
        log.note(Miss.NULL, "/content", fields.pop("content"))
        return _repair_item(render_object(fields), log) or render_object(fields)
    if fields.get("summary", b"null") != b"null":
        return _repair_summary(fields, log)
    log.note(Miss.NULL if "summary" in fields else Miss.CONTENT)
    return render_object({**fields, "summary": b"[]"})


def _repair_summary(fields: Fields, log: MissLog) -> Json | None:
    """Reasoning whose summary is made of texts in another form. Raises MalformedRequest where it is not."""
    given = fields["summary"]
    listed = [given] if given[:1] in (b'"', b"{") else items_of(given) or []
    texts = [text_of(item) or text_of((fields_of(item) or {}).get("text")) for item in listed]
    if not all(texts) or fits(_decode_summary, fields["summary"]):
        decoded(_decode_summary, fields["summary"], f"{log.at}/summary")
        return None
    log.note(Miss.PART, "/summary")
    pieces = [b'{"type":"summary_text","text":' + quote(text) + b"}" for text in texts]
    return render_object({**fields, "summary": render_list(pieces)})


TOOLS = ToolForm(_fits_tool, _render_tool, decode=_decode_own_tool)


def _render_instructions(texts: list[Json]) -> Json:
    """Several texts stay apart, each a system message: whether and how they are joined is a choice."""
    return texts[0] if len(texts) == 1 else render_list(texts)


MEMBERS = MemberForm("input", "instructions", lambda raw: raw[:1] in (b'"', b"n"), _render_instructions)
FORM = WireForm(
    name=NAME,
    list_name="input",
    content_name="content",
    roles=_ROLES,
    fits_list=_fits_list,
    fits=_fits,
    fits_part=_fits_part,
    render=_render_turn,
    repair_item=_repair_item,
    has_items=True,
    optional={"id": b'"', "status": b'"', "type": b'"'},
    decode_part=lambda item, role: (_decode_output_part if role is ASSISTANT else _decode_input_part)(item),
)
