"""One request under way: what has been heard so far, and who waits for more.

The connection writes here and the reader takes from here; neither calls the other for every chunk, and once the
answer is complete the connection is free for others even while chunks still lie here.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from dragoman.upstream.transport.limits import Timeouts

if TYPE_CHECKING:
    from dragoman.upstream.transport.connection import Connection


class InFlight:
    """The meeting point of a connection and a reader."""

    # What most exchanges never change stands on the class: an instance is made for every request.
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
    connection: Connection | None = None

    def __init__(self, origin: str, bodiless: bool, timeouts: Timeouts, ends_at: float) -> None:
        self.origin = origin
        self.bodiless = bodiless
        self.timeouts = timeouts
        self.ends_at = ends_at
        self.headers: list[tuple[str, str]] = []
        self.chunks: list[bytes] = []

    def wake(self) -> None:
        """Let the reader look again."""
        waiter = self.waiter
        if waiter is not None:
            self.waiter = None
            if not waiter.done():
                waiter.set_result(None)

    def abandon(self) -> None:
        """Nobody will read on: a connection that still serves this exchange is dropped with it."""
        if self.connection is not None:
            self.connection.drop()
