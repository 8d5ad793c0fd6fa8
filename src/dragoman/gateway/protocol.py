"""uvicorn's HTTP protocol with a bound on a request's head: its size, and the time it may take."""

from __future__ import annotations

import asyncio
from typing import Any

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

HEAD_SECONDS = 30.0
"""How long a client may take for the head of a request."""

_TOO_LARGE = b"the head of the request is too large\n"
_REFUSAL = (
    b"HTTP/1.1 431 Request Header Fields Too Large\r\ncontent-type: text/plain\r\nconnection: close\r\n"
    b"content-length: %d\r\n\r\n%b" % (len(_TOO_LARGE), _TOO_LARGE)
)


def bounded(limit: int) -> type[HttpToolsProtocol]:
    """The protocol for heads of at most `limit` bytes."""

    class Bounded(HttpToolsProtocol):
        """Counts while a head is unfinished, and only then."""

        head_since: float | None = None
        _head = 0

        def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
            super().connection_made(transport)
            self.head_since = self.loop.time()

        def on_message_begin(self) -> None:
            super().on_message_begin()
            self.head_since = self.loop.time()
            self._head = 0

        def on_headers_complete(self) -> None:
            self.head_since = None
            super().on_headers_complete()

        def data_received(self, data: bytes) -> None:
            super().data_received(data)
            if self.head_since is None:
                return
            self._head += len(data)
            if self._head > limit and not self.transport.is_closing():
                self.transport.write(_REFUSAL)
                self.transport.close()

    return Bounded


def drop_slow_heads(connections: Any, now: float) -> None:
    """Close connections whose request has been about to begin for too long."""
    for connection in list(connections):
        since = getattr(connection, "head_since", None)
        if since is not None and now - since > HEAD_SECONDS:
            connection.transport.close()
