"""A WebSocket to a provider, for the turns of one client that follow each other.

It saves sending a conversation again with every turn: the provider keeps the newest answer of a socket. Whatever is
wrong with the socket before a turn has begun, the turn is posted instead.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from functools import partial
from math import inf

import msgspec
from websockets.asyncio.client import ClientConnection
from websockets.client import ClientProtocol
from websockets.exceptions import ConnectionClosed, WebSocketException
from websockets.uri import parse_uri

from dragoman.dialects.contracts.sockets import KeptAnswer, ProviderMessages, ProviderTurn, SocketFrames
from dragoman.errors import DragomanError
from dragoman.upstream.heavy_work import RequestWork
from dragoman.upstream.transport.failures import BrokenResponse, Phase, TimedOut, TransportFailure
from dragoman.upstream.transport.incoming import Incoming
from dragoman.upstream.transport.limits import Timeouts
from dragoman.upstream.transport.outgoing import Outgoing
from dragoman.upstream.transport.transport import Transport
from dragoman.wire.json_size import LARGE

LIFE_SECONDS = 55 * 60.0
"""Providers end a socket after 60 minutes."""
LARGEST = 15 << 20
"""Bytes of a message: at 16 MiB a provider closes the socket (measured in August 2026)."""
_LARGEST_ANSWER = 32 << 20
"""Bytes of a message of the provider. The last one holds the whole answer."""
_PAUSE_SECONDS = 60.0
"""For which no socket is tried after one could not be opened."""
_CLOSE_SECONDS = 2.0
_NOT_SENT = frozenset({"content-type", "content-length", "accept", "accept-encoding", "connection", "host"})
_KEYS = frozenset({"api-key"})
"""Headers of a key that is a bearer token at an upgrade (Azure, 2026-07-24)."""

Place = tuple[str, tuple[tuple[str, str], ...]]
"""An address, and the headers that open a socket there."""


class ProviderSocket(ClientConnection):
    """A connection that may be told of its end before it began."""

    def connection_lost(self, exc: Exception | None) -> None:
        if not self.connection_lost_waiter.done():
            super().connection_lost(exc)


class SocketLine:
    """The socket of one lane. It is opened when it is used, and again if it is too old or belongs somewhere else."""

    def __init__(self) -> None:
        self._socket: ProviderSocket | None = None
        self._place: Place | None = None
        self._opened = 0.0
        self._paused_until = 0.0
        self._kept: KeptAnswer | None = None

    async def send(
        self,
        transport: Transport,
        outgoing: Outgoing,
        timeouts: Timeouts,
        frames: SocketFrames,
        *,
        work: RequestWork,
        may_resend: Callable[[], bool],
        takes_instructions: bool,
    ) -> Incoming | None:
        """Send a turn and wait for the beginning of its answer; None if it is to be posted. `work`: where a large
        request is put together. `takes_instructions`: the provider does, beside the id of an answer."""
        assert isinstance(outgoing.body, bytes)
        place = _find_place(outgoing)
        if self._socket is not None and not self._is_good(place):
            await self.close()
        kept, self._kept = self._kept, None
        render = partial(frames.render_turn, outgoing.body, kept, takes_instructions)
        turn = await work.run(render) if work.is_large else render()
        if len(turn.message) > LARGEST or not await self._open(transport, place, timeouts):
            return None
        answer = LineAnswer(self, frames.provider_messages(), turn, origin=place[0], timeouts=timeouts, work=work)
        try:
            return answer if await answer.begin() else None
        except ConnectionClosed as error:
            self.abort()
            if may_resend():
                return None
            raise BrokenResponse(answer.origin, f"the socket closed ({error})", "Try again") from error
        except BaseException:
            self.abort()
            raise

    def _is_good(self, place: Place) -> bool:
        socket = self._socket
        assert socket is not None
        young = socket.loop.time() - self._opened < LIFE_SECONDS
        return young and place == self._place and socket.close_code is None

    async def _open(self, transport: Transport, place: Place, timeouts: Timeouts) -> bool:
        """Whether there is a socket, opened now if there was none."""
        if self._socket is not None:
            return True
        now = asyncio.get_running_loop().time()
        if now < self._paused_until or not transport.has_room_for_socket:
            return False
        url, headers = place
        protocol = ClientProtocol(parse_uri("ws" + url.removeprefix("http")), max_size=_LARGEST_ANSWER)
        opened: ProviderSocket | None = None
        try:
            async with asyncio.timeout(timeouts.connect):
                opened = await transport.dial_socket(
                    url, lambda: ProviderSocket(protocol, close_timeout=_CLOSE_SECONDS)
                )
                if opened is not None:
                    await opened.handshake(headers, None)
        except (TimeoutError, TransportFailure, WebSocketException, OSError):
            self._paused_until = now + _PAUSE_SECONDS
            if opened is not None:
                opened.transport.abort()
            return False
        except BaseException:
            if opened is not None:
                opened.transport.abort()
            raise
        if opened is None:
            return False
        opened.start_keepalive()
        transport.add_socket(opened.transport)
        self._socket, self._place, self._opened = opened, place, now
        return True

    async def say(self, message: bytes) -> None:
        assert self._socket is not None
        await self._socket.send(message, text=True)

    async def hear(self) -> bytes:
        """The next message. Raises ConnectionClosed."""
        if self._socket is None:
            raise ConnectionClosed(None, None)
        message = await self._socket.recv(decode=False)
        assert isinstance(message, bytes)
        return message

    def keep(self, kept: KeptAnswer | None) -> None:
        """Note what the provider has, for the next turn."""
        self._kept = kept

    def abort(self) -> None:
        """Leave the socket, and with it the turn on it."""
        socket, self._socket, self._kept = self._socket, None, None
        if socket is not None:
            socket.transport.abort()

    async def close(self) -> None:
        socket, self._socket, self._kept = self._socket, None, None
        if socket is not None:
            await socket.close()


class LineAnswer(Incoming):
    """The messages of one turn, as if they came as a stream."""

    def __init__(
        self,
        line: SocketLine,
        messages: ProviderMessages,
        turn: ProviderTurn,
        *,
        origin: str,
        timeouts: Timeouts,
        work: RequestWork,
    ) -> None:
        total = asyncio.get_running_loop().time() + timeouts.total if timeouts.total is not None else inf
        super().__init__(origin.partition("?")[0], False, timeouts, total)
        self._line = line
        self._messages = messages
        self._turn = turn
        self._work = work

    async def begin(self) -> bool:
        """Send the turn and wait for the first message. False if this socket cannot answer it."""
        await self._line.say(self._turn.message)
        piece = await self._hear(Phase.FIRST_BYTE)
        if self._messages.is_gone:
            self._line.abort()
            return False
        self.status = self._messages.status
        kind = "text/event-stream" if self.status == 200 else "application/json"
        self.headers = [("content-type", kind), *self._messages.headers.items()]
        self.chunks.append(piece)
        return True

    async def _next_chunks(self) -> bytes:
        if self.complete:
            return b""
        try:
            return await self._hear(Phase.IDLE)
        except ConnectionClosed as error:
            self.abandon()
            raise BrokenResponse(self.origin, f"the socket closed within an answer ({error})", "Try again") from error
        except BaseException:
            self.abandon()
            raise

    async def _hear(self, phase: Phase) -> bytes:
        """The next message, in time."""
        seconds, left = self.timeouts.of(phase), self.ends_at - asyncio.get_running_loop().time()
        if seconds is None or left < seconds:
            phase, seconds = Phase.TOTAL, left
        try:
            async with asyncio.timeout(None if seconds == inf else seconds):
                message = await self._line.hear()
        except TimeoutError:
            raise TimedOut(self.origin, phase, self.timeouts.of(phase)) from None
        read = partial(self._messages.read, message)
        try:
            piece = read() if len(message) <= LARGE else await self._work.run_to_end(read)
        except (DragomanError, msgspec.MsgspecError, KeyError, ValueError, RecursionError) as error:
            raise BrokenResponse(self.origin, f"a message cannot be read ({error})", "Try again") from error
        if self._messages.is_over:
            self.complete = True
            self._line.keep(self._messages.keep(self._turn))
        return piece

    def abandon(self) -> None:
        """A turn that is not over ends with its socket."""
        if not self.complete:
            self.complete = True
            self._line.abort()


def _find_place(outgoing: Outgoing) -> Place:
    named = [(name.lower(), value) for name, value in outgoing.headers]
    kept = [(name, value) for name, value in named if name not in _NOT_SENT]
    return outgoing.url, tuple(
        ("authorization", f"Bearer {value}") if name in _KEYS else (name, value) for name, value in kept
    )
