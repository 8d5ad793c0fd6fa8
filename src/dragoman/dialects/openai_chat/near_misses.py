"""What fits Chat's schema, and how a turn is written that did not."""

from __future__ import annotations

from functools import partial
from typing import Annotated

import msgspec
from msgspec import UNSET, Meta, Raw, UnsetType

from dragoman.conversation.literals import quote
from dragoman.conversation.messages import ASSISTANT, SYSTEM, TOOL, USER, Message
from dragoman.conversation.parts import Call, Json, Opaque, Part, Result
from dragoman.dialects.near_misses.fitting import fits
from dragoman.dialects.near_misses.loose_json import items_of
from dragoman.dialects.near_misses.members import MemberForm
from dragoman.dialects.near_misses.tools import MeantTool, ToolForm, parse_any_tools
from dragoman.dialects.near_misses.turns import MeantPart, MeantTurn, WireForm
from dragoman.dialects.openai_chat import NAME, ORIGIN
from dragoman.dialects.openai_chat.message_render import render_messages
from dragoman.dialects.raw_json import UNREADABLE
from dragoman.dialects.rendering import Pieces
from dragoman.wire.json_reader import render_object

_Id = Annotated[str, Meta(min_length=1)]


class _ChatSchemaFunction(msgspec.Struct, gc=False):
    name: str
    arguments: Annotated[str, Meta(min_length=1)]


class _ChatSchemaFunctionCall(msgspec.Struct, gc=False, tag="function"):
    id: _Id
    function: _ChatSchemaFunction


class _ChatSchemaCustomCall(msgspec.Struct, gc=False, tag="custom"):
    id: _Id
    custom: Raw


class _ChatSchemaText(msgspec.Struct, gc=False, tag="text"):
    text: str


class _ChatSchemaRefusal(msgspec.Struct, gc=False, tag="refusal"):
    refusal: str


class _ChatSchemaUrl(msgspec.Struct, gc=False, forbid_unknown_fields=True):
    url: Raw
    detail: str | UnsetType = UNSET


class _ChatSchemaImage(msgspec.Struct, gc=False, tag="image_url"):
    image_url: _ChatSchemaUrl | str


class _ChatSchemaVideo(msgspec.Struct, gc=False, tag="video_url"):
    video_url: _ChatSchemaUrl | str


class _ChatSchemaDocument(msgspec.Struct, gc=False, tag="document_url"):
    document_url: _ChatSchemaUrl | str


class _ChatSchemaSound(msgspec.Struct, gc=False, forbid_unknown_fields=True):
    data: Raw
    format: str


class _ChatSchemaAudio(msgspec.Struct, gc=False, tag="input_audio"):
    input_audio: _ChatSchemaSound | Annotated[str, Meta(pattern=r"^[^{]")]


class _ChatSchemaFileContent(msgspec.Struct, gc=False, forbid_unknown_fields=True):
    filename: str | UnsetType = UNSET
    file_data: Raw | UnsetType = UNSET
    file_id: Raw | UnsetType = UNSET


class _ChatSchemaFile(msgspec.Struct, gc=False, tag="file"):
    file: _ChatSchemaFileContent


_Part = (
    _ChatSchemaText
    | _ChatSchemaRefusal
    | _ChatSchemaImage
    | _ChatSchemaVideo
    | _ChatSchemaDocument
    | _ChatSchemaAudio
    | _ChatSchemaFile
)
_Content = str | list[_Part] | None


class _ChatSchemaTurn(msgspec.Struct, gc=False, tag_field="role"):
    content: _Content
    tool_calls: Raw | UnsetType = UNSET
    parts: UnsetType = UNSET


class _ChatSchemaSystem(_ChatSchemaTurn, gc=False, tag="system"):
    """A system message."""


class _ChatSchemaDeveloper(_ChatSchemaTurn, gc=False, tag="developer"):
    """A developer's message."""


class _ChatSchemaUser(_ChatSchemaTurn, gc=False, tag="user"):
    """A user's message."""

    images: UnsetType = UNSET


class _ChatSchemaAssistant(msgspec.Struct, gc=False, tag="assistant", tag_field="role"):
    content: _Content = None
    refusal: str | None = None
    tool_calls: list[_ChatSchemaFunctionCall | _ChatSchemaCustomCall] | None = None
    parts: UnsetType = UNSET
    blocks: UnsetType = UNSET
    text: UnsetType = UNSET
    message: UnsetType = UNSET


class _ChatSchemaToolResult(msgspec.Struct, gc=False, tag="tool", tag_field="role"):
    content: str | list[_Part]
    tool_call_id: _Id


class _ChatSchemaFunctionResult(msgspec.Struct, gc=False, tag="function", tag_field="role"):
    name: str
    content: str | None = None


_Message = (
    _ChatSchemaSystem
    | _ChatSchemaDeveloper
    | _ChatSchemaUser
    | _ChatSchemaAssistant
    | _ChatSchemaToolResult
    | _ChatSchemaFunctionResult
)
_decode_message = msgspec.json.Decoder(_Message).decode
_decode_messages = msgspec.json.Decoder(list[_Message]).decode
_decode_part = msgspec.json.Decoder(_Part).decode


def _render_turn(turn: MeantTurn) -> list[Json]:
    """The results of a turn as messages of their own, then what else it says."""
    results = turn.parts(Result)
    others = tuple([_part(piece) for piece in turn.pieces if type(piece.meant) is not Result])
    messages = [Message(TOOL, tuple(results))] if results else []
    if others or not results:
        calls = any(type(piece.meant) is Call and piece.kept is None for piece in turn.pieces)
        role = ASSISTANT if calls else USER if turn.role is TOOL else turn.role
        listed = turn.listed and not (len(others) == 1 and role is ASSISTANT and calls)
        messages.append(Message(role, others, listed=listed, inline=role is SYSTEM, role_text=turn.role_text))
    out: Pieces = []
    render_messages(messages, 0, len(messages), out)
    return items_of(b"[" + b"".join(out)[1:] + b"]") or []


def _part(piece: MeantPart) -> Part:
    if piece.kept is not None or piece.meant is None:
        return Opaque(kind="", json=piece.kept or b"{}", origin=ORIGIN)
    return piece.meant


class _ChatSchemaDeclared(msgspec.Struct, gc=False):
    name: _Id
    description: str | UnsetType = UNSET
    parameters: dict[str, Raw] | UnsetType = UNSET


class _ChatSchemaTool(msgspec.Struct, gc=False):
    """A tool. What it must have depends on its type."""

    type: str | UnsetType = UNSET
    function: _ChatSchemaDeclared | UnsetType = UNSET
    input_schema: UnsetType = UNSET
    inputSchema: UnsetType = UNSET  # noqa: N815
    toolSpec: UnsetType = UNSET  # noqa: N815
    name: _Id | UnsetType = UNSET
    parameters: dict[str, Raw] | UnsetType = UNSET


class _ChatSchemaOwnTool(msgspec.Struct, gc=False):
    """A tool in Chat's own form."""

    type: str
    function: _ChatSchemaDeclared


_decode_tool = msgspec.json.Decoder(_ChatSchemaTool).decode
_decode_own_tool = msgspec.json.Decoder(_ChatSchemaOwnTool).decode
_ELSEWHERE = (b"functionDeclarations", b"function_declarations")


def _fits_tool(entry: Json) -> bool:
    """Whether a tool has Chat's form, or one that the rule for wrappers knows, or is a provider's own."""
    try:
        tool = _decode_tool(entry)
    except UNREADABLE:
        return False
    if tool.function is not UNSET or tool.name is not UNSET:
        return True
    return tool.type not in (UNSET, "", "function") or (
        any(key in entry for key in _ELSEWHERE) and b"JsonSchema" not in entry and _all_named(entry)
    )


def _all_named(entry: Json) -> bool:
    """Whether each of the functions that an entry declares has a name."""
    found = parse_any_tools(entry)
    return found is None or all(tool.name for tool in found)


def _render_tool(tool: MeantTool) -> Json:
    function = {"name": quote(tool.name), "description": tool.description, "parameters": tool.schema}
    function["strict"] = tool.strict
    given = {key: value for key, value in function.items() if value is not None}
    entry: dict[str, Json] = {"type": b'"function"', "function": render_object(given)}
    return render_object(entry if tool.hint is None else {**entry, "cache_control": tool.hint})


MEMBERS = MemberForm("messages", "", lambda raw: True, lambda texts: b"")

TOOLS = ToolForm(_fits_tool, _render_tool, decode=_decode_own_tool)

FORM = WireForm(
    name=NAME,
    list_name="messages",
    content_name="content",
    roles=frozenset({"system", "developer", "user", "assistant", "tool", "function"}),
    fits_list=partial(fits, _decode_messages),
    fits=partial(fits, _decode_message),
    fits_part=lambda item, role: fits(_decode_part, item),
    render=_render_turn,
    takes_hints=True,
    has_calls=True,
    decode_part=lambda item, role: _decode_part(item),
    optional={"refusal": b'"n'},
    pictures_apart=True,
)
