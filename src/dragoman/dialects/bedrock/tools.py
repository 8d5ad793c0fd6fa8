"""Converse's tools and the choice among them, both ways."""

from __future__ import annotations

from functools import partial

import msgspec
from msgspec import Raw
from msgspec.structs import replace

from dragoman.conversation.bounded_cache import IdentityCache, remembered
from dragoman.conversation.literals import EMPTY, quote, unquote
from dragoman.conversation.parts import Json
from dragoman.conversation.tools import ChoiceMode, NativeTool, Tool, ToolChoice
from dragoman.dialects.bedrock import NAME, ORIGIN
from dragoman.dialects.bedrock.message_parse import CACHE_POINT, parse_hint
from dragoman.dialects.bedrock.message_render import render_hint
from dragoman.dialects.bedrock.schema import open_tool
from dragoman.dialects.near_misses.tools import NO_ARGUMENTS, MeantTool, MeantTools, ToolForm, parse_meant_tools
from dragoman.dialects.shared.ownership import own_choice, own_tool, require_own
from dragoman.dialects.shared.parsing import extras_of
from dragoman.dialects.shared.rendering import begin_tool, put
from dragoman.dialects.shared.top_level import Tools
from dragoman.dialects.shared.wire_schema import fits
from dragoman.errors import MalformedRequest, Unrepresentable
from dragoman.wire.json_reader import render_object, split_items, split_members

TOOL_CONFIG = "toolConfig"


def _render_meant(tool: MeantTool) -> Json:
    spec: dict[str, Json] = {"name": quote(tool.name)}
    if tool.description is not None and tool.description != EMPTY:
        spec["description"] = tool.description
    spec["inputSchema"] = b'{"json":' + (tool.schema or NO_ARGUMENTS) + b"}"
    if tool.strict is not None:
        spec["strict"] = tool.strict
    return b'{"toolSpec":' + render_object(spec) + b"}"


FORM = ToolForm(partial(fits, open_tool), _render_meant, place=f"/{TOOL_CONFIG}/tools")


@remembered
def parse_tools(raw: bytes) -> MeantTools:
    """The tools, and whether the client sent an empty list."""
    found = parse_meant_tools(raw, FORM, _parse_list)
    misses = [replace(miss, members=(TOOL_CONFIG,)) for miss in found.misses]
    return replace(found, misses=tuple(misses))


def _parse_list(raw: bytes) -> tuple[Tools, bool]:
    if raw in (b"", b"null"):
        return (), False
    found: list[Tool | NativeTool] = []
    for at, item in enumerate(split_items(raw, f"/{TOOL_CONFIG}/tools")):
        entry = bytes(item)
        hint = parse_hint(entry)
        last = found[-1] if found else None
        if hint is not None and last is not None and last.hint is None:
            found[-1] = replace(last, hint=hint)
        elif hint is not None:
            found.append(NativeTool(CACHE_POINT, entry, ORIGIN, at, hint=hint))
        else:
            found.append(_parse_tool(entry, at))
    return tuple(found), not found


def _parse_tool(raw: bytes, at: int) -> Tool | NativeTool:
    place = f"/{TOOL_CONFIG}/tools/{at}"
    wire = split_members(raw, place)
    kind = next(iter(wire), "")
    if len(wire) != 1 or kind != "toolSpec":
        return NativeTool(kind, raw, ORIGIN, at)
    spec = split_members(bytes(wire["toolSpec"]), f"{place}/toolSpec")
    name = bytes(spec.pop("name", b""))
    if name[:1] != b'"':
        raise MalformedRequest("a tool without a name", at=f"{place}/toolSpec/name")
    description = bytes(spec.pop("description", b""))
    strict = bytes(spec.pop("strict", b"null"))
    return Tool(
        unquote(name),
        description if description[:1] == b'"' else None,
        _parse_schema(spec),
        None if strict == b"null" else strict == b"true",
        extras=extras_of(NAME, {key: bytes(value) for key, value in spec.items()}),
        at=at,
    )


def _parse_schema(spec: dict[str, Raw]) -> Json | None:
    """The schema, taken out. It stands in a member `json`."""
    given = bytes(spec.get("inputSchema", b""))
    inner = split_members(given) if given[:1] == b"{" else {}
    if inner.keys() != {"json"} or bytes(inner["json"])[:1] != b"{":
        return None
    del spec["inputSchema"]
    return bytes(inner["json"])


_OPEN = b'{"type":"object","properties":{}}'
_CLOSED = b'{"type":"object","properties":{},"additionalProperties":false}'
"""Schemas for a tool without one. That of a strict tool must be closed."""


def render_tool(tool: Tool | NativeTool) -> Json:
    entry = _render_entry(tool)
    if tool.hint is None:
        return entry
    alone = isinstance(tool, NativeTool) and tool.kind == CACHE_POINT
    return render_hint(tool.hint) if alone else entry + b"," + render_hint(tool.hint)


def _render_entry(tool: Tool | NativeTool) -> Json:
    if isinstance(tool, NativeTool):
        return own_tool(tool, NAME)
    if tool.custom:
        raise Unrepresentable(f"the custom tool {tool.name} in a Bedrock request")
    wire = begin_tool(tool.name, tool.description)
    extras = require_own(tool.extras, NAME)
    if "inputSchema" not in extras:
        schema = tool.schema if tool.schema is not None else _CLOSED if tool.strict else _OPEN
        wire["inputSchema"] = b'{"json":' + schema + b"}"
    put(wire, "strict", tool.strict)
    return b'{"toolSpec":' + render_object(wire | dict(extras)) + b"}"


render_tools = IdentityCache[tuple[Tool | NativeTool, ...], Json](
    lambda tools: b"[" + b",".join([render_tool(tool) for tool in tools]) + b"]"
)


def parse_choice(raw: bytes) -> ToolChoice:
    """`auto`, `any` or one tool; `none`, which Converse does not have. Any other form is kept as it is."""
    match msgspec.json.decode(raw):
        case {"auto": {}, **rest} if not rest:
            return ToolChoice(ChoiceMode.AUTO)
        case {"any": {}, **rest} if not rest:
            return ToolChoice(ChoiceMode.REQUIRED)
        case {"none": {}, **rest} if not rest:
            return ToolChoice(ChoiceMode.NONE, json=raw, origin=ORIGIN)
        case {"tool": {"name": str() as name, **inner}, **rest} if not rest and not inner:
            return ToolChoice(ChoiceMode.NAMED, (name,))
    return ToolChoice(ChoiceMode.NATIVE, json=raw, origin=ORIGIN)


def render_choice(choice: ToolChoice) -> Json:
    if choice.json is not None:
        return own_choice(choice, NAME)
    if choice.mode is ChoiceMode.NAMED:
        return b'{"tool":{"name":%b}}' % quote(choice.names[0])
    if choice.mode not in _CHOICES:
        raise Unrepresentable(f"a tool choice of kind {choice.mode.value}", key="tool_choice")
    return _CHOICES[choice.mode]


_CHOICES = {ChoiceMode.AUTO: b'{"auto":{}}', ChoiceMode.REQUIRED: b'{"any":{}}'}
