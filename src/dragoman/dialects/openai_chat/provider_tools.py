"""Tools that providers run in Chat: OpenAI's search by a member of the request, and what other vendors added.

Chat does not show runs, but for one vendor that lists them at the end of the message.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from dragoman.conversation.parts import Json, Opaque
from dragoman.conversation.provider_tools import (
    CitationRange,
    Family,
    FoundPage,
    ProviderTool,
    ProviderToolCodec,
    ToolRun,
    WrittenTool,
)
from dragoman.conversation.tools import NativeTool
from dragoman.dialects.families.openai_servers import SERVER, parse_server
from dragoman.dialects.shared.parsing import vendor_id
from dragoman.dialects.shared.provider_tools import (
    DEPTHS,
    Members,
    location_in,
    lost_settings,
    number_in,
    object_in,
    objects_in,
    open_block,
    other_settings,
    render_location,
    word_in,
    words_in,
)
from dragoman.dialects.shared.raw_json import encode

_FAMILIES: Mapping[str, Family] = {
    "openrouter:web_search": Family.WEB_SEARCH,
    "openrouter:web_fetch": Family.WEB_FETCH,
    "openrouter:image_generation": Family.IMAGE,
    "browser_search": Family.WEB_SEARCH,
    "web_search": Family.WEB_SEARCH,
    "code_interpreter": Family.CODE,
    SERVER: Family.MCP,
}
_READ = (
    *("type", "parameters", "allowed_domains", "excluded_domains", "user_location", "max_uses"),
    "search_context_size",
)
_OPTIONS, _PLUGINS, _DOMAINS, _COMPOUND = "web_search_options", "plugins", "search_domain_filter", "compound_custom"
_PARAMETERS = ":"
"""In the type of a tool: it is a router's tool, which has its settings in an object of their own."""


# Declarations


def parse_tool(tool: NativeTool, members: Mapping[str, Json]) -> ProviderTool | None:
    family = _FAMILIES.get(tool.kind)
    if family is None:
        return None
    found = open_block(tool.json)
    if family is Family.MCP:
        return parse_server(found)
    found = {**found, **object_in(found, "parameters")}
    depth = word_in(found, "search_context_size")
    return ProviderTool(
        family,
        words_in(found, "allowed_domains"),
        words_in(found, "excluded_domains"),
        location_in(object_in(found, "user_location")),
        number_in(found, "max_uses"),
        depth if depth in DEPTHS else "",
        further=other_settings(found, _READ),
        name=tool.kind,
    )


def parse_members(members: Mapping[str, Json]) -> Mapping[str, tuple[ProviderTool, ...]]:
    declared: dict[str, tuple[ProviderTool, ...]] = {}
    if members.get(_OPTIONS, b"")[:1] == b"{":
        found = open_block(members[_OPTIONS])
        depth, place = word_in(found, "search_context_size"), object_in(found, "user_location")
        declared[_OPTIONS] = (
            ProviderTool(
                Family.WEB_SEARCH,
                location=location_in(object_in(place, "approximate") or place),
                depth=depth if depth in DEPTHS else "",
                further=other_settings(found, ("search_context_size", "user_location")),
            ),
        )
    plugins = objects_in(open_block(b'{"listed":' + members.get(_PLUGINS, b"[]") + b"}").get("listed"))
    if plugins and all(word_in(one, "id") == "web" for one in plugins):
        found = plugins[0]
        declared[_PLUGINS] = (
            ProviderTool(
                Family.WEB_SEARCH,
                allowed_domains=words_in(found, "include_domains"),
                blocked_domains=words_in(found, "exclude_domains"),
                further=other_settings(found, ("id", "include_domains", "exclude_domains")),
            ),
        )
    return declared


def render_tool(tool: ProviderTool, kind: str) -> WrittenTool | None:
    """By the name that the target's vendor has for it: a type of tool, or the member that asks for it."""
    if tool.family in (Family.MCP, Family.FILE_SEARCH, Family.TOOL_SEARCH):
        return None
    match kind:
        case "web_search_options":
            return _render_options(tool)
        case "search_domain_filter":
            return _render_filter(tool)
        case "compound_custom":
            enabled = {"tools": {"enabled_tools": [_COMPOUND_TOOLS[tool.family]]}}
            return WrittenTool(members={_COMPOUND: encode(enabled)}, lost=lost_settings(tool, ()))
    if _PARAMETERS not in kind:
        return WrittenTool(encode({"type": kind}), lost=lost_settings(tool, ()))
    given: dict[str, Any] = {
        "allowed_domains": tool.allowed_domains,
        "excluded_domains": tool.blocked_domains,
        "max_uses": tool.most_uses,
    }
    if tool.family is Family.WEB_SEARCH:
        given["search_context_size"] = tool.depth
        given["user_location"] = render_location(tool.location) if tool.location else None
    given = {name: value for name, value in given.items() if value}
    written = ("allowed_domains", "blocked_domains", "most_uses", "depth", "location")
    return WrittenTool(
        encode({"type": kind, "parameters": given} if given else {"type": kind}), lost=lost_settings(tool, written)
    )


_COMPOUND_TOOLS = {
    Family.WEB_SEARCH: "web_search",
    Family.WEB_FETCH: "visit_website",
    Family.CODE: "code_interpreter",
    Family.IMAGE: "",
}


def _options(tool: ProviderTool) -> Members:
    options: dict[str, Any] = {}
    if tool.depth:
        options["search_context_size"] = tool.depth
    if tool.location:
        options["user_location"] = {"type": "approximate", "approximate": dict(tool.location)}
    return options


def _render_options(tool: ProviderTool) -> WrittenTool:
    return WrittenTool(members={_OPTIONS: encode(_options(tool))}, lost=lost_settings(tool, ("depth", "location")))


def _render_filter(tool: ProviderTool) -> WrittenTool:
    """A model that searches by itself, with or without being asked. A domain with a minus is never searched."""
    members: dict[str, Json] = {}
    options = {key: value for key, value in _options(tool).items() if key == "search_context_size"}
    if options:
        members[_OPTIONS] = encode(options)
    domains = [*tool.allowed_domains, *(f"-{domain}" for domain in tool.blocked_domains)]
    if domains:
        members[_DOMAINS] = encode(domains)
    return WrittenTool(members=members, lost=lost_settings(tool, ("depth", "allowed_domains", "blocked_domains")))


# Runs


def parse_run(block: Opaque) -> ToolRun | None:
    return None


def render_run(run: ToolRun) -> tuple[Opaque, ...]:
    return ()


_EXECUTED = "executed_tools"
_EXECUTED_FAMILIES = {"search": Family.WEB_SEARCH, "browser_search": Family.WEB_SEARCH, "python": Family.CODE}


def parse_ending(members: Mapping[str, Json]) -> tuple[ToolRun, ...]:
    listed = open_block(b'{"listed":' + members.get(_EXECUTED, b"[]") + b"}").get("listed")
    return tuple([run for one in objects_in(listed) if (run := _parse_executed(one)) is not None])


def _parse_executed(found: Members) -> ToolRun | None:
    family = _EXECUTED_FAMILIES.get(word_in(found, "type"))
    if family is None:
        return None
    results = objects_in(object_in(found, "search_results").get("results"))
    pages = [FoundPage(word_in(one, "url"), word_in(one, "title"), word_in(one, "content")) for one in results]
    arguments = word_in(found, "arguments")
    return ToolRun(
        family,
        vendor_id("run_", f"{number_in(found, 'index')}\n{arguments}"),
        arguments=encode(open_block(arguments.encode())),
        output=word_in(found, "output") or None,
        pages=tuple([page for page in pages if page.url]),
    )


CODEC = ProviderToolCodec(
    parse_tool,
    render_tool,
    parse_run,
    render_run=render_run,
    parse_members=parse_members,
    members=frozenset({_OPTIONS, _PLUGINS}),
    parse_ending=parse_ending,
    cites=CitationRange.ANSWER,
)
