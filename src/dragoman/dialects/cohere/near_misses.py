"""What fits Cohere's schema, and how a turn is written that did not."""

from __future__ import annotations

from functools import partial
from typing import Annotated

import msgspec
from msgspec import UNSET, Meta, Raw, UnsetType

from dragoman.conversation.literals import quote
from dragoman.conversation.messages import ASSISTANT, TOOL, USER, Message, Role
from dragoman.conversation.parts import Call, Json, Opaque, Part, Result
from dragoman.dialects.cohere import NAME, ORIGIN
from dragoman.dialects.cohere.message_render import render_messages
from dragoman.dialects.near_misses.fitting import fits
from dragoman.dialects.near_misses.loose_json import items_of
from dragoman.dialects.near_misses.members import MemberForm
from dragoman.dialects.near_misses.tools import NO_ARGUMENTS, MeantTool, ToolForm
from dragoman.dialects.near_misses.turns import MeantPart, MeantTurn, WireForm
from dragoman.dialects.rendering import Pieces
from dragoman.wire.json_reader import render_object

_Id = Annotated[str, Meta(min_length=1)]


class _CohereSchemaFunction(msgspec.Struct, gc=False):
    name: str
    arguments: str


class _CohereSchemaCall(msgspec.Struct, gc=False, tag="function"):
    id: _Id
    function: _CohereSchemaFunction


class _CohereSchemaText(msgspec.Struct, gc=False, tag="text"):
    text: str


class _CohereSchemaThinking(msgspec.Struct, gc=False, tag="thinking"):
    thinking: str


class _CohereSchemaUrl(msgspec.Struct, gc=False, forbid_unknown_fields=True):
    url: Raw
    detail: str | UnsetType = UNSET


class _CohereSchemaImage(msgspec.Struct, gc=False, tag="image_url"):
    image_url: _CohereSchemaUrl


class _CohereSchemaData(msgspec.Struct, gc=False):
    data: dict[str, Raw] | str
    id: str | UnsetType | None = UNSET


class _CohereSchemaDocument(msgspec.Struct, gc=False, tag="document"):
    document: _CohereSchemaData


_UserPart = _CohereSchemaText | _CohereSchemaImage
_AssistantPart = _CohereSchemaText | _CohereSchemaThinking
_ResultPart = _CohereSchemaText | _CohereSchemaDocument


class _CohereSchemaSystem(msgspec.Struct, gc=False, tag="system", tag_field="role"):
    content: str | list[_CohereSchemaText]
    tool_calls: Raw | UnsetType = UNSET
    parts: UnsetType = UNSET


class _CohereSchemaUser(msgspec.Struct, gc=False, tag="user", tag_field="role"):
    content: str | list[_UserPart]
    tool_calls: Raw | UnsetType = UNSET
    parts: UnsetType = UNSET


class _CohereSchemaAssistant(msgspec.Struct, gc=False, tag="assistant", tag_field="role"):
    content: str | list[_AssistantPart] | None = None
    tool_calls: list[_CohereSchemaCall] | None = None
    tool_plan: str | None = None
    citations: list[Raw] | None = None
    parts: UnsetType = UNSET
    blocks: UnsetType = UNSET
    text: UnsetType = UNSET
    message: UnsetType = UNSET


class _CohereSchemaResult(msgspec.Struct, gc=False, tag="tool", tag_field="role"):
    content: str | list[_ResultPart]
    tool_call_id: _Id


_Message = _CohereSchemaSystem | _CohereSchemaUser | _CohereSchemaAssistant | _CohereSchemaResult
_decode_message = msgspec.json.Decoder(_Message).decode
_decode_messages = msgspec.json.Decoder(list[_Message]).decode
_PARTS = {
    Role.USER: msgspec.json.Decoder(_UserPart).decode,
    Role.ASSISTANT: msgspec.json.Decoder(_AssistantPart).decode,
    Role.TOOL: msgspec.json.Decoder(_ResultPart).decode,
    Role.SYSTEM: msgspec.json.Decoder(_CohereSchemaText).decode,
    Role.DEVELOPER: msgspec.json.Decoder(_CohereSchemaText).decode,
}


def _decode_part(item: Json, role: Role) -> object:
    return _PARTS[role](item)


def _render_turn(turn: MeantTurn) -> list[Json]:
    """The results of a turn as messages of their own, then what else it says."""
    results = turn.parts(Result)
    others = tuple([_part(piece) for piece in turn.pieces if type(piece.meant) is not Result])
    messages = [Message(TOOL, tuple(results))] if results else []
    if others or not results:
        calls = any(type(piece.meant) is Call and piece.kept is None for piece in turn.pieces)
        role = ASSISTANT if calls else USER if turn.role is TOOL else turn.role
        listed = turn.listed and not (len(others) == 1 and role is ASSISTANT and calls)
        messages.append(Message(role, others, listed=listed, role_text=turn.role_text))
    out: Pieces = []
    render_messages(messages, 0, len(messages), out)
    return items_of(b"[" + b"".join(out)[1:] + b"]") or []


def _part(piece: MeantPart) -> Part:
    if piece.kept is not None or piece.meant is None:
        return Opaque(kind="", json=piece.kept or b"{}", origin=ORIGIN)
    return piece.meant


class _CohereSchemaDeclared(msgspec.Struct, gc=False):
    name: _Id
    parameters: dict[str, Raw]
    description: str | UnsetType = UNSET


class _CohereSchemaTool(msgspec.Struct, gc=False, tag="function"):
    function: _CohereSchemaDeclared


_decode_tool = msgspec.json.Decoder(_CohereSchemaTool).decode


def _render_tool(tool: MeantTool) -> Json:
    function = {"name": quote(tool.name), "description": tool.description}
    given = {key: value for key, value in function.items() if value is not None}
    given["parameters"] = tool.schema if tool.schema is not None else NO_ARGUMENTS
    return render_object({"type": b'"function"', "function": render_object(given)})


MEMBERS = MemberForm("messages", "", lambda raw: True, lambda texts: b"")

TOOLS = ToolForm(partial(fits, _decode_tool), _render_tool, decode=_decode_tool)

FORM = WireForm(
    name=NAME,
    list_name="messages",
    content_name="content",
    roles=frozenset({"system", "user", "assistant", "tool"}),
    fits_list=partial(fits, _decode_messages),
    fits=partial(fits, _decode_message),
    fits_part=lambda item, role: fits(partial(_decode_part, role=role), item),
    render=_render_turn,
    has_calls=True,
    decode_part=_decode_part,
    optional={"tool_plan": b'"n', "citations": b"[n"},
)
