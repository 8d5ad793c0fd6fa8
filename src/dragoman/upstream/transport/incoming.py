"""An answer: its head at once, its body as it arrives."""

from __future__ import annotations

import asyncio
from typing import Protocol, Self

from dragoman.upstream.transport.decoding import Inflater
from dragoman.upstream.transport.failures import Phase, TooLarge
from dragoman.upstream.transport.limits import Timeouts

_PIECES_PER_TURN = 4
"""Pieces that are decompressed before others have their turn: a quarter of a mebibyte."""


class AnsweringConnection(Protocol):
    """What an answer needs of the connection over which it comes."""

    loop: asyncio.AbstractEventLoop
    paused: bool

    def abort(self) -> None: ...
    def resume(self) -> None: ...
    def set_deadline(self, in_flight: InFlight, phase: Phase, seconds: float | None) -> None: ...


class InFlight:
    """The shared state of a connection and a reader."""

    # Defaults are on the class, because an instance is made for every request and most never change them.
    reused = False
    stale = False
    status = 0
    headed = False
    encoding: str | None = None
    length: int | None = None
    size = 0
    complete = False
    failure: BaseException | None = None
    waiter: asyncio.Future[None] | None = None
    connection: AnsweringConnection | None = None

    def __init__(self, origin: str, bodiless: bool, timeouts: Timeouts, ends_at: float) -> None:
        self.origin = origin
        self.bodiless = bodiless
        self.timeouts = timeouts
        self.ends_at = ends_at
        self.headers: list[tuple[str, str]] = []
        self.chunks: list[bytes] = []

    def wake(self) -> None:
        """Wake the reader."""
        waiter = self.waiter
        if waiter is not None:
            self.waiter = None
            if not waiter.done():
                waiter.set_result(None)

    def abandon(self) -> None:
        """Stop reading. A connection that still receives this answer is aborted."""
        if self.connection is not None:
            self.connection.abort()


class Nudged(Exception):
    """A reader waited until somebody wanted it to do something else. It may read on."""


class Incoming(InFlight):
    """The answer to an `Outgoing`.

    Read it whole with `read`, or piece by piece with `async for`. Reading to the end releases the connection. If you
    stop earlier, call `close` (or use `async with`), which aborts it. Cancelling a reader also aborts it, so to wait
    with a timeout use `asyncio.wait` instead of cancelling.
    """

    _inflater: Inflater | None = None
    _inflated = 0
    _nudged = False

    def header(self, name: str) -> str | None:
        """The first value of a header, by its name in lower case."""
        for known, value in self.headers:
            if known == name:
                return value
        return None

    async def read(self, limit: int) -> bytes:
        """The whole body. Raises `TooLarge` once it is known to be longer than `limit` bytes."""
        if self.length is not None and self.length > limit and not self.bodiless:
            raise self._too_large(limit)
        if self.complete and self.encoding is None and self.size <= limit:
            return self._take_chunks() if self.chunks else b""
        pieces: list[bytes] = []
        size = 0
        while piece := await self._piece():
            size += len(piece)
            if size > limit:
                raise self._too_large(limit)
            pieces.append(piece)
        return pieces[0] if len(pieces) == 1 else b"".join(pieces)

    def nudge(self) -> None:
        """Have the reader that waits for the next piece raise `Nudged`."""
        self._nudged = self.waiter is not None
        self.wake()

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> bytes:
        piece = await self._piece()
        if not piece:
            raise StopAsyncIteration
        return piece

    async def close(self) -> None:
        """Stop reading. A connection in the middle of this answer is aborted. Calling it twice is allowed."""
        self.abandon()
        self.chunks.clear()
        self.size = 0

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def _piece(self) -> bytes:
        """The next bytes of the body, decompressed if necessary; empty at its end."""
        if self.encoding is None:
            return self._take_chunks() if self.chunks else await self._next_chunks()
        try:
            return await self._next_decompressed(self.encoding)
        except Nudged:
            raise
        except BaseException:
            self.abandon()
            raise

    async def _next_decompressed(self, encoding: str) -> bytes:
        if self._inflater is None:
            self._inflater = Inflater(self.origin, encoding)
        self._inflated += 1
        if self._inflated % _PIECES_PER_TURN == 0:
            await asyncio.sleep(0)  # a kilobyte may become a gigabyte, and nothing else would have its turn
        while not (piece := self._inflater.piece()):
            raw = await self._next_chunks()
            if not raw:
                self._inflater.finish()
                return b""
            self._inflater.feed(raw)
        return piece

    async def _next_chunks(self) -> bytes:
        while not self.chunks:
            if self.failure is not None:
                raise self.failure
            if self.complete:
                return b""
            await self._wait()
            if self._nudged:
                self._nudged = False
                if not (self.chunks or self.complete or self.failure):
                    raise Nudged
        return self._take_chunks()

    def _take_chunks(self) -> bytes:
        """All bytes that have arrived, as one piece, so that one read from a socket leads to one write."""
        chunks = self.chunks
        piece = chunks[0] if len(chunks) == 1 else b"".join(chunks)
        chunks.clear()
        self.size = 0
        connection = self.connection
        if connection is not None and connection.paused:
            connection.resume()
        return piece

    async def _wait(self) -> None:
        connection = self.connection
        if connection is None or self.waiter is not None:
            raise RuntimeError("an answer can have only one reader at a time")
        self.waiter = connection.loop.create_future()
        connection.set_deadline(self, Phase.IDLE, self.timeouts.idle)
        try:
            await self.waiter
        except BaseException:
            self.waiter = None
            self.abandon()
            raise

    def _too_large(self, limit: int) -> TooLarge:
        self.abandon()
        return TooLarge(
            self.origin, f"the body of the answer is longer than {limit} bytes", "Raise the limit, or stream it"
        )
