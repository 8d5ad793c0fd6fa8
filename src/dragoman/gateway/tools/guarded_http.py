"""HTTP for the MCP SDK over the gateway's own transport, which knows where it may go and how much it may read.

A server of tools names further addresses: redirects, and those of its authorisation server. Only origins that the
operator has named may be anywhere. All others must be public.
"""

from __future__ import annotations

from collections.abc import AsyncIterator

import httpx2

from dragoman.upstream.transport import Incoming, Outgoing, Timeouts, TransportFailure
from dragoman.upstream.transport.address import HttpOrigin, parse_address
from dragoman.upstream.transport.transport import Transport

_OURS = frozenset({"host", "connection", "content-length", "transfer-encoding", "accept-encoding", "keep-alive", "te"})
"""Headers that the transport sets itself."""
_DECODED = frozenset({"content-encoding", "content-length", "transfer-encoding", "connection"})
"""Headers that do not hold for a body that was read already."""


class GuardedHttp(httpx2.AsyncBaseTransport):
    """What the SDK's HTTP client sends with. `status` is that of the last message that was refused, or 0.
    `lost_session`: the server did not know the session any more."""

    def __init__(self, named: Transport, public: Transport, origins: frozenset[HttpOrigin], most: int, seconds: float):
        """`named` reaches the `origins`, and `public` all others. `most`: bytes of one answer."""
        self._named = named
        self._public = public
        self._origins = origins
        self._most = most
        self._seconds = seconds
        self.status = 0
        self.lost_session = False

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        body = await request.aread()
        headers = tuple([(name, value) for name, value in request.headers.items() if name.lower() not in _OURS])
        # A stream of what a server has to tell by itself stays open, and is silent for long.
        waits = Timeouts(connect=min(self._seconds, 10), first_byte=self._seconds, idle=None)
        try:
            transport = self._named if parse_address(str(request.url)).origin in self._origins else self._public
            incoming = await transport.send(Outgoing(request.method, str(request.url), headers, body), waits)
        except TransportFailure as failure:
            raise httpx2.ConnectError(str(failure), request=request) from failure
        if incoming.status >= 400 and (request.method == "POST" or not self.status):
            self.status = incoming.status
            self.lost_session = incoming.status == 404 and "mcp-session-id" in request.headers
        kept = [(name, value) for name, value in incoming.headers if name.lower() not in _DECODED]
        endless = request.method == "GET" and "text/event-stream" in (incoming.header("content-type") or "")
        return httpx2.Response(
            incoming.status, headers=kept, stream=_BoundedBody(incoming, None if endless else self._most)
        )


class _BoundedBody(httpx2.AsyncByteStream):
    """The body of an answer as it comes, and not more of it than is allowed."""

    def __init__(self, incoming: Incoming, most: int | None) -> None:
        self._incoming = incoming
        self._most = most

    async def __aiter__(self) -> AsyncIterator[bytes]:
        size = 0
        try:
            async for piece in self._incoming:
                size += len(piece)
                if self._most is not None and size > self._most:
                    # Of all errors, this is the one after which the SDK goes on and fails the call alone.
                    raise httpx2.StreamError(f"the answer is longer than {self._most} bytes")
                yield piece
        except TransportFailure as failure:
            raise httpx2.StreamError(str(failure)) from failure

    async def aclose(self) -> None:
        await self._incoming.close()
