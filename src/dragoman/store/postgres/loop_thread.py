"""An event loop in a thread of its own: what the ledger has to do delays no request."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Coroutine
from typing import Any, TypeVar

Result = TypeVar("Result")
JOIN_SECONDS = 10.0


class LoopThread:
    """Started with the first use, so that a part that nobody uses costs nothing."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._lock = threading.Lock()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: threading.Thread | None = None
        self.ended = False

    @property
    def started(self) -> bool:
        return self._loop is not None

    def soon(self, function: Callable[[], object]) -> None:
        """Have a function called in the thread. Nothing happens if the thread has ended."""
        loop = self._running()
        if loop is not None:
            loop.call_soon_threadsafe(function)

    async def run(self, work: Coroutine[Any, Any, Result]) -> Result:
        """The result of a coroutine that runs in the thread. Raises RuntimeError if the thread has ended."""
        loop = self._running()
        if loop is None:
            work.close()
            raise RuntimeError("the ledger is closed")
        return await asyncio.wrap_future(asyncio.run_coroutine_threadsafe(work, loop))

    async def end(self) -> None:
        """Stop the loop and wait for the thread."""
        with self._lock:
            self.ended = True
            loop, thread = self._loop, self._thread
        if loop is not None and thread is not None and thread.is_alive():
            loop.call_soon_threadsafe(loop.stop)
            await asyncio.to_thread(thread.join, JOIN_SECONDS)

    def _running(self) -> asyncio.AbstractEventLoop | None:
        with self._lock:
            if self.ended:
                return None
            if self._loop is None:
                self._loop = asyncio.new_event_loop()
                self._thread = threading.Thread(target=_run, args=(self._loop,), name=self._name, daemon=True)
                self._thread.start()
            return self._loop


def _run(loop: asyncio.AbstractEventLoop) -> None:
    asyncio.set_event_loop(loop)
    loop.run_forever()
    tasks = asyncio.all_tasks(loop)
    for task in tasks:
        task.cancel()
    loop.run_until_complete(asyncio.gather(*tasks, return_exceptions=True))
    loop.close()
