"""What fits the schema of Converse, and how a turn is written that did not."""

from __future__ import annotations

from functools import partial
from typing import Annotated

import msgspec
from msgspec import UNSET, Meta, Raw, UnsetType

from dragoman.conversation.literals import quote
from dragoman.conversation.messages import ASSISTANT, DEVELOPER, SYSTEM, TOOL, USER, Role
from dragoman.conversation.parts import Call, Json
from dragoman.dialects.bedrock import NAME
from dragoman.dialects.bedrock.message_render import render_block
from dragoman.dialects.near_misses.fitting import fits
from dragoman.dialects.near_misses.loose_json import as_text, fields_of
from dragoman.dialects.near_misses.members import MemberForm
from dragoman.dialects.near_misses.tools import NO_ARGUMENTS, MeantTool, ToolForm
from dragoman.dialects.near_misses.turns import MeantPart, MeantTurn, WireForm
from dragoman.dialects.rendering import Pieces
from dragoman.wire.json_reader import render_list, render_object

_Id = Annotated[str, Meta(min_length=1)]


class _BedrockSchemaCall(msgspec.Struct, gc=False):
    toolUseId: _Id  # noqa: N815
    name: str
    input: dict[str, Raw] | UnsetType = UNSET
    type: str | UnsetType = UNSET


class _BedrockSchemaResult(msgspec.Struct, gc=False):
    toolUseId: _Id  # noqa: N815
    content: list[dict[str, Raw]]
    status: str | UnsetType = UNSET
    type: str | UnsetType = UNSET


class _BedrockSchemaMedia(msgspec.Struct, gc=False):
    source: dict[str, Raw]


class _BedrockSchemaBlock(msgspec.Struct, gc=False):
    """A block. Exactly one member is there; those that are not known may be newer."""

    text: str | UnsetType = UNSET
    toolUse: _BedrockSchemaCall | UnsetType = UNSET  # noqa: N815
    toolResult: _BedrockSchemaResult | UnsetType = UNSET  # noqa: N815
    image: _BedrockSchemaMedia | UnsetType = UNSET
    document: _BedrockSchemaMedia | UnsetType = UNSET
    video: _BedrockSchemaMedia | UnsetType = UNSET
    audio: _BedrockSchemaMedia | UnsetType = UNSET
    reasoningContent: dict[str, Raw] | UnsetType = UNSET  # noqa: N815
    cachePoint: dict[str, Raw] | UnsetType = UNSET  # noqa: N815
    guardContent: dict[str, Raw] | UnsetType = UNSET  # noqa: N815
    type: UnsetType = UNSET
    functionCall: UnsetType = UNSET  # noqa: N815
    functionResponse: UnsetType = UNSET  # noqa: N815
    inlineData: UnsetType = UNSET  # noqa: N815


class _BedrockSchemaTurn(msgspec.Struct, gc=False, tag_field="role"):
    content: list[_BedrockSchemaBlock]
    tool_calls: UnsetType = UNSET


class _BedrockSchemaUser(_BedrockSchemaTurn, gc=False, tag="user"):
    """A user's message."""


class _BedrockSchemaAssistant(_BedrockSchemaTurn, gc=False, tag="assistant"):
    """The model's message."""


class _BedrockSchemaSystem(_BedrockSchemaTurn, gc=False, tag="system"):
    """A system message among the others."""


_Message = _BedrockSchemaUser | _BedrockSchemaAssistant | _BedrockSchemaSystem
_decode_message = msgspec.json.Decoder(_Message).decode
_decode_messages = msgspec.json.Decoder(list[_Message]).decode
_decode_block = msgspec.json.Decoder(_BedrockSchemaBlock).decode
_decode_system = msgspec.json.Decoder(list[_BedrockSchemaBlock] | None).decode


def _fits_part(item: Json, role: Role) -> bool:
    return fits(_decode_block, item) and len(fields_of(item) or ()) == 1


def _fits_item(item: Json) -> bool:
    return fits(_decode_message, item) and _has_single_keys(item)


def _has_single_keys(item: Json) -> bool:
    content = (fields_of(item) or {}).get("content", b"[]")
    return all(len(block) == 1 for block in _decode_blocks(content))


_decode_blocks = msgspec.json.Decoder(list[dict[str, Raw]]).decode


class _BedrockSchemaKeys(msgspec.Struct, gc=False):
    content: list[dict[str, Raw]]


_decode_contents = msgspec.json.Decoder(list[_BedrockSchemaKeys]).decode


def _fits_list(raw: Json) -> bool:
    if not fits(_decode_messages, raw):
        return False
    return all(len(block) == 1 for message in _decode_contents(raw) for block in message.content)


_ROLES = {USER: "user", TOOL: "user", ASSISTANT: "assistant", SYSTEM: "system", DEVELOPER: "system"}


def _render_turn(turn: MeantTurn) -> list[Json]:
    called = any(type(piece.meant) is Call for piece in turn.pieces)
    role = turn.role_text or ("assistant" if called else _ROLES[turn.role])
    content = render_list([_block(piece) for piece in turn.pieces])
    return [render_object({"role": quote(role), "content": content})]


def _block(piece: MeantPart) -> Json:
    if piece.kept is not None or piece.meant is None:
        return piece.kept or b"{}"
    part = piece.meant
    if type(part) is Call and part.arguments[:1] != b"{":
        part = msgspec.structs.replace(part, arguments=b'{"arguments":' + as_text(part.arguments) + b"}")
    out: Pieces = []
    render_block(part, out)
    return b"".join(out)


class _BedrockSchemaSpec(msgspec.Struct, gc=False):
    name: _Id
    inputSchema: dict[str, dict[str, Raw]]  # noqa: N815
    description: str | UnsetType = UNSET
    strict: bool | UnsetType = UNSET


class _BedrockSchemaTool(msgspec.Struct, gc=False, forbid_unknown_fields=True):
    toolSpec: _BedrockSchemaSpec | UnsetType = UNSET  # noqa: N815
    systemTool: dict[str, Raw] | UnsetType = UNSET  # noqa: N815
    cachePoint: dict[str, Raw] | UnsetType = UNSET  # noqa: N815


_decode_tool = msgspec.json.Decoder(_BedrockSchemaTool).decode


def _render_tool(tool: MeantTool) -> Json:
    spec: dict[str, Json] = {"name": quote(tool.name)}
    if tool.description is not None and tool.description != b'""':
        spec["description"] = tool.description
    spec["inputSchema"] = b'{"json":' + (tool.schema or NO_ARGUMENTS) + b"}"
    if tool.strict is not None:
        spec["strict"] = tool.strict
    return b'{"toolSpec":' + render_object(spec) + b"}"


def _fits_system(raw: Json) -> bool:
    return fits(_decode_system, raw)


def _render_system(texts: list[Json]) -> Json:
    return render_list([b'{"text":%b}' % text for text in texts])


TOOLS = ToolForm(partial(fits, _decode_tool), _render_tool, place="/toolConfig/tools")
MEMBERS = MemberForm("messages", "system", _fits_system, _render_system)
FORM = WireForm(
    name=NAME,
    list_name="messages",
    content_name="content",
    roles=frozenset({"user", "assistant", "system"}),
    fits_list=_fits_list,
    fits=_fits_item,
    fits_part=_fits_part,
    render=_render_turn,
    takes_text=False,
)
