"""The link to Redis: connected again and again, asked within a deadline, left alone while it is away or slow.

If the link is `ready`, a request asks, and waits until the deadline at most. Three answers in a row that came too
late open the breaker: nobody asks until a small question is answered in time. So an absent Redis costs a request
nothing, and a slow one costs three requests their deadline.
"""

from __future__ import annotations

import asyncio
import random
from collections import deque
from collections.abc import Callable
from typing import Any

from redis.exceptions import ClusterDownError, MasterDownError, MovedError, NoScriptError, ReadOnlyError, RedisError

from dragoman.store.clock import Clock
from dragoman.store.redis_store.connection import (
    MOST_WAITING,
    RedisAway,
    RedisConnection,
    RedisRefused,
    describe_error,
    pack,
)
from dragoman.store.redis_store.servers import RedisDialer

SLOW_ANSWERS = 3
PREPARE_SECONDS = 2.0
LOOK_SECONDS = 0.1
STUCK_LOOKS = 20
"""After so many looks at one command without an answer, a connection is taken as dead. They are counted, and not the
seconds: while this process stands still, it reads no answers either."""
BYTES_PER_SECOND = 50e6
"""A large value gets so much more time."""
FIRST_PAUSE, LONGEST_PAUSE = 0.05, 1.0
OUTBOX, OUTBOX_BYTES = 10_000, 32 << 20
_PING = pack(("PING",))
_RECONNECT = (ReadOnlyError, NoScriptError, MasterDownError, MovedError, ClusterDownError)
"""Errors that say that this is not, or not yet, the server we want. redis-py itself ends a connection for others."""

Back = Callable[[float | None], None]
"""Called when the link is ready again, with the steady time since when data may be lost, or None if none is."""


class RedisLink:
    """One connection that is kept up. `prepare` makes a new connection ready, and tells since when data may be lost."""

    def __init__(self, dialer: RedisDialer, deadline: float, steady: Clock) -> None:
        self._dialer = dialer
        self._deadline = deadline
        self._steady = steady
        self._connection: RedisConnection | None = None
        self._task: asyncio.Task[None] | None = None
        self._gone: asyncio.Event | None = None
        self._timer: asyncio.Handle | None = None
        self._timer_at = 0.0  # a handle of uvloop does not always tell
        self._is_open = False
        self._slow = False
        self._probe: asyncio.Future[Any] | None = None
        self._late_answers = 0
        self._outbox: deque[bytes] = deque()
        self._outbox_bytes = 0
        self._closed = False
        self._first: asyncio.Event | None = None
        self.ready = False
        self.prepare: Callable[[RedisConnection], Any] | None = None
        self.back: list[Back] = []
        self.why = "not connected yet"
        self.connects = self.local = self.failed = self.dropped = 0
        self.last_error: str | None = None

    # The life of the link.

    def begin(self) -> None:
        """Begin to connect, if a loop runs and it was not done before."""
        if self._task is not None or self._closed:
            return
        try:
            loop = asyncio.get_running_loop()
        except RuntimeError:
            return
        self._gone, self._first = asyncio.Event(), asyncio.Event()
        self._task = loop.create_task(self._keep_up())

    async def start(self, seconds: float) -> None:
        """Wait for the first connection, not longer than this."""
        self.begin()
        if self._first is None:
            return
        try:
            async with asyncio.timeout(seconds):
                await self._first.wait()
        except TimeoutError:
            return

    async def aclose(self, seconds: float = 1.0) -> None:
        if self._closed:
            return
        await self.flush(seconds)
        self._closed = True
        self.ready, self.why = False, "closed"
        if self._timer is not None:
            self._timer.cancel()
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)
        if self._connection is not None:
            await self._connection.aclose()

    async def flush(self, seconds: float) -> bool:
        """Wait until everything that was sent is answered."""
        if self._closed:
            return True
        try:
            async with asyncio.timeout(seconds):
                # Rare, and nobody else would set an event.
                while self._outbox or (self._connection is not None and self._connection.waiting):  # noqa: ASYNC110
                    await asyncio.sleep(0.002)
        except TimeoutError:
            return False
        return True

    @property
    def is_kept_up(self) -> bool:
        """Whether somebody still sees to the connection."""
        return self._task is not None and not self._closed

    @property
    def connected(self) -> bool:
        """Whether there is a connection at all, though it may be slow."""
        return self._connection is not None

    @property
    def waiting(self) -> int:
        return len(self._outbox)

    # Commands.

    async def ask(self, packed: bytes, late: Callable[[Any], None] | None = None, *, again: bool = False) -> Any:
        """Send a command and wait for its answer. Raises RedisAway or RedisRefused.

        `late` is told an answer that nobody waited for any more, or None if there is none. `again`: the command may
        be sent twice, and is kept while Redis is away.
        """
        if not self.ready:
            self.local += 1
            if again:
                self._keep(packed)
            raise RedisAway(self.why)
        connection = self._connection
        assert connection is not None
        future = asyncio.get_running_loop().create_future()
        connection.send(packed, future, late, again=again)
        self._watch(packed)
        try:
            return await future
        except RedisAway:
            self.local += 1
            raise
        except RedisRefused as error:
            self.failed += 1
            self.last_error = describe_error(error)
            raise

    def post(self, packed: bytes, late: Callable[[Any], None] | None = None, *, again: bool = False) -> bool:
        """Send a command that nobody waits for, also to a Redis that is slow.

        False if there is no connection; with `again` the command is then kept for later.
        """
        if self._connection is not None and self._is_open:
            self._connection.send(packed, None, late, again=again)
            return True
        if again:
            self._keep(packed)
        return False

    def _keep(self, packed: bytes) -> None:
        if self._closed:
            return
        self._outbox.append(packed)
        self._outbox_bytes += len(packed)
        while len(self._outbox) > OUTBOX or self._outbox_bytes > OUTBOX_BYTES:
            self._outbox_bytes -= len(self._outbox.popleft())
            self.dropped += 1

    # Deadlines.

    def _watch(self, packed: bytes) -> None:
        """One timer for all: the oldest command is due first."""
        loop = asyncio.get_running_loop()
        due = loop.time() + self._deadline + len(packed) / BYTES_PER_SECOND
        if self._timer is not None:
            if self._timer_at <= due:
                return
            self._timer.cancel()  # it was for a large value
        self._set_timer(due)

    def _set_timer(self, due: float) -> None:
        self._timer_at = due
        self._timer = asyncio.get_running_loop().call_at(due, self._due)

    def _due(self) -> None:
        """Time is up. What has arrived meanwhile is read first: the loop itself may have been busy."""
        self._timer_at = 0.0
        loop = asyncio.get_running_loop()
        self._timer = loop.call_later(0, loop.call_soon, self._expire)

    def _expire(self) -> None:
        self._timer = None
        loop, soonest = asyncio.get_running_loop(), float("inf")
        waiting = self._connection.waiting if self._connection is not None else ()
        for pending in waiting:
            future = pending.future
            if future is None or future.done():
                continue
            size = len(pending.packed) if pending.packed is not None else 0
            due = pending.sent + self._deadline + size / BYTES_PER_SECOND
            if due > loop.time():
                soonest = min(soonest, due)
                continue
            future.set_exception(RedisAway("no answer in time"))
            self._late_answers += 1
        if soonest < float("inf"):
            self._set_timer(soonest)
        self._check_speed()

    def _check_speed(self) -> None:
        if self._late_answers >= SLOW_ANSWERS and not self._slow:
            self._slow = True
            self.ready, self.why = False, "it answers too slowly"

    def _answered(self, reply: Any, is_asked: bool, in_time: bool) -> None:
        if in_time and not self._slow:
            self._late_answers = 0
        if isinstance(reply, RedisRefused):
            if not is_asked:
                self.failed += 1
                self.last_error = describe_error(reply)
            if isinstance(reply, _RECONNECT) and self._connection is not None:
                self._connection.end(reply)

    # Keeping the connection up.

    async def _keep_up(self) -> None:
        pause = FIRST_PAUSE
        while True:
            try:
                await self._serve()
                pause = FIRST_PAUSE
            except (OSError, RedisAway, RedisError) as error:
                self.why = self.last_error = describe_error(error)
            await asyncio.sleep(pause * (0.5 + random.random()))  # noqa: S311 - no secret
            pause = min(pause * 2, LONGEST_PAUSE)

    async def _serve(self) -> None:
        """Connect, and stay until the connection is lost."""
        assert self._gone is not None
        assert self._first is not None
        self._gone.clear()
        connection = RedisConnection(await self._dialer.connect(), self._answered, self._lost)
        try:
            async with asyncio.timeout(PREPARE_SECONDS):
                lost_since = await self.prepare(connection) if self.prepare is not None else None
        except BaseException:
            await connection.aclose()
            raise
        self._connection = connection
        self.connects += 1
        self._open(lost_since)
        self._first.set()
        await self._look_after(connection)

    def _open(self, lost_since: float | None) -> None:
        """From here on requests ask. What waited goes first, so that nothing overtakes it."""
        connection = self._connection
        assert connection is not None
        self._slow, self._late_answers, self._probe = False, 0, None
        self.ready = self._is_open = True
        outbox, self._outbox, self._outbox_bytes = self._outbox, deque(), 0
        for packed in outbox:
            connection.send(packed, again=True)
        for back in self.back:
            back(lost_since)

    async def _look_after(self, connection: RedisConnection) -> None:
        """Probe a slow connection, and end one that no longer answers."""
        assert self._gone is not None
        loop = asyncio.get_running_loop()
        oldest, looks = None, 0
        while not self._gone.is_set():
            try:
                async with asyncio.timeout(LOOK_SECONDS):
                    await self._gone.wait()
            except TimeoutError:
                if self._gone.is_set():  # at the very last moment
                    return
                first = connection.waiting[0] if connection.waiting else None
                looks = looks + 1 if first is not None and first is oldest else 0
                oldest = first
                if looks > STUCK_LOOKS or connection.full or len(connection.waiting) > MOST_WAITING:
                    self.why = "it does not answer"
                    connection.end()
                elif self._slow and (self._probe is None or self._probe.done()):
                    self._probe = loop.create_future()
                    self._probe.add_done_callback(self._probed)
                    connection.send(_PING, self._probe)
                    self._watch(_PING)

    def _probed(self, probe: asyncio.Future[Any]) -> None:
        """Answered in time: requests may ask again. What could not wait was sent all along."""
        if not probe.cancelled() and probe.exception() is None and self._slow:
            self._slow, self._late_answers = False, 0
            self.ready = True

    def _lost(self, connection: RedisConnection, error: Exception | None) -> None:
        """Whoever waits goes on alone; what may be sent twice is kept."""
        if connection is self._connection:
            self._connection = None
            self.ready = self._is_open = False
            if not self._slow or error is not None:
                self.why = f"the connection was lost{f': {error}' if error else ''}"
        waiting, connection.waiting = connection.waiting, deque()
        kept = [pending.packed for pending in waiting if pending.packed is not None]
        for pending in waiting:
            if pending.future is not None and not pending.future.done():
                pending.future.set_exception(RedisAway(self.why))
            if pending.late is not None:
                pending.late(None)
        for packed in kept:
            self._keep(packed)
        if self._gone is not None:
            self._gone.set()
