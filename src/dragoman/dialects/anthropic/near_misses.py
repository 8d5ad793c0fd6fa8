"""What fits the schema of Messages, and how a turn is written that did not."""

from __future__ import annotations

from functools import partial
from typing import Annotated

import msgspec
from msgspec import UNSET, Meta, Raw, UnsetType

from dragoman.conversation.literals import quote
from dragoman.conversation.messages import ASSISTANT, DEVELOPER, SYSTEM, TOOL, USER, Role
from dragoman.conversation.parts import Call, Json, Text
from dragoman.dialects.anthropic import NAME
from dragoman.dialects.anthropic.message_render import render_block
from dragoman.dialects.near_misses.fitting import BareBytes, fits
from dragoman.dialects.near_misses.loose_json import as_text, fields_of
from dragoman.dialects.near_misses.members import MemberForm
from dragoman.dialects.near_misses.misfits import Trimmed, items_without_misfits
from dragoman.dialects.near_misses.parts import fits_items
from dragoman.dialects.near_misses.tools import NO_ARGUMENTS, MeantTool, ToolForm
from dragoman.dialects.near_misses.turns import MeantPart, MeantTurn, WireForm
from dragoman.dialects.raw_json import UNREADABLE
from dragoman.dialects.rendering import Pieces
from dragoman.wire.json_reader import render_list, render_object

_Id = Annotated[str, Meta(min_length=1)]


class _AnthropicSchemaHint(msgspec.Struct, gc=False, forbid_unknown_fields=True):
    type: str
    ttl: str | UnsetType = UNSET
    scope: Raw | UnsetType = UNSET


class _AnthropicSchemaCitations(msgspec.Struct, gc=False, forbid_unknown_fields=True):
    enabled: bool | UnsetType = UNSET


_Hint = _AnthropicSchemaHint | None


class _AnthropicSchemaBytes(msgspec.Struct, gc=False, tag="base64", forbid_unknown_fields=True):
    media_type: Raw
    data: BareBytes


class _AnthropicSchemaLink(msgspec.Struct, gc=False, tag="url", forbid_unknown_fields=True):
    url: Raw


class _AnthropicSchemaStored(msgspec.Struct, gc=False, tag="file", forbid_unknown_fields=True):
    file_id: Raw


class _AnthropicSchemaPlain(msgspec.Struct, gc=False, tag="text", forbid_unknown_fields=True):
    data: Raw
    media_type: Raw | UnsetType = UNSET


class _AnthropicSchemaBlocks(msgspec.Struct, gc=False, tag="content", forbid_unknown_fields=True):
    content: Raw


_ImageSource = _AnthropicSchemaBytes | _AnthropicSchemaLink | _AnthropicSchemaStored
_DocumentSource = _ImageSource | _AnthropicSchemaPlain | _AnthropicSchemaBlocks


class _AnthropicSchemaText(msgspec.Struct, gc=False, tag="text"):
    text: str
    cache_control: _Hint = None


class _AnthropicSchemaImage(msgspec.Struct, gc=False, tag="image"):
    source: _ImageSource
    cache_control: _Hint = None


class _AnthropicSchemaDocument(msgspec.Struct, gc=False, tag="document"):
    source: _DocumentSource
    cache_control: _Hint = None
    citations: _AnthropicSchemaCitations | None = None
    title: str | None = None
    context: str | None = None


class _AnthropicSchemaCall(msgspec.Struct, gc=False, tag="tool_use"):
    id: _Id
    name: str
    input: dict[str, Raw]
    cache_control: _Hint = None


class _AnthropicSchemaSearchResult(msgspec.Struct, gc=False, tag="search_result"):
    content: Raw


class _AnthropicSchemaToolReference(msgspec.Struct, gc=False, tag="tool_reference"):
    tool_name: Raw


_ResultContent = (
    str
    | Annotated[
        list[
            _AnthropicSchemaText
            | _AnthropicSchemaImage
            | _AnthropicSchemaDocument
            | _AnthropicSchemaSearchResult
            | _AnthropicSchemaToolReference
        ],
        Meta(min_length=1),
    ]
)


class _AnthropicSchemaResult(msgspec.Struct, gc=False, tag="tool_result"):
    tool_use_id: _Id
    content: _ResultContent | UnsetType = UNSET
    is_error: bool | UnsetType = UNSET
    cache_control: _Hint = None


class _AnthropicSchemaThinking(msgspec.Struct, gc=False, tag="thinking"):
    thinking: str


class _AnthropicSchemaRedacted(msgspec.Struct, gc=False, tag="redacted_thinking"):
    data: str


_Block = (
    _AnthropicSchemaText
    | _AnthropicSchemaImage
    | _AnthropicSchemaDocument
    | _AnthropicSchemaCall
    | _AnthropicSchemaResult
    | _AnthropicSchemaThinking
    | _AnthropicSchemaRedacted
    | _AnthropicSchemaSearchResult
)


class _AnthropicSchemaTurn(msgspec.Struct, gc=False, tag_field="role"):
    content: str | list[_Block]
    tool_calls: UnsetType = UNSET


class _AnthropicSchemaUser(_AnthropicSchemaTurn, gc=False, tag="user"):
    """A user's message."""


class _AnthropicSchemaAssistant(_AnthropicSchemaTurn, gc=False, tag="assistant"):
    """The model's message."""


class _AnthropicSchemaSystem(_AnthropicSchemaTurn, gc=False, tag="system"):
    """A system message among the others."""


_Message = _AnthropicSchemaUser | _AnthropicSchemaAssistant | _AnthropicSchemaSystem
_decode_message = msgspec.json.Decoder(_Message).decode
_decode_messages = msgspec.json.Decoder(list[_Message]).decode
_decode_result = msgspec.json.Decoder(_ResultContent).decode
_decode_hint = msgspec.json.Decoder(_AnthropicSchemaHint).decode
_decode_block = msgspec.json.Decoder(_Block).decode


def fits_hint(raw: Json) -> bool:
    """Whether a cache hint fits the schema."""
    return fits(_decode_hint, raw)


def fits_result(raw: Json) -> bool:
    """Whether the content of a result fits the schema."""
    return fits(_decode_result, raw) or fits_items(raw, _fits_inner)


def _fits_inner(item: Json) -> bool:
    return _fits_part(item, TOOL)


def _fits_part(item: Json, role: Role) -> bool:
    return fits(_decode_block, item) or _is_newer_result(item)


def _is_newer_result(item: Json) -> bool:
    """Whether it is a result whose blocks are all right, or of kinds that are not known here."""
    fields = fields_of(item) or {}
    is_result = fields.get("type") == b'"tool_result"' and len(fields.get("tool_use_id", b"")) > 2
    return is_result and fits_items(fields.get("content", b""), _fits_inner)


_ROLES = {USER: "user", TOOL: "user", ASSISTANT: "assistant", SYSTEM: "system", DEVELOPER: "system"}


def _render_turn(turn: MeantTurn) -> list[Json]:
    """One message of blocks, or of a text alone."""
    called = any(type(piece.meant) is Call for piece in turn.pieces)
    role = turn.role_text or ("assistant" if called else _ROLES[turn.role])
    only = turn.pieces[0].meant if len(turn.pieces) == 1 and not turn.listed else None
    if type(only) is Text and only.hint is None:
        content: Json = only.literal
    else:
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


class _AnthropicSchemaTool(msgspec.Struct, gc=False):
    """A tool. What it must have depends on its type."""

    type: str | UnsetType = UNSET
    name: _Id | UnsetType = UNSET
    description: str | UnsetType = UNSET
    input_schema: dict[str, Raw] | UnsetType = UNSET
    strict: bool | UnsetType = UNSET
    cache_control: _Hint = None


class _AnthropicSchemaDeclared(msgspec.Struct, gc=False):
    """A tool of the client's own."""

    name: _Id
    input_schema: dict[str, Raw]
    type: str | UnsetType = UNSET
    description: str | UnsetType = UNSET
    strict: bool | UnsetType = UNSET
    cache_control: _Hint = None


_decode_declared = msgspec.json.Decoder(_AnthropicSchemaDeclared).decode
_decode_tool = msgspec.json.Decoder(_AnthropicSchemaTool).decode
_decode_text = msgspec.json.Decoder(_AnthropicSchemaText).decode
_decode_system = msgspec.json.Decoder(str | list[_AnthropicSchemaText] | None).decode


def _fits_tool(entry: Json) -> bool:
    """Whether a tool has the form of Messages, or is a provider's own."""
    try:
        tool = _decode_tool(entry)
    except UNREADABLE:
        return False
    if tool.type is UNSET or tool.type == "custom":
        return tool.name is not UNSET and tool.input_schema is not UNSET
    return tool.type != "function"


def _render_tool(tool: MeantTool) -> Json:
    entry: dict[str, Json] = {"name": quote(tool.name)}
    if tool.description is not None:
        entry["description"] = tool.description
    entry["input_schema"] = tool.schema or NO_ARGUMENTS
    if tool.strict is not None:
        entry["strict"] = tool.strict
    return render_object(entry if tool.hint is None else {**entry, "cache_control": tool.hint})


def _fits_system(raw: Json) -> bool:
    return raw[:1] == b'"' or fits(_decode_system, raw)


def _render_system(texts: list[Json]) -> Json:
    return texts[0] if len(texts) == 1 else render_list([b'{"type":"text","text":%b}' % text for text in texts])


def _trim_system(raw: Json) -> Trimmed | None:
    return items_without_misfits(raw, _decode_text)


TOOLS = ToolForm(_fits_tool, _render_tool, decode=_decode_declared)
MEMBERS = MemberForm("messages", "system", _fits_system, _render_system, _trim_system)
FORM = WireForm(
    name=NAME,
    list_name="messages",
    content_name="content",
    roles=frozenset({"user", "assistant", "system"}),
    fits_list=partial(fits, _decode_messages),
    fits=partial(fits, _decode_message),
    fits_part=_fits_part,
    render=_render_turn,
    takes_hints=True,
    decode_part=lambda item, role: _decode_block(item),
)
