"""One connection to a server of tools, spoken to with the official SDK.

The SDK's scopes belong to the task that entered them. So each connection lives in a task of its own, which opens it,
waits, and closes it; requests ask over it from their own tasks, and a cancelled request cancels what it asked.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import time
from collections.abc import Awaitable, Callable
from contextlib import AbstractAsyncContextManager, AsyncExitStack
from typing import Any, TypeVar
from urllib.parse import parse_qsl, urlsplit

import anyio
import httpx2
import msgspec
from mcp import Client, MCPError
from mcp.client.auth.extensions.client_credentials import ClientCredentialsOAuthProvider
from mcp.client.sse import sse_client
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.auth import OAuthClientInformationFull, OAuthToken
from mcp_types import CONNECTION_CLOSED, PARSE_ERROR, Implementation, ToolListChangedNotification

from dragoman.config.schema.tools import ToolServer
from dragoman.gateway.tools.answer_bounds import AnswerBounds
from dragoman.gateway.tools.found_text import hide
from dragoman.gateway.tools.guarded_http import GuardedHttp
from dragoman.gateway.tools.stdio_programs import run_program
from dragoman.upstream.transport.address import parse_address
from dragoman.upstream.transport.failures import TransportFailure
from dragoman.upstream.transport.transport import Transport

_T = TypeVar("_T")
_LONGEST_REASON = 500
_OF_SESSIONS = frozenset({"mcp-session-id", "last-event-id", "mcp-protocol-version"})
"""Headers that the SDK sets: a client could name the session of another key."""
_SHORTEST_SECRET = 8
_SHORTEST_KEY = 16
"""Of the query of a URL, which has other words too."""
_STAND_INS = frozenset({"Not Found", "Session terminated", "Server returned an error response"})
"""What the SDK says for an HTTP status without an error of MCP."""
_QUOTES = "validation error"
"""What the SDK says before it quotes an answer that it could not read."""
# The SDK logs what servers send, and what they answer to a login. Our own log has what is to be known.
for _name in ("client", "mcp.client.auth.oauth2", "mcp.client.sse", "mcp.client.streamable_http", "mcp.client.client"):
    logging.getLogger(_name).setLevel(logging.CRITICAL + 1)


class ServerFailed(Exception):
    """A server of tools did not do what it was asked, and why: for people, without secrets."""

    def __init__(self, why: str, status: int = 0, code: int = 0) -> None:
        super().__init__(why)
        self.why = why
        self.status = status
        """What it answered by HTTP; 0 if that is not why."""
        self.code = code
        """The number of the error that it answered by MCP; 0 if that is not why."""


class ServerWay(msgspec.Struct, frozen=True):
    """How a server is spoken to. What worked is remembered, so that nothing is tried in vain each time."""

    mode: str = "auto"
    """The SDK's word for the era of the protocol."""
    sse: bool = False
    """Over the older HTTP with server-sent events."""


class TokenMemory:
    """Where the SDK keeps the tokens of a login: in the memory of one connection."""

    def __init__(self, secrets: list[str]) -> None:
        self._secrets = secrets
        self._tokens: OAuthToken | None = None

    async def get_tokens(self) -> OAuthToken | None:
        return self._tokens

    async def set_tokens(self, tokens: OAuthToken) -> None:
        self._tokens = tokens
        self._secrets.extend([word for word in (tokens.access_token, tokens.refresh_token) if word])

    async def get_client_info(self) -> OAuthClientInformationFull | None:
        return None

    async def set_client_info(self, client_info: OAuthClientInformationFull) -> None:
        """The client is registered already."""


class ConnectionOptions(msgspec.Struct, frozen=True):
    """What all connections share."""

    named: Transport
    """Reaches every address."""
    public: Transport
    """Reaches public addresses alone."""
    bounds: AnswerBounds
    """What one answer may hold."""
    idle: float
    """Seconds until an unused connection closes itself."""


class McpConnection:
    """Opens at once, and closes itself when it has not been used for long. `secrets` may not be shown to anybody."""

    def __init__(
        self, server: ToolServer, way: ServerWay, options: ConnectionOptions, on_change: Callable[[], None]
    ) -> None:
        self._server = server
        self._way = way
        self._options = options
        self._on_change = on_change
        self.secrets = find_secrets(server)
        self._http: GuardedHttp | None = None
        self._closing = anyio.Event()
        self._opened: asyncio.Future[Client] = asyncio.get_running_loop().create_future()
        self.busy = 0
        self.used = time.monotonic()
        self.task = asyncio.create_task(self._live())

    @property
    def ended(self) -> bool:
        return self._closing.is_set() or self.task.done()

    async def opened(self) -> ServerWay:
        """Wait until it is open. Returns the way that leads there the next time. Raises ServerFailed."""
        client = await self.ask(_return_client, self._server.timeout)
        modern = client.session.discover_result is not None
        return ServerWay(client.protocol_version if modern else "legacy", self._way.sse)

    async def ask(self, what: Callable[[Client], Awaitable[_T]], seconds: float) -> _T:
        """Ask the server. Raises ServerFailed."""
        asked = asyncio.ensure_future(self._ask(what))
        self.busy += 1
        try:
            await asyncio.wait({asked, self.task}, timeout=seconds, return_when=asyncio.FIRST_COMPLETED)
            if asked.done():
                return asked.result()
            if self.task.done():
                raise ServerFailed("it closed the connection", self._status)
            raise ServerFailed(f"no answer within {seconds:g} s")
        except ServerFailed:
            raise
        except Exception as error:
            if isinstance(error, MCPError) and error.code == CONNECTION_CLOSED:
                self._closing.set()
            raise self._failure(error) from None
        finally:
            self.busy -= 1
            self.used = time.monotonic()
            if not asked.done():
                asked.cancel()
                asked.add_done_callback(_ignore)

    async def close(self) -> None:
        """Let go of the server. It has a few seconds to say goodbye."""
        self._closing.set()
        if not self._opened.done():
            self.task.cancel()
        done, _ = await asyncio.wait({self.task}, timeout=5)
        if not done:
            self.task.cancel()
            await asyncio.wait({self.task}, timeout=5)

    @property
    def lost_session(self) -> bool:
        """The server has forgotten us, so that what was asked was not done."""
        return self._http is not None and self._http.lost_session

    @property
    def _status(self) -> int:
        return self._http.status if self._http is not None else 0

    async def _ask(self, what: Callable[[Client], Awaitable[_T]]) -> _T:
        return await what(await asyncio.shield(self._opened))

    async def _live(self) -> None:
        try:
            async with AsyncExitStack() as stack:
                client = Client(
                    await self._transport(stack),
                    mode=self._way.mode,
                    cache=None,
                    read_timeout_seconds=self._server.timeout,
                    message_handler=self._notice,
                    client_info=Implementation(name="dragoman", version="1"),
                )
                await stack.enter_async_context(client)
                # The SDK checks results by the server's schema, with its patterns, and throws away what does not fit.
                setattr(client.session, "validate_tool_result", _accept)  # noqa: B010
                self._opened.set_result(client)
                await self._wait()
        except BaseException as error:
            if not self._opened.done():
                self._opened.set_exception(self._failure(error))
                self._opened.exception()
            if isinstance(error, asyncio.CancelledError) and not self._closing.is_set():
                raise

    async def _wait(self) -> None:
        """Until it is to be closed, or has not been used for long."""
        while not self._closing.is_set():
            rest = self._options.idle if self.busy else self.used + self._options.idle - time.monotonic()
            if rest <= 0:
                return
            with anyio.move_on_after(rest):
                await self._closing.wait()

    async def _transport(self, stack: AsyncExitStack) -> AbstractAsyncContextManager[Any]:
        server, options = self._server, self._options
        if server.url is None:
            env = {name: value.reveal() for name, value in server.env.items()}
            return run_program(server.command, env, options.bounds)
        origins = {parse_address(url).origin for url in (server.url, server.oauth and server.oauth.issuer) if url}
        self._http = GuardedHttp(options.named, options.public, frozenset(origins), options.bounds, server.timeout)
        headers = {name: value.reveal() for name, value in server.headers.items() if name.lower() not in _OF_SESSIONS}
        if server.token is not None:
            headers["Authorization"] = f"Bearer {server.token.reveal()}"
        auth = self._login(server)

        def make_client(*_: Any, **__: Any) -> httpx2.AsyncClient:
            return httpx2.AsyncClient(transport=self._http, headers=headers, auth=auth, timeout=None, trust_env=False)

        streams: AbstractAsyncContextManager[Any]
        if self._way.sse:
            streams = sse_client(server.url, httpx_client_factory=make_client)
        else:
            client, most = await stack.enter_async_context(make_client()), options.bounds.size
            streams = streamable_http_client(server.url, http_client=client, max_sse_event_size=most)
        return streams

    def _login(self, server: ToolServer) -> httpx2.Auth | None:
        if server.oauth is None or server.url is None:
            return None
        login: httpx2.Auth = ClientCredentialsOAuthProvider(
            server.url,
            TokenMemory(self.secrets),
            server.oauth.client_id,
            server.oauth.client_secret.reveal(),
            scope=server.oauth.scope,
            issuer=server.oauth.issuer,
        )
        return login

    async def _notice(self, message: Any) -> None:
        if isinstance(message, ToolListChangedNotification):
            self._on_change()

    def _failure(self, error: BaseException) -> ServerFailed:
        """What went wrong, in words that may be shown. What the SDK says of its own may hold anything."""
        first = _innermost(error)
        if isinstance(first, ServerFailed):
            return first
        if isinstance(first, TransportFailure):
            return ServerFailed(hide(str(first), self.secrets), self._status)
        if isinstance(first, MCPError) and first.code == PARSE_ERROR and _QUOTES in first.message:
            return ServerFailed("it did not answer as MCP has it")
        if isinstance(first, MCPError) and first.message not in _STAND_INS:
            return ServerFailed(hide(first.message, self.secrets)[:_LONGEST_REASON], code=first.code)
        if isinstance(first, MCPError | httpx2.HTTPStatusError) and self._status:
            return ServerFailed(f"it answered {self._status}", self._status)
        if isinstance(first, OSError):
            return ServerFailed(f"it cannot be started or reached ({first.strerror or type(first).__name__})")
        return ServerFailed(f"it did not answer as MCP has it ({type(first).__name__})")


def find_secrets(server: ToolServer) -> list[str]:
    """What may not be shown: secrets as they are configured, credentials without the word before them (`Bearer`), and
    keys in the query of the URL."""
    values = [secret.reveal() for secret in server.secrets()]
    credentials = [value.partition(" ")[2] for value in values if value.count(" ") == 1]
    keys = [value for _, value in parse_qsl(urlsplit(server.url or "").query) if len(value) >= _SHORTEST_KEY]
    return [secret for secret in (*values, *credentials, *keys) if len(secret) >= _SHORTEST_SECRET]


def _innermost(error: BaseException) -> BaseException:
    """The error that others came of: the first of a group, the failure of our transport behind an error of HTTP."""
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return error.__cause__ if isinstance(error.__cause__, TransportFailure) else error


async def _return_client(client: Client) -> Client:
    return client


async def _accept(*_: object) -> None:
    """Every result is good: it is shown to a model, and nothing else is done with it."""


def _ignore(asked: asyncio.Future[Any]) -> None:
    with contextlib.suppress(asyncio.CancelledError):
        asked.exception()
