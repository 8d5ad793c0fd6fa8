"""Anthropic's tools, both ways."""

from __future__ import annotations

from msgspec import UNSET, Raw
from msgspec.structs import replace

from dragoman.conversation.bounded_cache import IdentityCache, remembered
from dragoman.conversation.literals import unquote
from dragoman.conversation.parts import Json
from dragoman.conversation.tools import NativeTool, Tool, ToolSwitch
from dragoman.dialects.anthropic import NAME, ORIGIN
from dragoman.dialects.anthropic.schema import open_declared_tool, open_tool, split_hint, with_hint
from dragoman.dialects.families.published_tools import functions_of
from dragoman.dialects.near_misses.tools import NO_ARGUMENTS, MeantTool, MeantTools, ToolForm, parse_meant_tools
from dragoman.dialects.shared.ownership import own_tool, require_own
from dragoman.dialects.shared.parsing import cache_hint, extras_of, take_function
from dragoman.dialects.shared.raw_json import UNREADABLE
from dragoman.dialects.shared.rendering import begin_tool, put
from dragoman.dialects.shared.top_level import Tools
from dragoman.errors import Unrepresentable
from dragoman.wire.json_reader import render_object, split_items, split_members


def _fits(entry: Json) -> bool:
    """Whether a tool has the form of Messages, or is a provider's own."""
    try:
        tool = open_tool(entry)
    except UNREADABLE:
        return False
    if tool.type is UNSET or tool.type == "custom":
        return tool.name is not UNSET and tool.input_schema is not UNSET
    return bool(tool.type != "function")


def _render_meant(tool: MeantTool) -> Json:
    entry = begin_tool(tool.name, tool.description)
    entry["input_schema"] = tool.schema or NO_ARGUMENTS
    if tool.strict is not None:
        entry["strict"] = tool.strict
    return render_object(entry if tool.hint is None else {**entry, "cache_control": tool.hint})


FORM = ToolForm(_fits, _render_meant, decode=open_declared_tool, needs_name=True)


@remembered
def parse_tools(raw: bytes) -> MeantTools:
    """The tools, and whether the client sent an empty list."""
    return parse_meant_tools(raw, FORM, _parse_list)


def _parse_list(raw: bytes) -> tuple[Tools, bool]:
    if raw in (b"", b"null"):
        return (), False
    tools = tuple([_parse_tool(bytes(item), at) for at, item in enumerate(split_items(raw, "/tools"))])
    return tools, not tools


def parse_tool_change(raw: bytes, on: bool) -> tuple[Tool | NativeTool | ToolSwitch, ...]:
    """What a block does to the list of tools: a definition that it adds, or a tool of the list that it names."""
    tool = bytes(split_members(raw).get("tool", b""))
    members = split_members(tool) if tool[:1] == b"{" else {}
    if on and "input_schema" in members:
        return (_parse_tool(tool, -1),)
    name = bytes(members.get("name") or members.get("tool_name") or b"")
    return (ToolSwitch(unquote(name), on),) if name[:1] == b'"' else ()


def _parse_tool(raw: bytes, at: int) -> Tool | NativeTool:
    wire = split_members(raw, f"/tools/{at}")
    kind = bytes(wire.pop("type", Raw(b'"custom"')))
    if kind not in (b'"custom"', b"null"):
        named = unquote(kind) if kind[:1] == b'"' else ""
        meant = functions_of(named, {key: bytes(value) for key, value in wire.items()}, at)
        hint, bare = split_hint(raw)
        return NativeTool(named, bare, ORIGIN, at, meant, hint)
    tool, hint = take_function(wire, f"/tools/{at}", "input_schema"), cache_hint(wire.pop("cache_control", None))
    return replace(tool, hint=hint, extras=extras_of(NAME, {key: bytes(one) for key, one in wire.items()}), at=at)


_OPEN = b'{"type":"object"}'


_CLOSED = b'{"type":"object","additionalProperties":false}'
"""Schemas for a tool without one, since Messages demands one. That of a strict tool must be closed."""


def render_tool(tool: Tool | NativeTool) -> Json:
    if isinstance(tool, NativeTool):
        return with_hint(own_tool(tool, NAME), tool.hint)
    if tool.custom:
        raise Unrepresentable(f"the custom tool {tool.name} in an Anthropic request")
    wire = begin_tool(tool.name, tool.description)
    wire["input_schema"] = tool.schema if tool.schema is not None else _CLOSED if tool.strict else _OPEN
    put(wire, "strict", tool.strict)
    if tool.hint is not None:
        wire["cache_control"] = tool.hint.json
    return render_object(wire | dict(require_own(tool.extras, NAME)))


render_tools = IdentityCache[tuple[Tool | NativeTool, ...], Json](
    lambda tools: b"[" + b",".join([render_tool(tool) for tool in tools]) + b"]"
)
