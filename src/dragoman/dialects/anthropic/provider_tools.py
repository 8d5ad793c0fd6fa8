"""Tools that Anthropic runs: their declarations, and the blocks of calls and results.

A call and its result are two blocks of one turn. MCP servers stand in a member of their own, each with a toolset in the
list of tools; an older form of the member does without one.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from dragoman.conversation.envelope import seal, unseal
from dragoman.conversation.parts import Json, Media, Opaque
from dragoman.conversation.provider_tools import (
    CitationRange,
    Family,
    FoundPage,
    McpServer,
    ProviderTool,
    ProviderToolCodec,
    ToolRun,
    WrittenTool,
)
from dragoman.conversation.tools import NativeTool, Tool
from dragoman.dialects.anthropic import ORIGIN
from dragoman.dialects.near_misses.parts import parse_part_of_any
from dragoman.dialects.shared.parsing import vendor_id
from dragoman.dialects.shared.provider_tools import (
    NOTHING,
    Members,
    find_sealed,
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

_SERVERS = "mcp_servers"
_TOOLSET = "mcp_toolset"
_SECURE = "https://"
_FAMILIES = (
    ("web_search", Family.WEB_SEARCH),
    ("web_fetch", Family.WEB_FETCH),
    ("code_execution", Family.CODE),
    ("bash_code_execution", Family.CODE),
    ("text_editor_code_execution", Family.CODE),
    ("tool_search_tool", Family.TOOL_SEARCH),
    ("mcp_tool", Family.MCP),
)
"""How types and names begin, of tools and of their blocks."""
_READ = ("type", "name", "allowed_domains", "blocked_domains", "user_location", "max_uses", "cache_control")
_READ_OF_TOOLSET = ("type", "mcp_server_name", "default_config", "configs", "cache_control")


def _find_family(word: str) -> Family | None:
    return next((family for beginning, family in _FAMILIES if word.startswith(beginning)), None)


# Declarations


def parse_tool(tool: NativeTool, members: Mapping[str, Any]) -> ProviderTool | None:
    found, family = open_block(tool.json), _find_family(tool.kind)
    if family is None:
        return None
    if family is Family.MCP:
        label = word_in(found, "mcp_server_name")
        server = members.get(label, NOTHING)
        return ProviderTool(
            Family.MCP, server=_parse_server(server, found), further=other_settings(found, _READ_OF_TOOLSET)
        )
    further = other_settings(found, _READ)
    if found.get("allowed_callers") == ["direct"]:
        further = tuple([name for name in further if name != "allowed_callers"])
    return ProviderTool(
        family,
        words_in(found, "allowed_domains"),
        words_in(found, "blocked_domains"),
        location_in(object_in(found, "user_location")),
        number_in(found, "max_uses"),
        further=further,
        name=word_in(found, "name"),
    )


def open_members(members: Mapping[str, Json]) -> Mapping[str, Any]:
    """The servers, by the names that toolsets call them."""
    return {word_in(one, "name"): one for one in reversed(_servers(members))}


def parse_members(members: Mapping[str, Json]) -> Mapping[str, tuple[ProviderTool, ...]]:
    """The servers, as they are without a toolset in the list."""
    servers = [ProviderTool(Family.MCP, server=_parse_server(one, NOTHING)) for one in _servers(members)]
    return {_SERVERS: tuple(servers)} if servers else {}


def _servers(members: Mapping[str, Json]) -> list[Members]:
    return objects_in(open_block(b'{"servers":' + members.get(_SERVERS, b"[]") + b"}").get("servers"))


def _parse_server(server: Members, toolset: Members) -> McpServer:
    usual, configs, older = (
        object_in(toolset, "default_config"),
        object_in(toolset, "configs"),
        object_in(server, "tool_configuration"),
    )
    turned = {name: config.get("enabled") for name, config in configs.items() if isinstance(config, dict)}
    allowed = words_in(older, "allowed_tools") if isinstance(older.get("allowed_tools"), list) else None
    if usual.get("enabled") is False or older.get("enabled") is False:
        allowed = tuple([name for name, enabled in turned.items() if enabled is True])
    return McpServer(
        word_in(server, "name") or word_in(toolset, "mcp_server_name"),
        word_in(server, "url"),
        word_in(server, "authorization_token"),
        allowed=allowed,
        barred=tuple([name for name, enabled in turned.items() if enabled is False]),
        deferred=usual.get("defer_loading") is True,
    )


def render_tool(tool: ProviderTool, kind: str) -> WrittenTool | None:
    match tool.family:
        case Family.WEB_SEARCH | Family.WEB_FETCH:
            return _render_web(tool, kind)
        case Family.MCP:
            return _render_server(tool.server, tool.further) if tool.server is not None else None
        case Family.CODE:
            name = "code_execution"
        case Family.TOOL_SEARCH:
            name = kind.rpartition("_")[0] if kind[-1:].isdigit() else kind
        case _:
            return None
    return WrittenTool(encode({"type": kind, "name": name}), lost=lost_settings(tool, ()))


def _render_web(tool: ProviderTool, kind: str) -> WrittenTool:
    """A search, or a fetch, which has no place. Domains are either allowed or blocked."""
    searches = tool.family is Family.WEB_SEARCH
    wire: dict[str, Any] = {"type": kind, "name": "web_search" if searches else "web_fetch"}
    written = ["most_uses"]
    domains = "allowed_domains" if tool.allowed_domains else "blocked_domains"
    if found := getattr(tool, domains):
        wire[domains] = found
        written.append(domains)
    if tool.location and searches:
        wire["user_location"] = render_location(tool.location)
        written.append("location")
    if tool.most_uses is not None:
        wire["max_uses"] = tool.most_uses
    return WrittenTool(encode(wire), lost=lost_settings(tool, written))


def _render_server(server: McpServer, further: tuple[str, ...]) -> WrittenTool | None:
    """A server and its toolset. There is no approval and there are no headers: what needs them is not declared."""
    asks = server.approved is not None or server.read_only or server.headers
    if asks or not server.url.startswith(_SECURE) or not server.label:
        return None
    usual: dict[str, Any] = {} if server.allowed is None else {"enabled": False}
    if server.deferred:
        usual["defer_loading"] = True
    configs = {name: {"enabled": True} for name in server.allowed or ()}
    configs |= {name: {"enabled": False} for name in server.barred}
    toolset: dict[str, Any] = {"type": _TOOLSET, "mcp_server_name": server.label}
    toolset |= {"default_config": usual} if usual else {}
    toolset |= {"configs": configs} if configs else {}
    declared = {"type": "url", "name": server.label, "url": server.url}
    if server.authorization:
        declared["authorization_token"] = server.authorization
    return WrittenTool(encode(toolset), {_SERVERS: encode([declared])}, further)


# Runs


def parse_run(block: Opaque) -> ToolRun | None:
    found = open_block(block.json)
    if block.kind in ("server_tool_use", "mcp_tool_use"):
        return _parse_call(block.kind, found)
    family = _find_family(block.kind) if block.kind.endswith("_tool_result") else None
    return _parse_result(family, found) if family is not None else None


def _parse_call(kind: str, found: Members) -> ToolRun | None:
    name = word_in(found, "name")
    family = Family.MCP if kind == "mcp_tool_use" else _find_family(name)
    if family is None:
        return None
    arguments = encode(object_in(found, "input"))
    return ToolRun(family, word_in(found, "id"), name, arguments, True, server=word_in(found, "server_name"))


def _parse_result(family: Family, found: Members) -> ToolRun:
    content, identity = found.get("content"), word_in(found, "tool_use_id")
    inner = content if isinstance(content, dict) else NOTHING
    error = word_in(inner, "error_code")
    match family:
        case Family.WEB_SEARCH:
            entries = objects_in(content) if not error else []
            pages = tuple([_parse_page(entry) for entry in entries])
            contents = [word_in(entry, "encrypted_content") for entry in entries]
            state = next((sealed for text in contents if (sealed := find_sealed(text))), "")
            signed = any(text and unseal(text) is None for text in contents)
            return ToolRun(family, identity, pages=pages, error=error, state=state, goes_back=signed)
        case Family.WEB_FETCH:
            pages = _parse_fetched(inner)
            return ToolRun(family, identity, pages=pages, error=error, goes_back=bool(pages))
        case Family.TOOL_SEARCH:
            names = [word_in(entry, "tool_name") for entry in objects_in(inner.get("tool_references"))]
            return ToolRun(family, identity, tools=tuple([Tool(name) for name in names]), error=error)
        case Family.MCP:
            texts = [content] if isinstance(content, str) else [word_in(one, "text") for one in objects_in(content)]
            parts = [parse_part_of_any(encode(one)) for one in objects_in(content)]
            media = tuple([part for part in parts if isinstance(part, Media)])
            failed = "error" if found.get("is_error") is True else ""
            return ToolRun(family, identity, output="\n".join(filter(None, texts)), media=media, error=failed)
    return ToolRun(family, identity, output=_printed(inner), error=error)


def _parse_page(entry: Members) -> FoundPage:
    return FoundPage(word_in(entry, "url"), word_in(entry, "title"), age=word_in(entry, "page_age"))


def _parse_fetched(found: Members) -> tuple[FoundPage, ...]:
    """A page with its text. Bytes, such as those of a PDF, are not shown."""
    url, document = word_in(found, "url"), object_in(found, "content")
    source = object_in(document, "source")
    text = word_in(source, "data") if word_in(source, "type") == "text" else ""
    title = word_in(document, "title") or word_in(found, "title")
    return (FoundPage(url, title, text, word_in(found, "retrieved_at")),) if url else ()


def _printed(found: Members) -> str:
    """What a run of code printed, what an editor shows, and files that came of it."""
    texts = [word_in(found, name) for name in ("stdout", "stderr", "content")]
    code = number_in(found, "return_code")
    texts += [f"return code: {code}"] if code else []
    texts += [f"file: {word_in(file, 'file_id')}" for file in objects_in(found.get("content")) if "file_id" in file]
    return "\n".join([text.rstrip("\n") for text in texts if text])


def render_run(run: ToolRun) -> tuple[Opaque, ...]:
    arguments = open_block(run.arguments or b"{}")
    if run.family is Family.MCP:
        return _render_mcp(run, arguments)
    form = _FORMS.get(run.family)
    if form is None:
        return ()
    name, kind = form
    identity = vendor_id("srvtoolu_", run.id)
    call = {"type": "server_tool_use", "id": identity, "name": name, "input": arguments, "caller": {"type": "direct"}}
    failed = run.error and not (run.family is Family.CODE and run.output)  # code that printed has a result
    content = {"type": f"{kind}_error", "error_code": run.error} if failed else _render_content(run, arguments)
    result = {"type": kind, "tool_use_id": identity, "content": content, "caller": {"type": "direct"}}
    return _make_block("server_tool_use", call), _make_block(kind, result)


_FORMS: Mapping[Family, tuple[str, str]] = {
    Family.WEB_SEARCH: ("web_search", "web_search_tool_result"),
    Family.WEB_FETCH: ("web_fetch", "web_fetch_tool_result"),
    Family.CODE: ("code_execution", "code_execution_tool_result"),
    Family.TOOL_SEARCH: ("tool_search_tool_bm25", "tool_search_tool_result"),
}
"""The name of the call and the type of the result."""


def _make_block(kind: str, wire: Members) -> Opaque:
    return Opaque(kind=kind, json=encode(wire), origin=ORIGIN)


def _render_content(run: ToolRun, arguments: Members) -> Any:
    match run.family:
        case Family.WEB_SEARCH:
            return [_render_page(page, "" if number else run.state) for number, page in enumerate(run.pages)]
        case Family.WEB_FETCH:
            page = run.pages[0] if run.pages else FoundPage(word_in(arguments, "url"))
            source = {"type": "text", "media_type": "text/plain", "data": page.text or run.output or ""}
            document = {"type": "document", "source": source, "title": page.title or None}
            fetched = {"type": "web_fetch_result", "url": page.url, "content": document}
            return {**fetched, "retrieved_at": page.age or None}
        case Family.TOOL_SEARCH:
            found = [{"type": "tool_reference", "tool_name": tool.name} for tool in run.tools]
            return {"type": "tool_search_tool_search_result", "tool_references": found}
    place, other = ("stderr", "stdout") if run.error else ("stdout", "stderr")
    printed = {place: run.output or "", other: "", "return_code": int(bool(run.error)), "content": []}
    return {"type": "code_execution_result", **printed}


_UNREAD = seal(Opaque(kind="page", json=b"", origin=ORIGIN))
"""Stands for the content that only Anthropic could read, if another vendor has found the page."""


def _render_page(page: FoundPage, state: str) -> Members:
    wire = {"type": "web_search_result", "title": page.title or page.url, "url": page.url}
    return {**wire, "encrypted_content": state or _UNREAD, "page_age": page.age or None}


def _render_mcp(run: ToolRun, arguments: Members) -> tuple[Opaque, ...]:
    identity = vendor_id("mcptoolu_", run.id)
    call = {"type": "mcp_tool_use", "id": identity, "name": run.name, "server_name": run.server, "input": arguments}
    content = [{"type": "text", "text": run.output or run.error}] if run.output or run.error else []
    result = {"type": "mcp_tool_result", "tool_use_id": identity, "is_error": bool(run.error), "content": content}
    return _make_block("mcp_tool_use", call), _make_block("mcp_tool_result", result)


def render_usage(runs: Sequence[ToolRun]) -> Mapping[str, Json]:
    searches, fetches = (sum(run.family is one for run in runs) for one in (Family.WEB_SEARCH, Family.WEB_FETCH))
    counts = {"web_search_requests": searches, "web_fetch_requests": fetches}
    return {"server_tool_use": encode(counts)} if searches or fetches else {}


CODEC = ProviderToolCodec(
    parse_tool,
    render_tool,
    parse_run,
    render_run,
    parse_members,
    frozenset({_SERVERS}),
    render_usage=render_usage,
    cites=CitationRange.BLOCK,
    cited="citations",
    open_members=open_members,
)
