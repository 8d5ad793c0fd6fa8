"""Responses' tools, both ways."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from msgspec import UNSET
from msgspec.structs import replace

from dragoman.conversation.bounded_cache import IdentityCache, remembered
from dragoman.conversation.literals import quote, unquote
from dragoman.conversation.parts import Json
from dragoman.conversation.tools import CallForm, NativeTool, Tool
from dragoman.dialects.families.published_tools import functions_of
from dragoman.dialects.near_misses.tools import NO_ARGUMENTS, MeantTool, MeantTools, ToolForm, parse_meant_tools
from dragoman.dialects.openai_responses import NAME, ORIGIN
from dragoman.dialects.openai_responses.schema import open_declared_tool, open_tool
from dragoman.dialects.shared.ownership import own_tool, require_own
from dragoman.dialects.shared.parsing import extras_of
from dragoman.dialects.shared.raw_json import UNREADABLE, encode, text_in
from dragoman.dialects.shared.rendering import begin_tool
from dragoman.dialects.shared.top_level import Tools
from dragoman.errors import MalformedRequest, Unrepresentable
from dragoman.wire.json_reader import render_object, split_items, split_members


def _fits(entry: Json) -> bool:
    """Whether a tool has the form of Responses, or is a provider's own."""
    try:
        tool = open_tool(entry)
    except UNREADABLE:
        return False
    return tool.type != "function" or tool.name is not UNSET


def _render_meant(tool: MeantTool) -> Json:
    entry = {"type": b'"function"', **begin_tool(tool.name, tool.description)}
    entry["parameters"] = tool.schema or NO_ARGUMENTS
    if tool.strict is not None:
        entry["strict"] = tool.strict
    return render_object(entry)


FORM = ToolForm(_fits, _render_meant, decode=open_declared_tool)


@remembered
def parse_tools(raw: bytes) -> MeantTools:
    """The tools, and whether the client sent an empty list."""
    return parse_meant_tools(raw, FORM, _parse_list)


def _parse_list(raw: bytes) -> tuple[tuple[Tool | NativeTool, ...], bool]:
    if raw in (b"", b"null"):
        return (), False
    if raw[:1] != b"[":
        raise MalformedRequest("tools are not a list", at="/tools")
    tools = tuple([_parse_tool(bytes(item), at) for at, item in enumerate(split_items(raw, "/tools"))])
    return tools, not tools


def parse_late_tools(raw: bytes) -> tuple[Tool | NativeTool, ...]:
    """The tools that an item declares. Their place is that of the item, so they have none in the list."""
    return tuple([_parse_tool(bytes(entry), -1) for entry in split_items(raw) if bytes(entry)[:1] == b"{"])


def _parse_tool(raw: bytes, at: int) -> Tool | NativeTool:
    """A function or a custom tool. Namespaces and a vendor's own tools are kept verbatim, with what they mean."""
    wire = {key: bytes(value) for key, value in split_members(raw, f"/tools/{at}").items() if bytes(value) != b"null"}
    kind = wire.pop("type", b'""')
    named = wire.get("name", b"")[:1] == b'"'
    if kind not in (b'"function"', b'"custom"') or not named or "function" in wire:
        own = unquote(kind) if kind[:1] == b'"' else ""
        return NativeTool(own, raw, ORIGIN, at, _MEANT.get(own, functions_of)(own, wire, at))
    custom = kind == b'"custom"'
    description = wire.pop("description", b"")
    strict = wire.pop("strict", b"") if not custom else b""
    return Tool(
        unquote(wire.pop("name")),
        description if description[:1] == b'"' else None,
        wire.pop("format" if custom else "parameters", None),
        strict == b"true" if strict else None,
        custom,
        extras=extras_of(NAME, wire),
        at=at,
    )


def _open_namespace(kind: str, wire: Mapping[str, Json], at: int) -> tuple[Tool, ...] | None:
    """The functions of a namespace. A call names the namespace beside the function."""
    entries, named = wire.get("tools", b""), wire.get("name", b"")
    if entries[:1] != b"[" or named[:1] != b'"':
        return None
    space, found = unquote(named), []
    for entry in split_items(entries):
        if bytes(entry)[:1] != b"{" or text_in(split_members(entry).get("type")) not in ("function", "custom"):
            continue
        tool = _parse_tool(bytes(entry), at)
        if isinstance(tool, Tool):
            form = CallForm(tool.name, custom=tool.custom, fields={NAMESPACE: named})
            found.append(replace(tool, name=f"{space}__{tool.name}", called=form))
    return tuple(found)


NAMESPACE = "namespace"
SEARCH = "tool_search"


def _describe_search(kind: str, wire: Mapping[str, Json], at: int) -> tuple[Tool, ...]:
    """A search that the client runs. One that the provider runs needs no function: other targets see all tools."""
    if text_in(wire.get("execution")) != "client":
        return ()
    description, schema = wire.get("description", b""), wire.get("parameters", b"")
    words = description if description[:1] == b'"' else quote("Search for tools. Those that are found can be called.")
    schema = schema if schema[:1] == b"{" else _ANY_SEARCH
    return (Tool(SEARCH, words, schema, at=at, called=CallForm(SEARCH, SEARCH)),)


_ANY_SEARCH = b'{"type":"object","properties":{"query":{"type":"string"}},"required":["query"]}'
_MEANT: Mapping[str, Callable[[str, Mapping[str, Json], int], tuple[Tool, ...] | None]] = {
    NAMESPACE: _open_namespace,
    SEARCH: _describe_search,
}
"""Types whose declaration holds what they mean. All others have a published form."""

_UNSAID = b"null"
_NOT_STRICT = b"false"
"""A tool that does not say whether it is strict is strict here: its schema is rewritten, every property required. In
all other dialects it is not."""


def render_tool(tool: Tool | NativeTool, unsaid: Json = _UNSAID) -> Json:
    """A tool. `unsaid` stands for `strict` if the client said nothing: the published types demand the member."""
    if isinstance(tool, NativeTool):
        return own_tool(tool, NAME)
    if tool.hint is not None:
        raise Unrepresentable(f"a cache hint on the tool {tool.name} in a Responses request")
    wire = {"type": b'"custom"' if tool.custom else b'"function"', **begin_tool(tool.name, tool.description)}
    if tool.custom:
        if tool.schema is not None:
            wire["format"] = tool.schema
    else:
        wire["parameters"] = tool.schema if tool.schema is not None else b"null"
        wire["strict"] = unsaid if tool.strict is None else encode(tool.strict)
    return render_object(wire | dict(require_own(tool.extras, NAME)))


def _render_tools(tools: Tools) -> Json:
    return b"[" + b",".join([render_tool(tool) for tool in tools]) + b"]"


def _render_translated_tools(tools: Tools) -> Json:
    return b"[" + b",".join([render_tool(tool, _NOT_STRICT) for tool in tools]) + b"]"


render_tools = IdentityCache(_render_tools)
render_translated_tools = IdentityCache(_render_translated_tools)
