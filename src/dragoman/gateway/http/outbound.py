"""The answer to a client: status, headers, and a body at once or as a stream."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from functools import partial
from typing import Protocol

from msgspec import Struct

from dragoman.conversation.failures import Failure
from dragoman.dialects.dialect import AnswerContext, RenderError
from dragoman.engine.answer.client_failures import render_failure
from dragoman.engine.library.report_summary import ID_HEADER
from dragoman.gateway.http.client_watch import StreamWatch
from dragoman.gateway.http.inbound import Send
from dragoman.upstream.heavy_work import RequestWork
from dragoman.wire.json_size import LARGE

Headers = list[tuple[bytes, bytes]]

JSON = b"application/json"
EMULATED = (b"x-dragoman-emulated", b"true")
ESTIMATED = (b"x-dragoman-estimate", b"true")
SSE = b"text/event-stream; charset=utf-8"
_RESERVED = frozenset({"content-type", "content-length"})
_AT_ONCE = 256 * 1024
"""Bytes of a stream that are written at once. A client of the Responses API is sent a long text five times, in one go:
framing it holds up everybody, and a slow reader would have all of it wait in memory once more."""


class AnswerRewriter(Protocol):
    """Makes another answer of one that is being sent: of a whole body, or of the pieces of a stream. Not of errors."""

    def whole(self, body: bytes) -> bytes: ...

    def piece(self, data: bytes) -> bytes: ...

    def close(self) -> bytes: ...

    async def settle(self, made: bytes) -> bytes:
        """Done before what was made is sent; what is sent."""


class Outbound(Struct, eq=False):
    """One answer. It always carries the request id, and knows whether it has begun.

    `rewriter` makes another answer of what is sent, if the client's endpoint has a form of its own; `work`: where
    that is done. `errors`: how errors are rendered; None: as the client's dialect does. `copy` are the first pieces of
    a stream: `copied` bytes of it. `before_end` is awaited before the last bytes are sent."""

    send: Send
    id: str
    started: bool = False
    status: int = 0
    pieces: int = 0
    rewriter: AnswerRewriter | None = None
    work: RequestWork | None = None
    errors: RenderError | None = None
    before_end: Callable[[], Awaitable[None]] | None = None
    copied: int = 0
    copy: list[bytes] = []

    async def whole(self, status: int, body: bytes, headers: Headers | None = None, content_type: bytes = JSON) -> None:
        """Send an answer with a known body."""
        if self.rewriter is not None and status == 200:
            body = await self._rewrite(len(body), self.rewriter.whole, body)
            body = await self.rewriter.settle(body)
        if self.before_end is not None:
            await self.before_end()
        length = (b"content-length", b"%d" % len(body))
        await self._start(status, [(b"content-type", content_type), length], headers)
        await self.send({"type": "http.response.body", "body": body})

    async def refusal(
        self, dialect: str, failure: Failure, headers: Headers | None = None, context: AnswerContext | None = None
    ) -> None:
        """Send an error in the client's dialect."""
        error = render_failure(dialect, failure, context or AnswerContext(id=self.id, errors=self.errors))
        own = [
            (name.encode(), value.encode("latin-1", "replace"))
            for name, value in error.headers.items()
            if name not in _RESERVED
        ]
        await self.whole(error.status, error.body, [*own, *(headers or ())])

    async def failed_stream(self, stream: bytes, headers: Headers) -> None:
        """Send a stream that tells a failure and nothing else."""
        self.rewriter = None
        await self.whole(200, stream, headers, SSE)

    async def streamed(
        self,
        pieces: AsyncIterator[bytes],
        headers: Headers,
        content_type: bytes,
        read_seconds: float,
        ping: bytes = b"",
    ) -> None:
        """Send a stream, and `ping` when it has been silent for long. Raises TimeoutError if the client does not read
        for `read_seconds` seconds."""
        send, room = self.send, self.copied
        if self.rewriter is not None:
            pieces = self._rewritten(pieces, self.rewriter)
        unbuffered = [(b"content-type", content_type), (b"cache-control", b"no-cache"), (b"x-accel-buffering", b"no")]
        await self._start(200, unbuffered, headers)
        async with asyncio.timeout(None) as deadline:
            watch = StreamWatch(deadline, read_seconds, send, ping)
            try:
                async for piece in pieces:
                    if watch.pinging is not None:
                        await watch.pinging
                    for part in (piece,) if len(piece) <= _AT_ONCE else _slices(piece):
                        watch.begun += 1
                        await send({"type": "http.response.body", "body": part, "more_body": True})
                        watch.done += 1
                        watch.last = part
                    if room > 0:
                        self.copy.append(piece[:room])
                        room -= len(piece)
            finally:
                await watch.stop()
                self.pieces = watch.done
        await self.end(b"")

    async def end(self, last: bytes) -> None:
        """Send the last bytes of a stream."""
        if self.rewriter is not None and last:
            last = self.rewriter.piece(last) + self.rewriter.close()
        if self.before_end is not None:
            await self.before_end()
        await self.send({"type": "http.response.body", "body": last})

    async def _start(self, status: int, first: Headers, more: Headers | None) -> None:
        self.started, self.status = True, status
        headers = [*first, (ID_HEADER, self.id.encode()), *(more or ())]
        await self.send({"type": "http.response.start", "status": status, "headers": headers})

    async def _rewritten(self, pieces: AsyncIterator[bytes], rewriter: AnswerRewriter) -> AsyncIterator[bytes]:
        held = 0
        async for piece in pieces:
            held += len(piece)
            made = await self._rewrite(held, rewriter.piece, piece)
            if made:
                held = 0
                yield await rewriter.settle(made)
        if last := await self._rewrite(held, rewriter.close):
            yield await rewriter.settle(last)

    async def _rewrite(self, size: int, verb: Callable[..., bytes], *given: bytes) -> bytes:
        """Rewrite a body or a piece: beside the event loop if it is large, or of an event that has become large."""
        if size <= LARGE or self.work is None:
            return verb(*given)
        return await self.work.run_to_end(partial(verb, *given))


def _slices(piece: bytes) -> Iterator[bytes]:
    return (piece[at : at + _AT_ONCE] for at in range(0, len(piece), _AT_ONCE))


def header(name: bytes, value: str) -> tuple[bytes, bytes]:
    """A header with a value that may come from a client. Control characters are replaced."""
    printable = value if value.isprintable() else "".join(letter if letter.isprintable() else "?" for letter in value)
    return name, printable.encode("latin-1", "replace")
