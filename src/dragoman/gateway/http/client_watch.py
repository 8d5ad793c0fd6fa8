"""Whether a client is still there: a request ends when its client disconnects, and a stream when nobody reads it. A
client that waits for a silent stream is shown that it lives."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager

from dragoman.gateway.http.coarse_timer import CoarseTimeout
from dragoman.gateway.http.inbound import ClientGone, Inbound, Send
from dragoman.wire.json_size import LARGE

_WATCH_AFTER = 0.5
"""Seconds after which a request begins to check whether its client is still connected."""


class ClientWatch(CoarseTimeout):
    """Cancels the task of a request when its client disconnects. `gone` marks such a cancellation.

    The client of a large body is watched at once: the work on it waits for others, and need not be begun.
    """

    __slots__ = ("_inbound", "_task", "_watcher", "gone")

    def __init__(self, inbound: Inbound, size: int = 0) -> None:
        super().__init__(inbound.timer, _WATCH_AFTER)
        self.gone = False
        self._inbound = inbound
        self._task = asyncio.current_task()
        self._watcher: asyncio.Task[None] | None = None
        if size > LARGE:
            self._timer.timeouts.discard(self)
            self.on_timeout()

    def on_timeout(self) -> None:
        self._watcher = asyncio.get_running_loop().create_task(self._watch())

    async def _watch(self) -> None:
        while (await self._inbound.receive())["type"] != "http.disconnect":  # noqa: ASYNC110 - the server waits in receive
            await asyncio.sleep(_WATCH_AFTER)  # and if it does not, this loop must not be busy
        self.gone = True
        if self._task is not None:
            self._task.cancel("the client has disconnected")

    def stop(self) -> None:
        self._timer.timeouts.discard(self)
        if self._watcher is not None:
            self._watcher.cancel()
            self._watcher = None  # it refers to this


@contextmanager
def watch_client(inbound: Inbound, size: int) -> Iterator[None]:
    """Work for a client, whose body of this size has been read. Raises ClientGone once it disconnects, which ends the
    work."""
    watch = ClientWatch(inbound, size)
    try:
        yield
    except asyncio.CancelledError:
        if watch.gone:
            raise ClientGone from None
        raise
    finally:
        watch.stop()


PING_SECONDS = 15.0
"""A stream that is silent for so long, and up to twice as long, shows that it lives."""
_FRAME_END = b"\n\n"


class StreamWatch:
    """Ends a deadline when one write has been waiting for `seconds` or longer, and sends `ping` between two events of a
    stream that is silent: Claude Code gives it up after five minutes, and a model may think for longer, unseen.

    A timer checks this from time to time; a write only increases a number.
    """

    __slots__ = (
        "_deadline",
        "_pause",
        "_ping",
        "_seconds",
        "_seen",
        "_send",
        "_stuck",
        "_timer",
        "begun",
        "done",
        "last",
        "pinging",
    )

    def __init__(self, deadline: asyncio.Timeout, seconds: float, send: Send, ping: bytes = b"") -> None:
        self.begun = 0
        self.done = 0
        self.last = b""
        """What was written last."""
        self.pinging: asyncio.Task[None] | None = None
        """The ping under way. The next write waits for it."""
        self._seen = 0
        self._stuck = 0.0
        self._deadline = deadline
        self._seconds = seconds
        self._send = send
        self._ping = ping
        self._pause = min(seconds, PING_SECONDS) if ping else seconds
        self._timer = asyncio.get_running_loop().call_later(self._pause, self._check)

    def _check(self) -> None:
        loop, same = asyncio.get_running_loop(), self.begun == self._seen
        waits = self.begun > self.done or self.pinging is not None
        self._stuck = self._stuck + self._pause if waits and same else 0.0
        if self._stuck >= self._seconds:
            self._deadline.reschedule(loop.time())
            return
        if self._ping and same and not waits and self.last.endswith(_FRAME_END):
            self.pinging = loop.create_task(self._send_ping())
        self._seen = self.begun
        self._timer = loop.call_later(self._pause, self._check)

    async def _send_ping(self) -> None:
        try:
            await self._send({"type": "http.response.body", "body": self._ping, "more_body": True})
        finally:
            self.pinging = None

    async def stop(self) -> None:
        self._timer.cancel()
        if self.pinging is not None:
            self.pinging.cancel()
            await asyncio.gather(self.pinging, return_exceptions=True)
