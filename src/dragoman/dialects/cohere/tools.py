"""Cohere's tools, both ways."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec
from msgspec import Raw

from dragoman.conversation.bounded_cache import remembered
from dragoman.conversation.identity_cache import IdentityCache
from dragoman.conversation.literals import quote, unquote
from dragoman.conversation.parts import Json
from dragoman.conversation.tools import NativeTool, Tool
from dragoman.dialects.cohere import NAME, ORIGIN
from dragoman.dialects.cohere.near_misses import TOOLS
from dragoman.dialects.near_misses.tools import MeantTools, parse_meant_tools
from dragoman.dialects.ownership import own_tool, require_own
from dragoman.dialects.parsing import extras_of
from dragoman.dialects.rendering import put
from dragoman.errors import MalformedRequest, Unrepresentable
from dragoman.wire.json_reader import render_object, split_items, split_members


class _CohereToolFunction(msgspec.Struct, gc=False, forbid_unknown_fields=True):
    name: str
    description: Raw = Raw()
    parameters: Raw = Raw()


class _CohereTool(msgspec.Struct, gc=False, forbid_unknown_fields=True):
    type: str
    function: _CohereToolFunction


_tool = msgspec.json.Decoder(_CohereTool).decode


def parse_tools(source: Mapping[str, Raw]) -> MeantTools:
    """The tools, and whether the client sent an empty list."""
    raw = bytes(source.get("tools", b""))
    return _parse_list(raw) if raw else _NO_TOOLS


_NO_TOOLS = MeantTools((), False)


@remembered
def _parse_list(raw: bytes) -> MeantTools:
    """A list of tools. An agent sends the same ones on every turn, so they are parsed once."""
    return parse_meant_tools(raw, TOOLS, _parse_entries)


def _parse_entries(raw: bytes) -> tuple[tuple[Tool | NativeTool, ...], bool]:
    if raw[:1] != b"[":
        raise MalformedRequest("tools are not a list", at="/tools")
    found = [_parse_tool(bytes(item), index) for index, item in enumerate(split_items(raw, "/tools"))]
    return tuple(found), not found


def _parse_tool(raw: bytes, at: int) -> Tool | NativeTool:
    try:
        wire = _tool(raw)
    except msgspec.DecodeError:
        return _parse_odd(raw, at)
    function = wire.function
    if wire.type != "function":
        return _parse_odd(raw, at)
    return Tool(function.name, _text(function.description), _schema(function.parameters), at=at)


def _parse_odd(raw: bytes, at: int) -> Tool | NativeTool:
    """A function with unknown fields, or a tool of another type."""
    wire = split_members(raw, f"/tools/{at}")
    kind = bytes(wire.get("type", b'""'))
    inner = bytes(wire.get("function", b""))
    if kind != b'"function"' or inner[:1] != b"{":
        return NativeTool(unquote(kind) if kind[:1] == b'"' else "", raw, ORIGIN, at)
    function = dict(split_members(inner, f"/tools/{at}/function"))
    name = bytes(function.pop("name", b""))
    if name[:1] != b'"':
        raise MalformedRequest("a tool without a name", at=f"/tools/{at}/function/name")
    about, schema, strict = (function.pop(key, Raw()) for key in ("description", "parameters", "strict"))
    extras = {key: bytes(value) for key, value in wire.items() if key not in ("type", "function")}
    extras |= {f"function.{key}": bytes(value) for key, value in function.items()}
    marked = {b"true": True, b"false": False}.get(bytes(strict))
    return Tool(unquote(name), _text(about), _schema(schema), marked, extras=extras_of(NAME, extras), at=at)


def _text(raw: Raw) -> bytes | None:
    text = bytes(raw)
    return text if text[:1] == b'"' else None


def _schema(raw: Raw) -> Json | None:
    text = bytes(raw)
    return None if text in (b"", b"null") else text


def _render_list(tools: tuple[Tool | NativeTool, ...]) -> Json:
    return b"[" + b",".join([render_tool(tool) for tool in tools]) + b"]"


render_tools = IdentityCache(_render_list)


def render_tool(tool: Tool | NativeTool) -> Json:
    if isinstance(tool, NativeTool):
        return own_tool(tool, NAME)
    if tool.custom:
        raise Unrepresentable(f"the custom tool {tool.name} in a Cohere request", key="tools")
    fields = require_own(tool.extras, NAME)
    function: dict[str, Json] = {"name": quote(tool.name)}
    if tool.description is not None:
        function["description"] = tool.description
    if tool.schema is not None:
        function["parameters"] = tool.schema
    put(function, "strict", tool.strict)
    function |= {key[9:]: value for key, value in fields.items() if key.startswith("function.")}
    outer = {key: value for key, value in fields.items() if not key.startswith("function.")}
    return render_object({"type": b'"function"', "function": render_object(function), **outer})
