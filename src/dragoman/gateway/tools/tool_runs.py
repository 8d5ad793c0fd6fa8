"""Runs tools in place of a provider, as the configuration allows: the gateway's `ToolRunner`."""

from __future__ import annotations

import asyncio
import importlib.util
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

import msgspec
from msgspec.structs import replace

from dragoman.config.schema.config_file import Config
from dragoman.config.schema.tools import FetchConfig, SearchConfig, ToolApproval, ToolServer
from dragoman.config.secret import Secret
from dragoman.conversation.failures import Failure, FailureKind
from dragoman.conversation.provider_tools import Family, FoundPage, McpServer, ProviderTool, ToolRun
from dragoman.conversation.tools import Tool
from dragoman.engine.tool_runs.run_limits import RunLimits
from dragoman.errors import ConfigError
from dragoman.gateway.tools.found_text import cut_text, is_allowed_page, render_pages
from dragoman.gateway.tools.searched_pages import find_pages
from dragoman.gateway.tools.web_access import WebAccess, WebFailed, check_url
from dragoman.upstream.transport.address import parse_address
from dragoman.upstream.transport.failures import TransportFailure

if TYPE_CHECKING:
    from dragoman.gateway.tools.mcp_servers import ListedTool, McpServers

_FAILED_DEPENDENCY = 424
_SERVER_FAILED = "mcp_protocol_error"


class GatewayTools:
    """What the gateway can run. Another `config` may be set at any time; requests under way keep theirs."""

    def __init__(self, config: Config) -> None:
        check_extra(config)
        self._configure(config)
        self._web = WebAccess()
        self._servers: McpServers | None = None
        self._loading = asyncio.Lock()

    @property
    def limits(self) -> RunLimits:
        return self.config.tools.limits

    def reconfigure(self, config: Config) -> None:
        self._configure(config)
        if self._servers is not None:
            self._servers.config = config.tools

    def _configure(self, config: Config) -> None:
        self.config, tools = config, config.tools
        self.offers = bool(config.tool_servers)
        able = {
            Family.WEB_SEARCH: tools.search,
            Family.WEB_FETCH: tools.fetch,
            Family.MCP: tools.allow or config.tool_servers,
        }
        self.families = frozenset([family for family, configured in able.items() if configured])

    def offered(self, caller: str, named: tuple[str, ...]) -> tuple[McpServer, ...]:
        key = self.config.keys.get(caller)
        names = sorted({*(key.tool_servers if key is not None else ()), *named})
        known = self.config.tool_servers
        return tuple([_offer(name, known[name]) for name in names if name in known])

    def cost(self, tool: ProviderTool) -> float:
        tools = self.config.tools
        if tool.server is not None:
            known = self.config.tool_servers.get(tool.server.label) if tool.server.configured else None
            return known.cost if known is not None else 0.0
        configured = tools.search if tool.family is Family.WEB_SEARCH else tools.fetch
        return configured.cost if configured is not None else 0.0

    async def list_tools(self, caller: str, server: McpServer) -> tuple[Tool, ...] | Failure:
        found = await self._list(caller, server)
        return found if isinstance(found, Failure) else tuple([one.tool for one in found])

    async def run(self, caller: str, tool: ProviderTool, call: ToolRun) -> ToolRun:
        try:
            arguments = msgspec.json.decode(call.arguments or b"{}")
        except (msgspec.DecodeError, RecursionError):
            arguments = None
        if not isinstance(arguments, dict):
            return replace(call, output="The arguments are not a JSON object.", error="invalid_tool_input")
        try:
            done = await self._run(caller, tool, call, arguments)
        except WebFailed as failed:
            done = replace(call, output=failed.why, error=failed.error)
        return replace(done, output=cut_text(done.output or "", self.limits.bytes))

    async def close(self) -> None:
        await self._web.close()
        if self._servers is not None:
            await self._servers.close()

    async def _run(self, caller: str, tool: ProviderTool, call: ToolRun, arguments: dict[str, Any]) -> ToolRun:
        tools = self.config.tools
        if tool.server is not None:
            return await self._call(caller, tool.server, call, arguments)
        if tool.family is Family.WEB_SEARCH and tools.search is not None:
            return await self._search(caller, tools.search, tool, call, _text_of(arguments, "query"))
        if tool.family is Family.WEB_FETCH and tools.fetch is not None:
            return await self._fetch(caller, tools.fetch, tool, call, _text_of(arguments, "url"))
        return replace(call, output="This tool cannot be run.", error="unavailable")

    async def _call(self, caller: str, server: McpServer, call: ToolRun, arguments: dict[str, Any]) -> ToolRun:
        listed = await self._list(caller, server)
        if isinstance(listed, Failure):
            return replace(call, output=listed.message, error=_SERVER_FAILED)
        if all(one.tool.name != call.name for one in listed):
            return replace(call, output=f"There is no tool {call.name[:200]!r}.", error="invalid_tool_input")
        if server.approved is not None and call.name not in server.approved:
            return replace(call, output="The call was not approved.", error="not_approved")
        known = self._resolve(server)  # another configuration may have come
        if isinstance(known, Failure):
            return replace(call, output=known.message, error=_SERVER_FAILED)
        return await self._call_tool(caller, known, call, call.name, arguments)

    async def _call_tool(
        self, caller: str, server: ToolServer, call: ToolRun, name: str, arguments: dict[str, Any]
    ) -> ToolRun:
        servers = await self._load_servers()
        called = await servers.try_call(caller, server, name, arguments)
        return replace(call, output=called.text, error=called.error, code=called.code, media=called.media)

    async def _search(
        self, caller: str, config: SearchConfig, tool: ProviderTool, call: ToolRun, query: str
    ) -> ToolRun:
        if config.server is None or config.tool is None:
            pages = await self._web.search(config, tool, query)
            return replace(call, output=render_pages(pages), pages=pages)
        server = self.config.tool_servers[config.server]
        done = await self._call_tool(caller, server, call, config.tool, {config.argument: query})
        done = replace(done, media=())  # nobody knows of which page they are
        if done.error:
            return replace(done, error="unavailable", code=0)
        found = await asyncio.to_thread(find_pages, done.output or "")
        pages = _filter_pages(found, tool)[: config.results]
        if pages or tool.allowed_domains or tool.blocked_domains:  # what is not allowed may not be read either
            return replace(done, output=render_pages(pages), pages=pages)
        return done

    async def _fetch(self, caller: str, config: FetchConfig, tool: ProviderTool, call: ToolRun, url: str) -> ToolRun:
        if config.server is None or config.tool is None:
            page = await self._web.fetch(config, tool, url, self.limits.bytes)
            return replace(call, output="\n".join(filter(None, [page.title, page.url, page.text])), pages=(page,))
        check_url(url, tool)
        server = self.config.tool_servers[config.server]
        done = await self._call_tool(caller, server, call, config.tool, {config.argument: url})
        if done.error:
            return replace(done, error="url_not_accessible", code=0)
        return replace(done, pages=(FoundPage(url, "", cut_text(done.output or "", self.limits.bytes)),))

    async def _list(self, caller: str, server: McpServer) -> list[ListedTool] | Failure:
        """The tools that the client and the configuration both allow."""
        known = self._resolve(server)
        if isinstance(known, Failure):
            return known
        servers = await self._load_servers()
        listing = await servers.try_list(caller, known)
        if isinstance(listing, str):
            what = f"Error retrieving tool list from MCP server: '{server.label}'. {listing}"
            return Failure(FailureKind.BAD_REQUEST, what, _FAILED_DEPENDENCY, type="external_connector_error")
        read_only = server.read_only or known.read_only
        allowed, barred = frozenset(server.allowed or ()), frozenset(server.barred)
        return [
            one
            for one in listing.tools
            if (server.allowed is None or one.tool.name in allowed)
            and one.tool.name not in barred
            and (not known.allowed_tools or one.tool.name in known.allowed_tools)
            and (one.read_only or not read_only)
        ]

    def _resolve(self, server: McpServer) -> ToolServer | Failure:
        """How a server is reached: as the configuration says, or with what the client gives if it may name it."""
        if server.configured:
            known = self.config.tool_servers.get(server.label)
            return known or _refuse(f"the MCP server '{server.label}' is not configured any more")
        if not is_allowed_server(server.url, self.config.tools.allow):
            what = f"the MCP server '{server.label}' is none that this gateway may ask; add its address to tools.allow"
            return _refuse(what)
        token = Secret(server.authorization.removeprefix("Bearer ")) if server.authorization else None
        headers = {name: Secret(value) for name, value in server.headers.items()}
        return ToolServer(url=server.url, token=token, headers=headers)

    async def _load_servers(self) -> McpServers:
        """The SDK is large: it is loaded when a server is first asked, beside the event loop."""
        async with self._loading:
            if self._servers is None:
                loaded = await asyncio.to_thread(_load_sdk)
                self._servers = loaded(self.config.tools)
            return self._servers


def check_extra(config: Config) -> None:
    """Raises ConfigError if servers are configured and the SDK is not installed."""
    if (config.tool_servers or config.tools.allow) and importlib.util.find_spec("mcp") is None:
        where = "tool_servers" if config.tool_servers else "tools.allow"
        raise ConfigError("servers of tools need the MCP SDK (pip install 'dragoman[mcp]')", at=where)


def is_allowed_server(url: str, allowed: Iterable[str]) -> bool:
    """Whether a URL is one of these, or below one: of the same origin, with the same beginning of its path."""
    try:
        asked = parse_address(url)
    except TransportFailure:
        return False
    path = asked.target.partition("?")[0].rstrip("/")
    if ".." in unquote(unquote(path)) or "\\" in url or "@" in url:
        return False
    for entry in allowed:
        known = parse_address(entry)
        start = known.target.rstrip("/")
        if asked.origin == known.origin and (path == start or path.startswith(f"{start}/")):
            return True
    return False


def _offer(name: str, server: ToolServer) -> McpServer:
    approved = () if server.approval is ToolApproval.ALWAYS else None
    return McpServer(name, server.url or "", approved=approved, configured=True)


def _refuse(what: str) -> Failure:
    return Failure(FailureKind.BAD_REQUEST, what, 400)


def _text_of(arguments: dict[str, Any], name: str) -> str:
    value = arguments.get(name)
    if not isinstance(value, str):
        raise WebFailed("invalid_tool_input", f"The argument {name!r} is missing.")
    return value


def _filter_pages(pages: Iterable[FoundPage], tool: ProviderTool) -> tuple[FoundPage, ...]:
    allowed, blocked = tool.allowed_domains, tool.blocked_domains
    return tuple([page for page in pages if is_allowed_page(page.url, allowed, blocked)])


def _load_sdk() -> type[McpServers]:
    from dragoman.gateway.tools.mcp_servers import McpServers

    return McpServers
