"""Large bodies are parsed and compiled beside the event loop, so that nobody waits for somebody else's megabytes.

There is one thread for it: Python runs one thread at a time, and the loop gets its turn within milliseconds while one
other thread works. What holds the interpreter longer is a single call of the JSON decoder; `server.max_body` and
`limits.values` bound that.
"""

from __future__ import annotations

import asyncio
import ctypes
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import lru_cache
from typing import TypeVar

Result = TypeVar("Result")

LARGE = 1024 * 1024
SMALL = 32 * 1024
MANY_SIGNS = 8_000
"""Quotes and commas: four quotes make a member of an object, so this is a conversation of some hundred messages."""
TRIM_SECONDS = 1.0
"""After heavy work, free memory is given back to the system; at most once in so many seconds."""


def is_heavy(body: bytes) -> bool:
    """Whether working on a body may take longer than others should wait: it is long, or it holds very much."""
    size = len(body)
    return size > SMALL and (size > LARGE or body.count(b'"') + body.count(b",") > MANY_SIGNS)


@lru_cache(maxsize=1)
def _trimmer() -> Callable[[int], int] | None:
    """glibc's `malloc_trim`; other allocators need none, or have none."""
    try:
        found: Callable[[int], int] = ctypes.CDLL(None).malloc_trim
    except (OSError, AttributeError, TypeError):
        return None
    return found


def give_memory_back() -> None:
    """Return free pages of the heap to the system, where the C library can."""
    trim = _trimmer()
    if trim is not None:
        trim(0)


class HeavyWork:
    """One thread for all large bodies of a process, made when it is first needed."""

    def __init__(self) -> None:
        self._thread: ThreadPoolExecutor | None = None
        self._trimming: asyncio.TimerHandle | None = None

    async def run(self, work: Callable[[], Result]) -> Result:
        """Do it in the thread. A caller that is cancelled does not wait for it."""
        return await self._submit(work)

    async def run_to_end(self, work: Callable[[], Result]) -> Result:
        """Do it in the thread. A caller that is cancelled waits for it: nobody else may touch what it works on."""
        future = self._submit(work)
        try:
            return await asyncio.shield(future)
        except asyncio.CancelledError:
            await asyncio.wait({future})
            raise

    def _submit(self, work: Callable[[], Result]) -> asyncio.Future[Result]:
        if self._thread is None:
            self._thread = ThreadPoolExecutor(1, thread_name_prefix="dragoman-heavy")
        loop = asyncio.get_running_loop()
        if self._trimming is None:
            self._trimming = loop.call_later(TRIM_SECONDS, self._trim)
        return loop.run_in_executor(self._thread, work)

    def _trim(self) -> None:
        """Give free memory back, in the thread: what one large body took would otherwise stay with the process."""
        self._trimming = None
        if self._thread is not None:
            self._thread.submit(give_memory_back)

    def close(self) -> None:
        if self._trimming is not None:
            self._trimming.cancel()
        if self._thread is not None:
            self._thread.shutdown(wait=False, cancel_futures=True)
