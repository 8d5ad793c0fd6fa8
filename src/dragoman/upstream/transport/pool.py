"""The connections to one origin, and the queue for them."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable
from math import inf
from typing import TypeVar

from dragoman.upstream.transport.connection import Connection
from dragoman.upstream.transport.failures import ConnectFailed, Phase, PoolFull, TimedOut, TransportClosed
from dragoman.upstream.transport.limits import Limits, Timeouts

Dial = Callable[["Pool"], Awaitable[Connection]]
_T = TypeVar("_T")
_Place = asyncio.Future[Connection | None]


class Pool:
    """Leases connections, the most recently used first, and queues requests in the order they came.

    `places` counts connections open or being opened. What becomes free goes to the head of the queue: a connection
    as it is, or a place (None) for which the waiter opens a connection of its own. So somebody waits only while every
    place is taken and nothing is idle, and whoever finds a connection or a place at once has overtaken nobody.
    """

    def __init__(
        self, origin: str, limits: Limits, dial: Dial, relay: str | None, on_empty: Callable[[Pool], None]
    ) -> None:
        self.origin = origin
        self.relay = relay
        self.places = 0
        self.idle: list[Connection] = []
        self.waiting: deque[_Place] = deque()
        self._limits = limits
        self.live: set[Connection] = set()
        self._dial = dial
        self._on_empty = on_empty
        self._closed = False

    @property
    def empty(self) -> bool:
        return not self.places and not self.waiting and not self.live

    def spare(self) -> Connection | None:
        """An idle connection, if one can be had on the spot."""
        while self.idle:
            connection = self.idle.pop()
            if connection.usable:
                return connection
        return None

    async def lease(
        self, timeouts: Timeouts, ends_at: float, *, fresh: bool = False, first: bool = False
    ) -> Connection:
        """A connection, waiting for it if need be. `fresh` wants a new one, `first` goes to the head of the queue."""
        if not fresh and (connection := self.spare()) is not None:
            return connection
        if fresh and self.idle and self.places >= self._limits.per_origin:
            self.idle[0].retire()
        if self.places >= self._limits.per_origin:
            given = await self._turn(timeouts, ends_at, first)
            if given is not None and not (fresh and given.used):
                return given
            if given is not None:
                self.places += 1  # before the other is gone, so that its place is not passed on
                given.retire()
        else:
            self.places += 1
        return await self._opened(timeouts, ends_at)

    def take_back(self, connection: Connection) -> None:
        """A connection has done its work."""
        waiter = self._next()
        if waiter is not None:
            waiter.set_result(connection)
        else:
            self.idle.append(connection)
            connection.park()

    def lose(self, connection: Connection) -> None:
        """A connection is no more."""
        if connection in self.idle:
            self.idle.remove(connection)
        self._free_place()

    def opened(self, connection: Connection) -> None:
        """A socket is open."""
        self.live.add(connection)

    def closed(self, connection: Connection) -> None:
        """A socket is closed."""
        self.live.discard(connection)
        if self.empty:
            self._on_empty(self)

    def close(self) -> None:
        """Drop what is open and send the queue away."""
        self._closed = True
        for connection in tuple(self.live):
            connection.drop(self._shut())
        while (waiter := self._next()) is not None:
            waiter.set_exception(self._shut())

    def _next(self) -> _Place | None:
        while self.waiting:
            waiter = self.waiting.popleft()
            if not waiter.done():
                return waiter
        return None

    def _free_place(self) -> None:
        """Pass the place on, if somebody waits for one."""
        self.places -= 1
        if self.places >= self._limits.per_origin:
            return
        waiter = self._next()
        if waiter is not None:
            self.places += 1
            waiter.set_result(None)

    async def _turn(self, timeouts: Timeouts, ends_at: float, first: bool) -> Connection | None:
        if len(self.waiting) >= self._limits.queued and not first:
            what = f"{len(self.waiting)} requests wait for a connection already"
            raise PoolFull(self.origin, what, "Try later, or raise limits.per_origin or limits.queued")
        waiter: _Place = asyncio.get_running_loop().create_future()
        if first:
            self.waiting.appendleft(waiter)
        else:
            self.waiting.append(waiter)
        try:
            return await _within(waiter, self.origin, Phase.QUEUE, timeouts, ends_at)
        except BaseException:
            self._give_up(waiter)
            raise

    def _give_up(self, waiter: _Place) -> None:
        """A waiter that leaves may have been given something in the same moment; it must not be lost."""
        if waiter in self.waiting:
            self.waiting.remove(waiter)
        if waiter.cancelled() or not waiter.done() or waiter.exception() is not None:
            return
        given = waiter.result()
        if given is None:
            self._free_place()
        elif given.usable:
            self.take_back(given)

    async def _opened(self, timeouts: Timeouts, ends_at: float) -> Connection:
        try:
            connection = await _within(self._dial(self), self.origin, Phase.CONNECT, timeouts, ends_at)
            self._admit(connection)
        except BaseException:
            self._free_place()
            if self.empty:
                self._on_empty(self)
            raise
        return connection

    def _admit(self, connection: Connection) -> None:
        if self._closed:
            connection.drop()
            raise self._shut()
        if not connection.join():
            raise ConnectFailed(self.origin, "it hung up as soon as we were connected", "Check what listens there")

    def _shut(self) -> TransportClosed:
        return TransportClosed(self.origin, "the transport was closed", "Use one that is open")


async def _within(work: Awaitable[_T], origin: str, phase: Phase, timeouts: Timeouts, ends_at: float) -> _T:
    """Await with the patience of a phase; only requests that queue or connect pay for this."""
    seconds = timeouts.of(phase)
    due = inf if seconds is None else asyncio.get_running_loop().time() + seconds
    if due >= ends_at:
        phase, due = Phase.TOTAL, ends_at
    scope = asyncio.timeout_at(None if due == inf else due)
    try:
        async with scope:
            return await work
    except TimeoutError:
        if not scope.expired():
            raise
        raise TimedOut(origin, phase, timeouts.of(phase)) from None
