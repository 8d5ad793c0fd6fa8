"""One connection to Redis: commands go out as they come, answers come back in the same order.

Many requests share it. Commands of one turn of the event loop are written together. A command whose caller no longer
waits keeps its place in the line, so that the answers stay in step; whoever gave up learns of a late answer.
"""

from __future__ import annotations

import asyncio
import ssl
from collections import deque
from collections.abc import Callable, Sequence
from typing import Any, cast

import hiredis

from dragoman.store.redis_store.address import Host, RedisAddress

CONNECT_SECONDS = 1.0
MOST_WAITING = 20_000
"""Commands that may wait for their answers."""

Word = str | bytes | int | float
_NOTHING = object()


def pack(words: Sequence[Word]) -> bytes:
    """A command as it is sent."""
    packed: bytes = hiredis.pack_command(tuple(words))  # type: ignore[arg-type]
    return packed


class RedisAway(Exception):
    """Redis cannot be asked right now, or did not answer in time."""


class RedisRefused(Exception):
    """Redis answered with an error."""


class Pending:
    """A command that waits for its answer.

    `future` is what the caller waits for, if anybody does. `late` is called with the answer when nobody waits any more:
    with False where it was an error, with None where the connection was lost before there was one. `packed` is kept for
    a command that may be sent again.
    """

    __slots__ = ("future", "late", "packed", "sent")

    def __init__(
        self,
        sent: float,
        future: asyncio.Future[Any] | None,
        late: Callable[[Any], None] | None,
        packed: bytes | None,
    ) -> None:
        self.sent = sent
        self.future = future
        self.late = late
        self.packed = packed

    def resolve(self, reply: Any) -> bool:
        """Hand over the answer; whether somebody still waited for it."""
        future = self.future
        if future is not None and not future.done():
            if isinstance(reply, hiredis.ReplyError):
                future.set_exception(RedisRefused(str(reply)))
            else:
                future.set_result(reply)
            return True
        if self.late is not None:
            self.late(False if isinstance(reply, hiredis.ReplyError) else reply)
        return False


class RedisConnection(asyncio.Protocol):
    """The protocol of one socket. `answered` is called for every reply, `lost` once when the connection ends.

    `answered` is told the reply, whether anybody was to wait for it, and whether somebody still did.
    """

    def __init__(
        self,
        answered: Callable[[Any, bool, bool], None],
        lost: Callable[[RedisConnection, Exception | None], None],
    ) -> None:
        self._loop = asyncio.get_running_loop()
        self._reader = hiredis.Reader(notEnoughData=_NOTHING)
        self._answered = answered
        self._lost = lost
        self._out: list[bytes] = []
        self._transport: asyncio.Transport | None = None
        self.waiting: deque[Pending] = deque()
        self.full = False

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)  # those of uvloop are not a subclass

    def data_received(self, data: bytes) -> None:
        reader, waiting = self._reader, self.waiting
        try:
            reader.feed(data)
            while (reply := reader.gets()) is not _NOTHING:
                pending = waiting.popleft()
                in_time = pending.resolve(reply)
                self._answered(reply, pending.future is not None, in_time)
        except (hiredis.ProtocolError, IndexError):  # not Redis, or out of step: nothing that comes can be trusted
            self.abort()

    def connection_lost(self, exc: Exception | None) -> None:
        self._transport = None
        self._lost(self, exc)

    def pause_writing(self) -> None:
        self.full = True

    def resume_writing(self) -> None:
        self.full = False

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
        if not self._out:
            self._loop.call_soon(self._flush)
        self._out.append(packed)

    def ask(self, packed: bytes) -> asyncio.Future[Any]:
        """Send a command and wait for its answer, however long that takes."""
        future = self._loop.create_future()
        self.send(packed, future)
        return future

    def abort(self) -> None:
        if self._transport is not None:
            self._transport.abort()

    def _flush(self) -> None:
        out, self._out = self._out, []
        if self._transport is not None:
            self._transport.write(out[0] if len(out) == 1 else b"".join(out))


class RedisDialer:
    """Opens connections to where an address leads, past sentinels and log-in."""

    def __init__(self, address: RedisAddress, ca_file: str | None) -> None:
        self._address = address
        self._tls = ssl.create_default_context(cafile=ca_file) if address.tls else None

    async def connect(self, make: Callable[[], RedisConnection]) -> RedisConnection:
        """A connection that is logged in. Raises OSError, RedisRefused, RedisAway or TimeoutError."""
        address = self._address
        async with asyncio.timeout(CONNECT_SECONDS):
            host = address.hosts[0] if address.hosts and not address.master else None
            if address.master is not None:
                host = await self._master(address.master)
            connection = await self._open(make, host)
            try:
                await self._log_in(connection, address)
            except BaseException:
                connection.abort()
                raise
            return connection

    async def connect_alone(self) -> RedisConnection:
        """A connection for a few questions, which nobody keeps up. Raises as `connect` does."""
        return await self.connect(lambda: RedisConnection(_ignore, _end))

    async def _open(self, make: Callable[[], RedisConnection], host: Host | None) -> RedisConnection:
        loop = asyncio.get_running_loop()
        if host is None:
            _, protocol = await loop.create_unix_connection(make, self._address.unix)
        else:
            name = host[0] if self._tls is not None else None
            _, protocol = await loop.create_connection(make, *host, ssl=self._tls, server_hostname=name)
        return protocol

    async def _log_in(self, connection: RedisConnection, address: RedisAddress) -> None:
        if address.password is not None:
            words = [address.user, address.password] if address.user is not None else [address.password]
            await connection.ask(pack(("AUTH", *words)))
        if address.database:
            await connection.ask(pack(("SELECT", str(address.database))))
        if address.master is not None:
            role = await connection.ask(pack(("ROLE",)))
            if role[0] != b"master":
                raise RedisAway("the sentinels name a server that is no master")

    async def _master(self, name: str) -> Host:
        """The first answer of a sentinel that knows the name."""
        error: Exception = RedisAway("no sentinel answers")
        for host in self._address.hosts:
            try:
                return await self._ask_sentinel(host, name)
            except (OSError, RedisAway, RedisRefused) as fault:
                error = fault
        raise error

    async def _ask_sentinel(self, host: Host, name: str) -> Host:
        sentinel = await self._open(lambda: RedisConnection(_ignore, _end), host)
        try:
            found = await sentinel.ask(pack(("SENTINEL", "get-master-addr-by-name", name)))
        finally:
            sentinel.abort()
        if found is None:
            raise RedisAway(f'the sentinel knows no master "{name}"')
        return found[0].decode(), int(found[1])


def _ignore(reply: Any, is_asked: bool, in_time: bool) -> None:
    """Only whoever asked wants to know."""


def _end(connection: RedisConnection, error: Exception | None) -> None:
    for pending in connection.waiting:
        if pending.future is not None and not pending.future.done():
            pending.future.set_exception(RedisAway(str(error or "the connection ended")))
