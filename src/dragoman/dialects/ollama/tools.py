"""Ollama's tools, both ways. They have the shape of Chat's."""

from __future__ import annotations

from msgspec import Raw
from msgspec.structs import replace

from dragoman.conversation.bounded_cache import IdentityCache, remembered
from dragoman.conversation.literals import quote, unquote
from dragoman.conversation.parts import Json
from dragoman.conversation.tools import NativeTool, Tool
from dragoman.dialects.near_misses.tools import MeantTool, MeantTools, ToolForm, parse_meant_tools
from dragoman.dialects.ollama import NAME, ORIGIN
from dragoman.dialects.ollama.schema import open_tool
from dragoman.dialects.shared.ownership import own_tool, require_own
from dragoman.dialects.shared.parsing import extras_of, take_function
from dragoman.dialects.shared.rendering import begin_tool, inside
from dragoman.dialects.shared.top_level import Tools
from dragoman.dialects.shared.wire_schema import fits
from dragoman.errors import Unrepresentable
from dragoman.wire.json_reader import render_object, split_items, split_members

OWN_SCHEMA = "function.parameters"
"""Where the schema of a tool stood that a client of this dialect sent: it knows what its server reads of it."""


def _render_meant(tool: MeantTool) -> Json:
    function = {"name": quote(tool.name), "description": tool.description, "parameters": tool.schema}
    given = {key: value for key, value in function.items() if value is not None}
    return render_object({"type": b'"function"', "function": render_object(given)})


FORM = ToolForm(lambda entry: fits(open_tool, entry), _render_meant, decode=open_tool)


@remembered
def parse_tools(raw: bytes) -> MeantTools:
    """The tools, and whether the client sent an empty list."""
    return MeantTools((), False) if raw == b"null" else parse_meant_tools(raw, FORM, _parse_list)


def _parse_list(raw: bytes) -> tuple[Tools, bool]:
    if raw in (b"", b"null"):
        return (), False
    tools = tuple([_parse_tool(bytes(item), at) for at, item in enumerate(split_items(raw, "/tools"))])
    return tools, not tools


def _parse_tool(raw: bytes, at: int) -> Tool | NativeTool:
    wire = split_members(raw, f"/tools/{at}")
    kind = bytes(wire.pop("type", Raw(b'"function"')))
    if kind not in (b'"function"', b"null", b'""') or "function" not in wire:
        return NativeTool(unquote(kind) if kind[:1] == b'"' else "", raw, ORIGIN, at)
    place = f"/tools/{at}/function"
    function = split_members(wire.pop("function"), place)
    tool = take_function(function, place)
    fields = {f"function.{key}": bytes(value) for key, value in function.items()}
    extras = extras_of(NAME, {**{key: bytes(value) for key, value in wire.items()}, **fields})
    return replace(tool, schema_as=OWN_SCHEMA, extras=extras, at=at)


_NO_ARGUMENTS = b'{"type":"object","properties":{}}'
"""Templates print the schema of every tool."""


def render_tool(tool: Tool | NativeTool) -> Json:
    if isinstance(tool, NativeTool):
        return own_tool(tool, NAME)
    if tool.custom or tool.hint is not None:
        raise Unrepresentable(f"the tool {tool.name} in a request of ollama: it is custom, or has a cache hint")
    extras = require_own(tool.extras, NAME)
    function = begin_tool(tool.name, tool.description)
    function["parameters"] = tool.schema if tool.schema is not None else _NO_ARGUMENTS
    if tool.strict is not None:
        function["strict"] = b"true" if tool.strict else b"false"
    function |= inside("function", extras)
    beside = {key: value for key, value in extras.items() if not key.startswith("function.")}
    return render_object({"type": b'"function"', "function": render_object(function), **beside})


render_tools = IdentityCache[tuple[Tool | NativeTool, ...], Json](
    lambda tools: b"[" + b",".join([render_tool(tool) for tool in tools]) + b"]"
)
