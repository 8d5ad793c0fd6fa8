"""The HTTP client: it takes requests and returns answers."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Awaitable, Callable
from math import inf
from typing import Self, TypeVar

from dragoman.upstream.transport.address import HttpOrigin, parse_address
from dragoman.upstream.transport.address_guard import Guard
from dragoman.upstream.transport.connection import Connection
from dragoman.upstream.transport.dialer import Dialer
from dragoman.upstream.transport.failures import TransportClosed
from dragoman.upstream.transport.incoming import Incoming
from dragoman.upstream.transport.limits import Stats, Timeouts, TransportLimits
from dragoman.upstream.transport.outgoing import Outgoing, render_head
from dragoman.upstream.transport.pool import Pool
from dragoman.upstream.transport.proxy import Proxies
from dragoman.upstream.transport.tls import Tls

_P = TypeVar("_P", bound=asyncio.Protocol)
_DEFAULT_TIMEOUTS = Timeouts()
_SAFE = frozenset({"GET", "HEAD", "OPTIONS"})
"""Methods that change nothing, so that sending twice does no harm."""


class Transport:
    """A pooled HTTP/1.1 client for one event loop.

    By default it uses the proxies of the environment. A `guard` (such as `public_only`) checks the address of every
    host before connecting. Set one if URLs come from clients.
    """

    def __init__(
        self,
        limits: TransportLimits | None = None,
        tls: Tls | None = None,
        proxies: Proxies | None = None,
        guard: Guard | None = None,
    ) -> None:
        self._limits = limits or TransportLimits()
        self._dialer = Dialer(tls or Tls(), guard)
        self._proxies = Proxies.from_environment(os.environ) if proxies is None else proxies
        self._pools: dict[HttpOrigin, Pool] = {}
        self._all_closed: asyncio.Event | None = None
        self._sockets: set[asyncio.Transport] = set()

    async def send(
        self,
        outgoing: Outgoing,
        timeouts: Timeouts = _DEFAULT_TIMEOUTS,
        may_resend: Callable[[], bool] | None = None,
    ) -> Incoming:
        """Send a request and wait for the head of its answer.

        An idle connection can close at the moment it is used. If that happens before the first byte of an answer, the
        request can be sent once more on a new connection. The server may have read it all the same, so a request that
        changes something is only sent again if `may_resend` allows it; its caller counts the send. All other failures
        go to the caller. A body that cannot be sent twice always uses a new connection.
        """
        address = parse_address(outgoing.url)
        pool = self._pools.get(address.origin) if self._all_closed is None else None
        if pool is None:
            pool = self._pool(address.origin)
        head = render_head(outgoing, address, pool.proxy_header)
        body = outgoing.body
        ends_at = inf if timeouts.total is None else asyncio.get_running_loop().time() + timeouts.total
        single_use = not isinstance(body, bytes)
        connection = None if single_use else pool.idle_connection()
        if connection is None:
            connection = await pool.lease(timeouts, ends_at, fresh=single_use)
        incoming = Incoming(connection.origin, outgoing.method == "HEAD", timeouts, ends_at)
        await _wait_for_head(incoming, connection.begin(incoming, head, body))
        if incoming.stale and (outgoing.method in _SAFE if may_resend is None else may_resend()):
            connection = await self._pool(address.origin).lease(timeouts, ends_at, fresh=True, first=True)
            incoming = Incoming(connection.origin, outgoing.method == "HEAD", timeouts, ends_at)
            await _wait_for_head(incoming, connection.begin(incoming, head, body))
        if incoming.failure is not None and not incoming.status:
            raise incoming.failure
        return incoming

    async def dial_socket(self, url: str, make: Callable[[], _P]) -> _P | None:
        """A connection for a WebSocket; None if a proxy stands between that carries none."""
        origin = parse_address(url).origin
        proxy = self._proxies.for_origin(origin)
        if self._all_closed is not None or (proxy is not None and not origin.secure):
            return None
        return await self._dialer.dial(origin, proxy, make)

    @property
    def has_room_for_socket(self) -> bool:
        """Whether one more WebSocket may be opened."""
        self._sockets = {one for one in self._sockets if not one.is_closing()}
        return len(self._sockets) < self._limits.per_origin

    def add_socket(self, opened: asyncio.Transport) -> None:
        """Count an open WebSocket, which ends with this client."""
        self._sockets.add(opened)

    @property
    def stats(self) -> Stats:
        """Counts for metrics and tests."""
        pools = self._pools.values()
        return Stats(
            open=sum(max(pool.slots, len(pool.live)) for pool in pools),
            idle=sum(len(pool.idle) for pool in pools),
            queued=sum(len(pool.waiting) for pool in pools),
        )

    async def close(self) -> None:
        """Abort all requests, also waiting ones, and return when every socket is closed."""
        if self._all_closed is None:
            self._all_closed = asyncio.Event()
        for pool in tuple(self._pools.values()):
            pool.close()
        for socket in self._sockets:
            socket.abort()
        self._check_all_closed()
        await self._all_closed.wait()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    def _pool(self, origin: HttpOrigin) -> Pool:
        if self._all_closed is not None:
            raise TransportClosed(str(origin), "the transport is closed", "Use an open one")
        pool = self._pools.get(origin)
        return pool if pool is not None else self._new_pool(origin)

    def _new_pool(self, origin: HttpOrigin) -> Pool:
        for known, unused in tuple(self._pools.items()):  # a refused request leaves an unused pool
            if unused.empty:
                del self._pools[known]
        proxy = self._proxies.for_origin(origin)
        proxy_header = proxy.credentials if proxy is not None and not origin.secure else None

        def dial(pool: Pool) -> Awaitable[Connection]:
            return self._dialer.dial(origin, proxy, lambda: Connection(pool.origin, self._limits, pool))

        def on_empty(pool: Pool) -> None:
            if self._pools.get(origin) is pool:
                del self._pools[origin]
            self._check_all_closed()

        pool = self._pools[origin] = Pool(str(origin), self._limits, dial, proxy_header, on_empty)
        return pool

    def _check_all_closed(self) -> None:
        if self._all_closed is not None and not any(pool.live for pool in self._pools.values()):
            self._all_closed.set()


async def _wait_for_head(incoming: Incoming, waiter: asyncio.Future[None]) -> None:
    try:
        await waiter
    except BaseException:
        incoming.waiter = None
        incoming.abandon()
        raise
