"""One connection to Redis: commands go out as they come, answers come back in the same order.

Many requests share it. redis-py owns the socket: it connects, logs in, writes and parses. What is added here is that
commands of one turn of the event loop are written together, and that a command whose caller no longer waits keeps its
place in the line: the answers stay in step, and whoever gave up learns of a late answer.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Sequence
from typing import Any

import hiredis
from msgspec import Struct
from redis.asyncio.connection import AbstractConnection
from redis.exceptions import RedisError, ResponseError

MOST_WAITING = 20_000
"""Commands that may wait for their answers."""

Word = str | bytes | int | float
RedisRefused = ResponseError
"""Redis answered with an error."""


def pack(words: Sequence[Word]) -> bytes:
    """A command as it is sent."""
    packed: bytes = hiredis.pack_command(tuple(words))  # type: ignore[arg-type]
    return packed


def evalsha(sha: bytes, keys: Sequence[str], *arguments: Word) -> bytes:
    """The command that runs a script."""
    return pack(("EVALSHA", sha, str(len(keys)), *keys, *arguments))


class RedisAway(Exception):
    """Redis cannot be asked right now, or did not answer in time."""


def describe_error(error: BaseException) -> str:
    """What an error says, with the word that Redis put before it."""
    code = getattr(error, "status_code", None)
    return f"{code} {error}" if code else str(error) or type(error).__name__


class Pending(Struct, eq=False):
    """A command that waits for its answer.

    `future` is what the caller waits for, if anybody does. `late` is called with the answer when nobody waits any more:
    with False if it was an error, with None if the connection was lost before there was one. `packed` is kept for
    a command that may be sent again.
    """

    sent: float
    future: asyncio.Future[Any] | None
    late: Callable[[Any], None] | None
    packed: bytes | None

    def resolve(self, reply: Any) -> bool:
        """Hand over the answer; whether somebody still waited for it."""
        future = self.future
        is_refused = isinstance(reply, RedisRefused)
        if future is not None and not future.done():
            if is_refused:
                future.set_exception(reply)
            else:
                future.set_result(reply)
            return True
        if self.late is not None:
            self.late(False if is_refused else reply)
        return False


def _ignore(reply: Any, is_asked: bool, in_time: bool) -> None:
    """Only whoever asked wants to know."""


def fail_waiting(connection: RedisConnection, error: Exception | None) -> None:
    """Tell whoever waits that there will be no answer."""
    for pending in connection.waiting:
        if pending.future is not None and not pending.future.done():
            pending.future.set_exception(RedisAway(str(error or "the connection ended")))


class RedisConnection:
    """`answered` is called for every reply, `lost` once when the connection ends.

    `answered` is told the reply, whether anybody was to wait for it, and whether somebody still did.
    """

    def __init__(
        self,
        own: AbstractConnection,
        answered: Callable[[Any, bool, bool], None] = _ignore,
        lost: Callable[[RedisConnection, Exception | None], None] = fail_waiting,
    ) -> None:
        self._own = own
        self._answered = answered
        self._lost = lost
        self._loop = loop = asyncio.get_running_loop()
        self._out: list[bytes] = []
        self._wake: asyncio.Future[None] | None = None
        self._closing: asyncio.Task[None] | None = None
        self.waiting: deque[Pending] = deque()
        self.full = False
        self._tasks = (loop.create_task(self._write()), loop.create_task(self._read()))

    def send(
        self,
        packed: bytes,
        future: asyncio.Future[Any] | None = None,
        late: Callable[[Any], None] | None = None,
        *,
        again: bool = False,
    ) -> None:
        """Send a command soon. `again`: it may be sent again after a lost connection."""
        self.waiting.append(Pending(self._loop.time(), future, late, packed if again else None))
        self._out.append(packed)
        if self._wake is not None:
            self._wake.set_result(None)
            self._wake = None

    def ask(self, packed: bytes) -> asyncio.Future[Any]:
        """Send a command and wait for its answer, however long that takes."""
        future = self._loop.create_future()
        self.send(packed, future)
        return future

    def end(self, error: Exception | None = None) -> None:
        """Give the connection up."""
        if self._closing is None:
            self._wake = None
            for task in self._tasks:
                task.cancel()
            self._closing = self._loop.create_task(self._own.disconnect(nowait=True))
            self._lost(self, error)

    async def aclose(self) -> None:
        self.end()
        if self._closing is not None:
            await self._closing

    async def _write(self) -> None:
        try:
            while True:
                if not self._out:
                    self._wake = self._loop.create_future()
                    await self._wake
                out, self._out = self._out, []
                self.full = True
                await self._own.send_packed_command(out, check_health=False)
                self.full = False
        except (RedisError, OSError) as error:
            self.end(error)

    async def _read(self) -> None:
        read, waiting = self._own.read_response, self.waiting
        try:
            while True:
                try:
                    reply = await read(disconnect_on_error=False)
                except RedisRefused as error:
                    reply = error
                pending = waiting.popleft()
                in_time = pending.resolve(reply)
                self._answered(reply, pending.future is not None, in_time)
        except (RedisError, OSError, IndexError) as error:  # gone, not Redis, or out of step
            self.end(error)
