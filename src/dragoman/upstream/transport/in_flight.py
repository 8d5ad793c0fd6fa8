"""A request in flight: what has been received of its answer, and who waits for more.

The connection adds chunks and the reader takes them; neither calls the other for every chunk. Once the answer is
complete, the connection is free for other requests, even if chunks are still unread.
"""

from __future__ import annotations

import asyncio
from typing import Protocol

from dragoman.upstream.transport.failures import Phase
from dragoman.upstream.transport.limits import Timeouts


class AnswerReceiver(Protocol):
    """The connection, as far as the reader of an answer needs it."""

    loop: asyncio.AbstractEventLoop
    paused: bool

    def resume(self) -> None: ...

    def abort(self) -> None: ...

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
    connection: AnswerReceiver | None = None

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
