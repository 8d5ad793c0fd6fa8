"""Watch whether a client is still connected, and whether it reads. Quick answers cost nothing extra."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager

from dragoman.gateway.inbound import ClientGone, Inbound

_WATCH_AFTER = 0.5
"""Seconds after which a request begins to check whether its client is still connected."""


class ClientWatch:
    """Cancels the task of a request when its client disconnects. `gone` marks such a cancellation."""

    __slots__ = ("_inbound", "_task", "_timeout", "_watcher", "gone")

    def __init__(self, inbound: Inbound) -> None:
        self.gone = False
        self._inbound = inbound
        self._task = asyncio.current_task()
        self._watcher: asyncio.Task[None] | None = None
        self._timeout = inbound.timer.after(_WATCH_AFTER, self._start)

    def _start(self) -> None:
        self._watcher = asyncio.get_running_loop().create_task(self._watch())

    async def _watch(self) -> None:
        while (await self._inbound.receive())["type"] != "http.disconnect":  # noqa: ASYNC110 - the server waits in receive
            await asyncio.sleep(_WATCH_AFTER)  # and if it does not, this loop must not be busy
        self.gone = True
        if self._task is not None:
            self._task.cancel("the client has disconnected")

    def stop(self) -> None:
        self._timeout.stop()
        if self._watcher is not None:
            self._watcher.cancel()


@contextmanager
def noticing(inbound: Inbound) -> Iterator[None]:
    """Work for a client, whose body has been read. Raises ClientGone once it disconnects, which ends the work."""
    watch = ClientWatch(inbound)
    try:
        yield
    except asyncio.CancelledError:
        if watch.gone:
            raise ClientGone from None
        raise
    finally:
        watch.stop()


class SlowReaderWatch:
    """Ends a deadline when one write has been waiting for `seconds` or longer.

    A timer checks this from time to time; a write only increases a number.
    """

    __slots__ = ("_deadline", "_seconds", "_seen", "_timer", "begun", "done")

    def __init__(self, deadline: asyncio.Timeout, seconds: float) -> None:
        self.begun = 0
        self.done = 0
        self._seen = 0
        self._deadline = deadline
        self._seconds = seconds
        self._timer = asyncio.get_running_loop().call_later(seconds, self._check)

    def _check(self) -> None:
        loop = asyncio.get_running_loop()
        if self.begun > self.done and self.begun == self._seen:
            self._deadline.reschedule(loop.time())
            return
        self._seen = self.begun
        self._timer = loop.call_later(self._seconds, self._check)

    def stop(self) -> None:
        self._timer.cancel()
