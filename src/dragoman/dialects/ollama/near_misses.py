"""What fits Ollama's schema, and how a turn is written that did not."""

from __future__ import annotations

from functools import partial
from typing import Annotated

import msgspec
from msgspec import UNSET, Meta, Raw, UnsetType

from dragoman.conversation.literals import joined, quote
from dragoman.conversation.messages import ASSISTANT, TOOL, USER, Message, Role
from dragoman.conversation.parts import NO_ID, Call, Json, Media, Part, Reasoning, Result, Text
from dragoman.dialects.near_misses.fitting import fits
from dragoman.dialects.near_misses.loose_json import as_text, items_of
from dragoman.dialects.near_misses.members import MemberForm
from dragoman.dialects.near_misses.tools import MeantTool, ToolForm
from dragoman.dialects.near_misses.turns import MeantTurn, WireForm
from dragoman.dialects.ollama import NAME
from dragoman.dialects.ollama.message_render import render_messages
from dragoman.dialects.raw_json import UNREADABLE
from dragoman.dialects.rendering import Pieces
from dragoman.errors import Unrepresentable
from dragoman.wire.json_reader import render_object

_Name = Annotated[str, Meta(min_length=1)]


class _OllamaSchemaFunction(msgspec.Struct, gc=False):
    name: str
    arguments: dict[str, Raw] | None = None


class _OllamaSchemaCall(msgspec.Struct, gc=False):
    function: _OllamaSchemaFunction
    id: str | None = None


class _OllamaSchemaTurn(msgspec.Struct, gc=False):
    role: Annotated[str, Meta(pattern="^(?i:user|assistant|system|developer|tool)$")]
    content: str | None = None
    thinking: str | None = None
    images: list[str] | None = None
    tool_calls: list[_OllamaSchemaCall] | None = None
    tool_name: str | None = None
    tool_call_id: str | None = None
    parts: UnsetType = UNSET
    blocks: UnsetType = UNSET
    text: UnsetType = UNSET
    message: UnsetType = UNSET


_decode_message = msgspec.json.Decoder(_OllamaSchemaTurn).decode
_decode_messages = msgspec.json.Decoder(list[_OllamaSchemaTurn]).decode


def _render_turn(turn: MeantTurn) -> list[Json]:
    """The results of a turn as messages of their own, then what else it says."""
    results = [_plain_result(part) for part in turn.parts(Result)]
    others = [part for piece in turn.pieces if (part := piece.meant) is not None and type(part) is not Result]
    if any(piece.meant is None for piece in turn.pieces):
        raise Unrepresentable("a part that ollama does not have")
    messages = [Message(TOOL, tuple(results))] if results else []
    if others or not results:
        messages.append(Message(_role(turn, others), _ordered(others), role_text=turn.role_text))
    out: Pieces = []
    render_messages(messages, 0, len(messages), out)
    return items_of(b"[" + b"".join(out)[1:] + b"]") or []


def _role(turn: MeantTurn, parts: list[Part]) -> Role:
    called = any(type(part) is Call for part in parts)
    return ASSISTANT if called else USER if turn.role is TOOL else turn.role


def _ordered(parts: list[Part]) -> tuple[Part, ...]:
    """Thinking, media, one text, calls."""
    thoughts = [part for part in parts if type(part) is Reasoning]
    calls = [_whole_call(part) for part in parts if type(part) is Call]
    return (*thoughts, *_one_text([part for part in parts if type(part) in (Media, Text)]), *calls)


def _one_text(parts: list[Part]) -> tuple[Part, ...]:
    texts = [part.literal for part in parts if type(part) is Text]
    media = [part for part in parts if type(part) is not Text]
    return (*media, Text(joined("\n", texts))) if texts else tuple(media)


def _plain_result(part: Part) -> Part:
    assert type(part) is Result
    return msgspec.structs.replace(part, parts=_one_text(list(part.parts)))


def _whole_call(call: Call) -> Call:
    if call.arguments[:1] == b"{":
        return call
    return msgspec.structs.replace(call, arguments=b'{"arguments":' + as_text(call.arguments) + b"}")


class _OllamaSchemaDeclared(msgspec.Struct, gc=False):
    name: _Name
    description: str | UnsetType = UNSET
    parameters: dict[str, Raw] | UnsetType = UNSET


class _OllamaSchemaTool(msgspec.Struct, gc=False):
    function: _OllamaSchemaDeclared
    type: str | UnsetType = UNSET


_decode_tool = msgspec.json.Decoder(_OllamaSchemaTool).decode


def _fits_tool(entry: Json) -> bool:
    try:
        _decode_tool(entry)
    except UNREADABLE:
        return False
    return True


def _render_tool(tool: MeantTool) -> Json:
    function = {"name": quote(tool.name), "description": tool.description, "parameters": tool.schema}
    given = {key: value for key, value in function.items() if value is not None}
    return render_object({"type": b'"function"', "function": render_object(given)})


MEMBERS = MemberForm("messages", "", lambda raw: True, lambda texts: b"")
TOOLS = ToolForm(_fits_tool, _render_tool, decode=_decode_tool)
FORM = WireForm(
    name=NAME,
    list_name="messages",
    content_name="content",
    roles=frozenset({"user", "assistant", "system", "developer", "tool"}),
    fits_list=partial(fits, _decode_messages),
    fits=partial(fits, _decode_message),
    fits_part=lambda item, role: False,
    render=_render_turn,
    has_calls=True,
    needs_ids=False,
    no_id=NO_ID,
    string_content=True,
    argument_objects=True,
)
