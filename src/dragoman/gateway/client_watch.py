"""Is the client still there, and does it read? Both are watched without costing a quick answer anything."""

from __future__ import annotations

import asyncio

from dragoman.gateway.inbound import Inbound

_WATCH_AFTER = 0.5
"""Seconds after which a request under way starts to look whether its client is still there."""


class ClientWatch:
    """Cancels the request's task when its client leaves; `gone` tells such a cancellation from any other."""

    __slots__ = ("_alarm", "_inbound", "_task", "_waiting", "gone")

    def __init__(self, inbound: Inbound) -> None:
        self.gone = False
        self._inbound = inbound
        self._task = asyncio.current_task()
        self._waiting: asyncio.Task[None] | None = None
        self._alarm = inbound.ticker.after(_WATCH_AFTER, self._start)

    def _start(self) -> None:
        self._waiting = asyncio.get_running_loop().create_task(self._watch())

    async def _watch(self) -> None:
        while (await self._inbound.receive())["type"] != "http.disconnect":  # noqa: ASYNC110 - it is the server's to wait
            await asyncio.sleep(_WATCH_AFTER)  # and where it does not, that must not keep us busy
        self.gone = True
        if self._task is not None:
            self._task.cancel("the client has gone")

    def stop(self) -> None:
        self._alarm.stop()
        if self._waiting is not None:
            self._waiting.cancel()


class Reading:
    """Ends a deadline when one and the same write has been waiting for `patience` seconds or more.

    A timer looks from time to time; a write itself only raises a number.
    """

    __slots__ = ("_deadline", "_patience", "_seen", "_timer", "begun", "done")

    def __init__(self, deadline: asyncio.Timeout, patience: float) -> None:
        self.begun = 0
        self.done = 0
        self._seen = 0
        self._deadline = deadline
        self._patience = patience
        self._timer = asyncio.get_running_loop().call_later(patience, self._look)

    def _look(self) -> None:
        loop = asyncio.get_running_loop()
        if self.begun > self.done and self.begun == self._seen:
            self._deadline.reschedule(loop.time())
            return
        self._seen = self.begun
        self._timer = loop.call_later(self._patience, self._look)

    def stop(self) -> None:
        self._timer.cancel()
