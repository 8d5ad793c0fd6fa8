"""Work beside the requests: a few tasks at a time, each under a key, and a pause for what keeps failing."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Coroutine
from typing import Any


class BackgroundTasks:
    """At most `limit` tasks at a time, one for each key. What does not fit is not begun."""

    def __init__(self, limit: int, breaker: CircuitBreaker) -> None:
        self._limit = limit
        self.breaker = breaker
        self._running: dict[str, asyncio.Task[None]] = {}

    def start(self, key: str, work: Callable[[], Coroutine[Any, Any, None]]) -> bool:
        """Begin, unless there is such a task already or there are too many; whether it was begun."""
        if key in self._running or len(self._running) >= self._limit:
            return False
        task = self._running[key] = asyncio.get_running_loop().create_task(work())
        task.add_done_callback(lambda _: self._running.pop(key, None))
        return True

    async def wait(self) -> None:
        """Wait for all that is under way."""
        await asyncio.gather(*self._running.values(), return_exceptions=True)

    async def stop(self) -> None:
        for task in list(self._running.values()):
            task.cancel()
        await self.wait()


class CircuitBreaker:
    """Leaves alone, for a while, what failed several times in a row."""

    def __init__(self, failures: int, seconds: float) -> None:
        self._most = failures
        self._seconds = seconds
        self._failures: dict[str, int] = {}
        self._until: dict[str, float] = {}

    def is_open(self, key: str) -> bool:
        return time.monotonic() < self._until.get(key, 0.0)

    def failed(self, key: str) -> None:
        count = self._failures[key] = self._failures.get(key, 0) + 1
        if count >= self._most:
            self._until[key] = time.monotonic() + self._seconds

    def succeeded(self, key: str) -> None:
        self._failures.pop(key, None)
        self._until.pop(key, None)
