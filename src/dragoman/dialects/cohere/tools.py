"""Cohere's tools, both ways."""

from __future__ import annotations

from msgspec import Raw
from msgspec.structs import replace

from dragoman.conversation.bounded_cache import IdentityCache, remembered
from dragoman.conversation.literals import unquote
from dragoman.conversation.parts import Json
from dragoman.conversation.tools import NativeTool, Tool
from dragoman.dialects.cohere import NAME, ORIGIN
from dragoman.dialects.cohere.schema import open_tool
from dragoman.dialects.near_misses.tools import NO_ARGUMENTS, MeantTool, MeantTools, ToolForm, parse_meant_tools
from dragoman.dialects.shared.ownership import own_tool, require_own
from dragoman.dialects.shared.parsing import extras_of, take_function
from dragoman.dialects.shared.rendering import begin_tool, put
from dragoman.dialects.shared.top_level import Tools
from dragoman.dialects.shared.wire_schema import fits
from dragoman.errors import MalformedRequest, Unrepresentable
from dragoman.wire.json_reader import render_list, render_object, split_items, split_members


def _render_meant(tool: MeantTool) -> Json:
    function = begin_tool(tool.name, tool.description)
    function["parameters"] = tool.schema if tool.schema is not None else NO_ARGUMENTS
    return render_object({"type": b'"function"', "function": render_object(function)})


FORM = ToolForm(lambda entry: fits(open_tool, entry), _render_meant, decode=open_tool)


@remembered
def parse_tools(raw: bytes) -> MeantTools:
    """The tools, and whether the client sent an empty list. An agent sends the same ones on every turn."""
    return parse_meant_tools(raw, FORM, _parse_list) if raw else MeantTools((), False)


def _parse_list(raw: bytes) -> tuple[Tools, bool]:
    if raw[:1] != b"[":
        raise MalformedRequest("tools are not a list", at="/tools")
    found = tuple([_parse_tool(bytes(item), index) for index, item in enumerate(split_items(raw, "/tools"))])
    return found, not found


def _parse_tool(raw: bytes, at: int) -> Tool | NativeTool:
    """A function, or a tool of another type."""
    wire = split_members(raw, f"/tools/{at}")
    kind = bytes(wire.pop("type", Raw(b'""')))
    inner = bytes(wire.pop("function", b""))
    if kind != b'"function"' or inner[:1] != b"{":
        return NativeTool(unquote(kind) if kind[:1] == b'"' else "", raw, ORIGIN, at)
    place = f"/tools/{at}/function"
    function = split_members(inner, place)
    tool = take_function(function, place)
    extras = {key: bytes(value) for key, value in wire.items()}
    extras |= {f"function.{key}": bytes(value) for key, value in function.items()}
    return replace(tool, extras=extras_of(NAME, extras), at=at)


def render_tool(tool: Tool | NativeTool) -> Json:
    if isinstance(tool, NativeTool):
        return own_tool(tool, NAME)
    if tool.custom:
        raise Unrepresentable(f"the custom tool {tool.name} in a Cohere request", key="tools")
    fields = require_own(tool.extras, NAME)
    function = begin_tool(tool.name, tool.description)
    if tool.schema is not None:
        function["parameters"] = tool.schema
    put(function, "strict", tool.strict)
    function |= {key[9:]: value for key, value in fields.items() if key.startswith("function.")}
    outer = {key: value for key, value in fields.items() if not key.startswith("function.")}
    return render_object({"type": b'"function"', "function": render_object(function), **outer})


render_tools = IdentityCache[Tools, Json](lambda tools: render_list([render_tool(tool) for tool in tools]))
