"""The client itself: a request in, an answer out."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Awaitable
from math import inf
from typing import Self

from dragoman.upstream.transport.address import Origin, parse_address
from dragoman.upstream.transport.address_guard import Guard
from dragoman.upstream.transport.connection import Connection
from dragoman.upstream.transport.dialer import Dialer
from dragoman.upstream.transport.failures import TransportClosed
from dragoman.upstream.transport.incoming import Incoming
from dragoman.upstream.transport.limits import Limits, Stats, Timeouts
from dragoman.upstream.transport.outgoing import Outgoing, compose
from dragoman.upstream.transport.pool import Pool
from dragoman.upstream.transport.proxy import Proxies
from dragoman.upstream.transport.tls import Tls

_PATIENT = Timeouts()


class Transport:
    """A pooled HTTP/1.1 client for one event loop.

    Without `proxies` those of the environment are used. A `guard` (such as `public_only`) judges the address of every
    host before it is connected to; give one where URLs come from strangers.
    """

    def __init__(
        self,
        limits: Limits | None = None,
        tls: Tls | None = None,
        proxies: Proxies | None = None,
        guard: Guard | None = None,
    ) -> None:
        self._limits = limits or Limits()
        self._dialer = Dialer(tls or Tls(), guard)
        self._proxies = Proxies.from_environment(os.environ) if proxies is None else proxies
        self._pools: dict[Origin, Pool] = {}
        self._quiet: asyncio.Event | None = None

    async def send(self, outgoing: Outgoing, timeouts: Timeouts = _PATIENT) -> Incoming:
        """Send a request and wait for the head of its answer.

        A kept connection can die in the moment it is used. If it does so before a single byte of an answer, the
        request goes out once more on a fresh connection; after that, and in every other case, failures are the
        caller's to judge. A body that cannot be sent twice goes out on a fresh connection to begin with.
        """
        address = parse_address(outgoing.url)
        pool = self._pool(address.origin)
        head = compose(outgoing, address, pool.relay)
        body = outgoing.body
        ends_at = inf if timeouts.total is None else asyncio.get_running_loop().time() + timeouts.total
        once = not isinstance(body, bytes)
        connection = None if once else pool.spare()
        if connection is None:
            connection = await pool.lease(timeouts, ends_at, fresh=once)
        incoming = Incoming(connection.origin, outgoing.method == "HEAD", timeouts, ends_at)
        await _answered(incoming, connection.begin(incoming, head, body))
        if incoming.stale:
            connection = await self._pool(address.origin).lease(timeouts, ends_at, fresh=True, first=True)
            incoming = Incoming(connection.origin, outgoing.method == "HEAD", timeouts, ends_at)
            await _answered(incoming, connection.begin(incoming, head, body))
        if incoming.failure is not None and not incoming.status:
            raise incoming.failure
        return incoming

    @property
    def stats(self) -> Stats:
        """Counts for metrics, and for the tests that look for leaks."""
        pools = self._pools.values()
        return Stats(
            open=sum(max(pool.places, len(pool.live)) for pool in pools),
            idle=sum(len(pool.idle) for pool in pools),
            queued=sum(len(pool.waiting) for pool in pools),
        )

    async def close(self) -> None:
        """Drop what is under way, send the queue away, and come back when every socket is closed."""
        if self._quiet is None:
            self._quiet = asyncio.Event()
        for pool in tuple(self._pools.values()):
            pool.close()
        self._listen()
        await self._quiet.wait()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    def _pool(self, origin: Origin) -> Pool:
        if self._quiet is not None:
            raise TransportClosed(str(origin), "the transport was closed", "Use one that is open")
        pool = self._pools.get(origin)
        return pool if pool is not None else self._new_pool(origin)

    def _new_pool(self, origin: Origin) -> Pool:
        for known, unused in tuple(self._pools.items()):  # a request that was refused leaves its pool unused
            if unused.empty:
                del self._pools[known]
        proxy = self._proxies.before(origin)
        relay = proxy.credentials if proxy is not None and not origin.secure else None

        def dial(pool: Pool) -> Awaitable[Connection]:
            return self._dialer.dial(origin, proxy, lambda: Connection(pool.origin, self._limits, pool))

        def on_empty(pool: Pool) -> None:
            if self._pools.get(origin) is pool:
                del self._pools[origin]
            self._listen()

        pool = self._pools[origin] = Pool(str(origin), self._limits, dial, relay, on_empty)
        return pool

    def _listen(self) -> None:
        if self._quiet is not None and not any(pool.live for pool in self._pools.values()):
            self._quiet.set()


async def _answered(incoming: Incoming, waiter: asyncio.Future[None]) -> None:
    try:
        await waiter
    except BaseException:
        incoming.waiter = None
        incoming.abandon()
        raise
