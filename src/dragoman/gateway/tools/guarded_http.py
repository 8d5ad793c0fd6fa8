"""HTTP for the MCP SDK over the gateway's own transport, which knows where it may go and how much it may read.

A server of tools names further addresses: redirects, and those of its authorisation server. Only origins that the
operator has named may be anywhere. All others must be public.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import suppress
from time import monotonic

import httpx2

from dragoman.gateway.tools.answer_bounds import AnswerBounds
from dragoman.upstream.transport.address import HttpOrigin, parse_address
from dragoman.upstream.transport.failures import TransportFailure
from dragoman.upstream.transport.incoming import Incoming
from dragoman.upstream.transport.limits import Timeouts
from dragoman.upstream.transport.outgoing import Outgoing
from dragoman.upstream.transport.transport import Transport

_OURS = frozenset({"host", "connection", "content-length", "transfer-encoding", "accept-encoding", "keep-alive", "te"})
"""Headers that the transport sets itself."""
_DECODED = frozenset({"content-encoding", "content-length", "transfer-encoding", "connection"})
"""Headers that do not hold for a body that was read already."""
_RESUMED = ("mcp-session-id", "last-event-id")
"""Headers of a request for what a server has to tell by itself. The SDK asks again as soon as the server wants."""
_BETWEEN_RESUMED = 1.0
"""Seconds between two such requests at least."""
_UNASKED_PER_SECOND = 20
_UNASKED_AT_ONCE = 1_000
"""Events of an endless stream. The SDK starts a task for each, and may answer it. A server that tells more has to wait
until they are read."""
_OF_SESSION = re.compile(rb"session|initiali[sz]e", re.IGNORECASE)
"""In what servers say that answer 400 or 401 in place of 404 if they do not know a session any more: those made after
the examples of the TypeScript SDK, and of the Rust SDK."""
_END_OF_EVENT = re.compile(rb"\n\r?\n|\r\r")


class GuardedHttp(httpx2.AsyncBaseTransport):
    """What the SDK's HTTP client sends with. `status` is that of the last message that was refused, or 0.
    `lost_session`: the server did not know the session any more, or wanted one where there is none."""

    def __init__(
        self, named: Transport, public: Transport, origins: frozenset[HttpOrigin], bounds: AnswerBounds, seconds: float
    ) -> None:
        """`named` reaches the `origins`, and `public` all others. `seconds`: until a message is answered."""
        self._named = named
        self._public = public
        self._origins = origins
        self._bounds = bounds
        self._seconds = seconds
        self._resumes_at = 0.0
        self._listens_at = 0.0
        self.status = 0
        self.lost_session = False

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        body = await request.aread()
        headers = tuple([(name, value) for name, value in request.headers.items() if name.lower() not in _OURS])
        # A stream of what a server has to tell by itself stays open, and is silent for long. Of the answer to a message
        # nobody reads what comes later, and yet the SDK would go on reading it.
        total = self._seconds if request.method == "POST" else None
        waits = Timeouts(connect=min(self._seconds, 10), first_byte=self._seconds, idle=total, total=total)
        if request.method == "GET" and any(name in request.headers for name in _RESUMED):
            await asyncio.sleep(max(self._resumes_at - monotonic(), 0))
            self._resumes_at = monotonic() + _BETWEEN_RESUMED
        try:
            transport = self._named if parse_address(str(request.url)).origin in self._origins else self._public
            incoming = await transport.send(Outgoing(request.method, str(request.url), headers, body), waits)
        except TransportFailure as failure:
            raise httpx2.ConnectError(str(failure), request=request) from failure
        if incoming.status >= 400 and (request.method == "POST" or not self.status):
            self.status = incoming.status
        kept = [(name, value) for name, value in incoming.headers if name.lower() not in _DECODED]
        streamed = "text/event-stream" in (incoming.header("content-type") or "").lower()
        endless = streamed and request.method == "GET"
        stream = _BoundedBody(incoming, self._bounds, streamed, self._listen if endless else None)
        if request.method != "POST":
            return httpx2.Response(incoming.status, headers=kept, stream=stream)
        if incoming.status < 400:
            self.lost_session = False
            return httpx2.Response(incoming.status, headers=kept, stream=stream)
        refusal = await _read_refusal(stream)
        unknown = incoming.status == 404 and "mcp-session-id" in request.headers
        self.lost_session = unknown or (incoming.status < 500 and _OF_SESSION.search(refusal) is not None)
        return httpx2.Response(incoming.status, headers=kept, content=refusal)

    async def _listen(self, events: int) -> None:
        """Wait until so many more events of endless streams may be read."""
        now = monotonic()
        earliest = now - _UNASKED_AT_ONCE / _UNASKED_PER_SECOND
        self._listens_at = max(self._listens_at, earliest) + events / _UNASKED_PER_SECOND
        if self._listens_at > now:
            await asyncio.sleep(self._listens_at - now)


class _BoundedBody(httpx2.AsyncByteStream):
    """The body of an answer, and not more of it than is allowed: a stream event by event, any other as a whole."""

    def __init__(
        self, incoming: Incoming, bounds: AnswerBounds, streamed: bool, listen: Callable[[int], Awaitable[None]] | None
    ) -> None:
        """`listen` waits until so many events of a stream without end may be read; None: the body has an end."""
        self._incoming = incoming
        self._bounds = bounds
        self._streamed = streamed
        self._listen = listen

    async def __aiter__(self) -> AsyncIterator[bytes]:
        held, size = bytearray(), 0
        try:
            async for piece in self._incoming:
                size += len(piece)
                looked = max(len(held) - 2, 0)  # the end of an event may be cut
                held += piece
                if len(held) > self._bounds.size or (self._listen is None and size > self._bounds.size):
                    raise _excess(f"the answer is longer than {self._bounds.size} bytes")
                ends = [found.end() for found in _END_OF_EVENT.finditer(held, looked)] if self._streamed else []
                if ends and self._listen is not None:
                    await self._listen(len(ends))
                if ends:
                    yield await self._check(bytes(held[: ends[-1]]))
                    del held[: ends[-1]]
            if held:
                yield await self._check(bytes(held))
        except TransportFailure as failure:
            raise httpx2.StreamError(str(failure)) from failure

    async def _check(self, answer: bytes) -> bytes:
        if what := await self._bounds.find_excess(answer):
            raise _excess(what)
        return answer

    async def aclose(self) -> None:
        await self._incoming.close()


async def _read_refusal(stream: _BoundedBody) -> bytes:
    """What a server says in a refusal; nothing if that is too much."""
    text = b""
    with suppress(httpx2.StreamError):
        async for piece in stream:
            text += piece
    await stream.aclose()
    return text


def _excess(what: str) -> httpx2.StreamError:
    """Of all errors, this is the one after which the SDK goes on and fails the call alone."""
    return httpx2.StreamError(what)
