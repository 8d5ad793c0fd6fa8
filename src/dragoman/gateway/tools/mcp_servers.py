"""The servers of tools that the gateway is connected to, and what they offer.

Two keys never share a connection, since a server keeps a session for each. What a server offers depends on the
credential alone, and is remembered for a while.
"""

from __future__ import annotations

import asyncio
import hashlib
import time
from collections import Counter, OrderedDict
from collections.abc import Awaitable, Callable
from typing import Any, TypeVar

import msgspec
from mcp import Client
from mcp_types import CallToolResult
from msgspec.structs import replace

from dragoman.config.schema.tools import McpTransport, ToolsConfig, ToolServer
from dragoman.conversation.literals import quote, unquote
from dragoman.conversation.parts import Media
from dragoman.conversation.tools import Tool
from dragoman.gateway.tools.answer_bounds import AnswerBounds
from dragoman.gateway.tools.found_text import hide
from dragoman.gateway.tools.mcp_connections import ConnectionOptions, McpConnection, ServerFailed, ServerWay
from dragoman.gateway.tools.mcp_results import read_result
from dragoman.upstream.transport.address_guard import public_only
from dragoman.upstream.transport.proxy import Proxies
from dragoman.upstream.transport.transport import Transport

_T = TypeVar("_T")
_MOST_PAGES = 100
_MOST_KEPT = 16 * 1024 * 1024
"""Bytes of all lists that are remembered."""
_MOST_WAYS = 4096
_HANDSHAKE = "legacy"
"""The SDK's word for the older era."""
_TOOL_FAILED, _SERVER_FAILED, _HTTP_FAILED = "mcp_tool_execution_error", "mcp_protocol_error", "http_error"


class ListedTool(msgspec.Struct, frozen=True):
    """A tool as its server offers it."""

    tool: Tool
    read_only: bool
    """It says that it changes nothing."""


class ToolListing(msgspec.Struct, frozen=True):
    """What a server offers, by name."""

    tools: tuple[ListedTool, ...]
    size: int
    ends: float
    """Until when it may be taken for what the server would say."""


class CalledTool(msgspec.Struct, frozen=True):
    """What a call brought."""

    text: str
    error: str = ""
    """Whose error `text` tells: the tool's, or the server's, by MCP or by HTTP. Empty: there is none."""
    code: int = 0
    """The number of the server's error."""
    media: tuple[Media, ...] = ()


class _Place(msgspec.Struct, eq=False):
    """Where the connection of one key to one server is, once it is open."""

    lock: asyncio.Lock = msgspec.field(default_factory=asyncio.Lock)
    connection: McpConnection | None = None

    @property
    def free(self) -> bool:
        """Nobody uses it, or is about to."""
        return not self.lock.locked() and (self.connection is None or not self.connection.busy)


class McpServers:
    """All connections of this process. Another `config` may be set at any time."""

    def __init__(self, config: ToolsConfig) -> None:
        self.config = config
        self._named = Transport()
        self._public = Transport(proxies=Proxies(), guard=public_only)
        self._places: OrderedDict[tuple[str, str], _Place] = OrderedDict()
        self._connections: dict[asyncio.Task[None], McpConnection] = {}
        """All that have not come to their end yet, by their tasks."""
        self._listings: OrderedDict[str, ToolListing] = OrderedDict()
        self._kept = 0
        self._ways: OrderedDict[str, ServerWay] = OrderedDict()

    async def try_list(self, caller: str, server: ToolServer) -> ToolListing | str:
        """What it offers, sorted by name; or why that cannot be had."""
        try:
            return await self._list(caller, server)
        except ServerFailed as failed:
            return failed.why

    async def try_call(self, caller: str, server: ToolServer, name: str, arguments: dict[str, object]) -> CalledTool:
        """Call a tool."""

        async def call(client: Client) -> CallToolResult:
            return await client.call_tool(name, arguments)

        try:
            result, connection = await self._ask(caller, server, call)
        except ServerFailed as failed:
            error = _HTTP_FAILED if failed.status else _SERVER_FAILED
            return CalledTool(f"The server of the tool failed: {failed.why}.", error, failed.status or failed.code)
        text, media = read_result(result, connection.secrets)
        return CalledTool(text, _TOOL_FAILED if result.is_error else "", media=media)

    async def _list(self, caller: str, server: ToolServer) -> ToolListing:
        identity = server_identity(server)
        known = self._listings.get(identity)
        if known is not None and known.ends > time.monotonic():
            self._listings.move_to_end(identity)
            return known
        listing, connection = await self._ask(caller, server, self._read_tools)
        listing = _without_secrets(listing, connection.secrets)
        self._keep(identity, listing)
        return listing

    async def close(self) -> None:
        self._places.clear()
        await asyncio.gather(*[connection.close() for connection in tuple(self._connections.values())])
        await self._named.close()
        await self._public.close()

    async def _ask(
        self, caller: str, server: ToolServer, what: Callable[[Client], Awaitable[_T]]
    ) -> tuple[_T, McpConnection]:
        """Ask over the connection of this key; over a new one, if the server has forgotten the session."""
        connection = await self._connection(caller, server)
        try:
            return await connection.ask(what, server.timeout), connection
        except ServerFailed:
            identity = server_identity(server)
            if identity in self._ways and self._ways[identity].mode != _HANDSHAKE:
                del self._ways[identity]  # it may be an older version of the server, which is asked otherwise
            if not connection.lost_session:
                raise
        await connection.close()
        renewed = await self._connection(caller, server)
        return await renewed.ask(what, server.timeout), renewed

    async def _connection(self, caller: str, server: ToolServer) -> McpConnection:
        identity = server_identity(server)
        key = (caller, identity)
        place = self._places.get(key)
        if place is None:
            await self._make_room(caller)
            place = self._places.setdefault(key, _Place())
        self._places.move_to_end(key)
        async with place.lock:
            if place.connection is None or place.connection.ended:
                place.connection = await self._open(identity, server)
            return place.connection

    async def _make_room(self, caller: str) -> None:
        """For one more of this key: what has ended goes first. Then it takes the place of one of its own if it has half
        of all places, else that of a key with the most of them. Of those, the one goes that has been unused for the
        longest time."""
        for key in [key for key, place in self._places.items() if place.connection and place.connection.ended]:
            del self._places[key]
        most = self.config.max_connections
        while True:
            held = Counter([owner for owner, _ in self._places])
            is_greedy = held[caller] >= max(1, most // 2)
            if not is_greedy and len(self._places) < most:
                return
            keys = [key for key in self._places if not is_greedy or key[0] == caller]
            free = next((key for key in sorted(keys, key=lambda key: -held[key[0]]) if self._places[key].free), None)
            if free is None:
                whose = "that a key may have" if is_greedy else "to servers of tools"
                raise ServerFailed(f"all connections {whose} are in use (tools.max_connections)", 503)
            connection = self._places.pop(free).connection
            if connection is not None:
                await connection.close()

    async def _open(self, identity: str, server: ToolServer) -> McpConnection:
        """By the way that worked the last time, else by those that there are."""
        bounds = AnswerBounds(self.config.answer_bytes, self.config.answer_values)
        options = ConnectionOptions(self._named, self._public, bounds, self.config.idle)
        failure = ServerFailed("it cannot be reached")
        for way in dict.fromkeys([*([self._ways[identity]] if identity in self._ways else []), *_ways(server)]):
            connection = McpConnection(server, way, options, lambda: self._forget(identity))
            self._connections[connection.task] = connection
            connection.task.add_done_callback(self._connections.pop)
            try:
                self._remember(identity, await connection.opened())
                return connection
            except ServerFailed as failed:
                # The older way is tried last, and tells less of what is wrong.
                is_explained = failure.status or failure.code
                failure = failed if not way.sse or (failed.status and not is_explained) else failure
                await connection.close()
            except BaseException:
                await connection.close()
                raise
        self._ways.pop(identity, None)
        raise failure

    def _remember(self, identity: str, way: ServerWay) -> None:
        self._ways[identity] = way
        if len(self._ways) > _MOST_WAYS:
            self._ways.popitem(last=False)

    async def _read_tools(self, client: Client) -> ToolListing:
        tools: dict[str, ListedTool] = {}
        size, cursor, ttl = 0, None, self.config.list_ttl
        for _ in range(_MOST_PAGES):
            page = await client.list_tools(cursor=cursor)
            for one in page.tools:
                schema = msgspec.json.encode(one.input_schema)
                described = quote(one.description) if one.description is not None else None
                size += len(schema) + len(described or b"") + len(one.name)
                hints = one.annotations
                changes_nothing = hints is not None and hints.read_only_hint is True
                tools[one.name] = ListedTool(Tool(one.name, described, schema), changes_nothing)
                if len(tools) > self.config.max_tools:
                    raise ServerFailed(f"it offers more than {self.config.max_tools} tools (tools.max_tools)")
                if size > self.config.answer_bytes:
                    raise ServerFailed(
                        f"its tools take more than {self.config.answer_bytes} bytes (tools.answer_bytes)"
                    )
            ttl = min(ttl, page.ttl_ms / 1000) if page.ttl_ms else ttl
            cursor = page.next_cursor
            if not cursor:
                ends = time.monotonic() + ttl
                return ToolListing(tuple([tools[name] for name in sorted(tools)]), size, ends)
        raise ServerFailed(f"its list of tools has more than {_MOST_PAGES} pages")

    def _keep(self, identity: str, listing: ToolListing) -> None:
        self._forget(identity)
        self._listings[identity] = listing
        self._kept += listing.size
        while self._kept > _MOST_KEPT:
            self._kept -= self._listings.popitem(last=False)[1].size

    def _forget(self, identity: str) -> None:
        listing = self._listings.pop(identity, None)
        if listing is not None:
            self._kept -= listing.size


def _without_secrets(listing: ToolListing, secrets: list[str]) -> ToolListing:
    """The list as a model may read it, should the server repeat a secret in it."""
    tools = [one if _is_free(one.tool, secrets) else _hide_in(one, secrets) for one in listing.tools]
    return replace(listing, tools=tuple([one for one in tools if not _holds(one.tool.name, secrets)]))


def _is_free(tool: Tool, secrets: list[str]) -> bool:
    return not any(_holds(text.decode(), secrets) for text in (tool.description, tool.schema) if text is not None)


def _holds(text: str, secrets: list[str]) -> bool:
    return any(secret in text for secret in secrets)


def _hide_in(listed: ListedTool, secrets: list[str]) -> ListedTool:
    tool = listed.tool
    described = quote(hide(unquote(tool.description), secrets)) if tool.description is not None else None
    schema = msgspec.json.encode(_hide_in_values(msgspec.json.decode(tool.schema or b"{}"), secrets))
    return replace(listed, tool=replace(tool, description=described, schema=schema))


def _hide_in_values(value: Any, secrets: list[str]) -> Any:
    """Names of members stay: a secret may be a word that schemas have."""
    if isinstance(value, str):
        return hide(value, secrets)
    if isinstance(value, list):
        return [_hide_in_values(one, secrets) for one in value]
    return {name: _hide_in_values(one, secrets) for name, one in value.items()} if isinstance(value, dict) else value


def _ways(server: ToolServer) -> list[ServerWay]:
    streamable, sse = ServerWay(), ServerWay(_HANDSHAKE, sse=True)
    if server.url is None:
        # Programs made with the Rust SDK before 3.0 end at the question of the newer era.
        return [streamable, ServerWay(_HANDSHAKE)]
    return {
        McpTransport.AUTO: [streamable, sse],
        McpTransport.STREAMABLE: [streamable],
        McpTransport.SSE: [sse],
    }[server.transport]


def server_identity(server: ToolServer) -> str:
    """Equal for two that are the same server with the same credential, whatever may be called there."""
    login = server.oauth
    values = [
        server.url,
        server.command,
        sorted((name.lower(), value.reveal()) for name, value in server.headers.items()),
        sorted((name, value.reveal()) for name, value in server.env.items()),
        server.token.reveal() if server.token is not None else None,
        [login.issuer, login.client_id, login.client_secret.reveal(), login.scope] if login is not None else None,
    ]
    return hashlib.sha256(msgspec.json.encode(values)).hexdigest()
