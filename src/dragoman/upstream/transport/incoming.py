"""An answer: its head at once, its body as it comes."""

from __future__ import annotations

from typing import Self

from dragoman.upstream.transport.decoding import Inflater
from dragoman.upstream.transport.failures import Phase, TooLarge
from dragoman.upstream.transport.in_flight import InFlight


class Incoming(InFlight):
    """The answer to an `Outgoing`.

    Read it whole with `read`, or piece by piece with `async for`; reading to the end gives the connection back.
    Whoever stops earlier calls `close` (or uses `async with`), which drops it. A reader that is cancelled while it
    waits drops it too, so a pause must be awaited beside the reader (`asyncio.wait`), not by cancelling it.
    """

    _inflater: Inflater | None = None

    def header(self, name: str) -> str | None:
        """The first value of a header, by its name in lower case."""
        for known, value in self.headers:
            if known == name:
                return value
        return None

    async def read(self, limit: int) -> bytes:
        """The whole body, or `TooLarge` as soon as it is known to be longer than `limit` bytes."""
        if self.length is not None and self.length > limit and not self.bodiless:
            raise self._too_large(limit)
        if self.complete and self.encoding is None and self.size <= limit:
            return self._taken() if self.chunks else b""
        pieces: list[bytes] = []
        size = 0
        while piece := await self._piece():
            size += len(piece)
            if size > limit:
                raise self._too_large(limit)
            pieces.append(piece)
        return pieces[0] if len(pieces) == 1 else b"".join(pieces)

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> bytes:
        piece = await self._piece()
        if not piece:
            raise StopAsyncIteration
        return piece

    async def close(self) -> None:
        """Let go. A connection in the middle of this answer is dropped; calling twice does no harm."""
        self.abandon()
        self.chunks.clear()
        self.size = 0

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def _piece(self) -> bytes:
        """The next bytes of the body, decompressed if need be; empty at its end."""
        if self.encoding is None:
            return self._taken() if self.chunks else await self._raw()
        try:
            return await self._plain(self.encoding)
        except BaseException:
            self.abandon()
            raise

    async def _plain(self, encoding: str) -> bytes:
        if self._inflater is None:
            self._inflater = Inflater(self.origin, encoding)
        while not (piece := self._inflater.piece()):
            raw = await self._raw()
            if not raw:
                self._inflater.finish()
                return b""
            self._inflater.feed(raw)
        return piece

    async def _raw(self) -> bytes:
        while not self.chunks:
            if self.failure is not None:
                raise self.failure
            if self.complete:
                return b""
            await self._more()
        return self._taken()

    def _taken(self) -> bytes:
        """All that has arrived, as one piece: what came in one read from the socket goes on in one write."""
        chunks = self.chunks
        piece = chunks[0] if len(chunks) == 1 else b"".join(chunks)
        chunks.clear()
        self.size = 0
        connection = self.connection
        if connection is not None and connection.paused:
            connection.resume()
        return piece

    async def _more(self) -> None:
        connection = self.connection
        if connection is None or self.waiter is not None:
            raise RuntimeError("an answer has one reader at a time")
        self.waiter = connection.loop.create_future()
        connection.watch(self, Phase.IDLE, self.timeouts.idle)
        try:
            await self.waiter
        except BaseException:
            self.waiter = None
            self.abandon()
            raise

    def _too_large(self, limit: int) -> TooLarge:
        self.abandon()
        return TooLarge(self.origin, f"the answer's body is longer than {limit} bytes", "Raise the limit, or stream it")
