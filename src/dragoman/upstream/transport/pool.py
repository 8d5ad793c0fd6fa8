"""The connections to one origin, and the queue for them."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable
from math import inf
from typing import TypeVar

from msgspec import Struct, field

from dragoman.upstream.transport.connection import Connection
from dragoman.upstream.transport.failures import ConnectFailed, Phase, PoolFull, TimedOut, TransportClosed
from dragoman.upstream.transport.limits import Timeouts, TransportLimits

Dial = Callable[["Pool"], Awaitable[Connection]]
_T = TypeVar("_T")
_Slot = asyncio.Future[Connection | None]


class Pool(Struct, eq=False):
    """Leases connections, the most recently used first, and queues requests in order of arrival.

    `slots` counts connections that are open or being opened. A free connection or slot goes to the first waiter; with a
    slot (None) the waiter opens its own connection. So a request waits only while all slots are in use and none is
    idle, and a request that does not wait overtakes nobody.
    """

    origin: str
    _limits: TransportLimits
    _dial: Dial
    proxy_header: str | None
    _on_empty: Callable[[Pool], None]
    slots: int = 0
    idle: list[Connection] = []
    waiting: deque[_Slot] = field(default_factory=deque)
    live: set[Connection] = set()
    _closed: bool = False

    @property
    def empty(self) -> bool:
        return not self.slots and not self.waiting and not self.live

    def idle_connection(self) -> Connection | None:
        """An idle connection, or None."""
        while self.idle:
            connection = self.idle.pop()
            if connection.usable:
                return connection
        return None

    async def lease(
        self, timeouts: Timeouts, ends_at: float, *, fresh: bool = False, first: bool = False
    ) -> Connection:
        """A connection, after waiting if necessary. `fresh`: a new one; `first`: at the head of the queue."""
        if not fresh and (connection := self.idle_connection()) is not None:
            return connection
        if fresh and self.idle and self.slots >= self._limits.per_origin:
            self.idle[0].close()
        if self.slots >= self._limits.per_origin:
            offered = await self._wait_turn(timeouts, ends_at, first)
            if offered is not None and not (fresh and offered.used):
                return offered
            if offered is not None:
                self.slots += 1  # before the other one closes, so that its slot is not passed on
                offered.close()
        else:
            self.slots += 1
        return await self._open(timeouts, ends_at)

    def release(self, connection: Connection) -> None:
        """A connection is free again."""
        waiter = self._next() if self.waiting else None
        if waiter is not None:
            waiter.set_result(connection)
        else:
            self.idle.append(connection)
            connection.start_idle()

    def remove(self, connection: Connection) -> None:
        """A connection is gone."""
        if connection in self.idle:
            self.idle.remove(connection)
        self._free_slot()

    def opened(self, connection: Connection) -> None:
        """A socket is open."""
        self.live.add(connection)

    def closed(self, connection: Connection) -> None:
        """A socket is closed."""
        self.live.discard(connection)
        if self.empty:
            self._on_empty(self)

    def close(self) -> None:
        """Abort all connections and fail all waiting requests."""
        self._closed = True
        for connection in tuple(self.live):
            connection.abort(self._closed_failure())
        while (waiter := self._next()) is not None:
            waiter.set_exception(self._closed_failure())

    def _next(self) -> _Slot | None:
        while self.waiting:
            waiter = self.waiting.popleft()
            if not waiter.done():
                return waiter
        return None

    def _free_slot(self) -> None:
        """Free a slot, or pass it to the next waiter."""
        self.slots -= 1
        if self.slots >= self._limits.per_origin:
            return
        waiter = self._next()
        if waiter is not None:
            self.slots += 1
            waiter.set_result(None)

    async def _wait_turn(self, timeouts: Timeouts, ends_at: float, first: bool) -> Connection | None:
        if len(self.waiting) >= self._limits.queued and not first:
            what = f"{len(self.waiting)} requests already wait for a connection"
            raise PoolFull(self.origin, what, "Try later, or raise limits.per_origin or limits.queued")
        waiter: _Slot = asyncio.get_running_loop().create_future()
        if first:
            self.waiting.appendleft(waiter)
        else:
            self.waiting.append(waiter)
        try:
            return await _within(waiter, self.origin, Phase.QUEUE, timeouts, ends_at)
        except BaseException:
            self._leave_queue(waiter)
            raise

    def _leave_queue(self, waiter: _Slot) -> None:
        """Remove a waiter. If it got a connection or slot at the same moment, pass that on."""
        if waiter in self.waiting:
            self.waiting.remove(waiter)
        if waiter.cancelled() or not waiter.done() or waiter.exception() is not None:
            return
        offered = waiter.result()
        if offered is None:
            self._free_slot()
        elif offered.usable:
            self.release(offered)

    async def _open(self, timeouts: Timeouts, ends_at: float) -> Connection:
        try:
            connection = await _within(self._dial(self), self.origin, Phase.CONNECT, timeouts, ends_at)
            self._admit(connection)
        except BaseException:
            self._free_slot()
            if self.empty:
                self._on_empty(self)
            raise
        return connection

    def _admit(self, connection: Connection) -> None:
        if self._closed:
            connection.abort()
            raise self._closed_failure()
        if not connection.enter_pool():
            raise ConnectFailed(self.origin, "it closed the connection at once", "Check which server listens there")

    def _closed_failure(self) -> TransportClosed:
        return TransportClosed(self.origin, "the transport is closed", "Use an open one")


async def _within(work: Awaitable[_T], origin: str, phase: Phase, timeouts: Timeouts, ends_at: float) -> _T:
    """Await with the timeout of a phase. Only requests that queue or connect need this."""
    seconds = timeouts.of(phase)
    deadline = inf if seconds is None else asyncio.get_running_loop().time() + seconds
    if deadline >= ends_at:
        phase, deadline = Phase.TOTAL, ends_at
    scope = asyncio.timeout_at(None if deadline == inf else deadline)
    try:
        async with scope:
            return await work
    except TimeoutError:
        if not scope.expired():
            raise
        raise TimedOut(origin, phase, timeouts.of(phase)) from None
