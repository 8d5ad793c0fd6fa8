"""Large bodies are parsed and compiled beside the event loop, so that nobody waits for somebody else's megabytes.

There is one thread for it: Python runs one thread at a time, and the loop gets its turn within milliseconds while one
other thread works. What holds the interpreter longer is a single call of the JSON decoder; `server.max_body` and
`limits.values` bound that.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

Result = TypeVar("Result")

LARGE = 1024 * 1024
SMALL = 32 * 1024
MANY_QUOTES = 8_000
"""Four of them make a member of an object, so this is a conversation of some hundred messages."""


def is_heavy(body: bytes) -> bool:
    """Whether working on a body may take longer than others should wait: it is long, or it holds very much."""
    size = len(body)
    return size > SMALL and (size > LARGE or body.count(b'"') > MANY_QUOTES)


class HeavyWork:
    """One thread for all large bodies of a process, made when it is first needed."""

    def __init__(self) -> None:
        self._thread: ThreadPoolExecutor | None = None

    async def run(self, work: Callable[[], Result]) -> Result:
        """Do it in the thread. A caller that is cancelled does not wait for it."""
        if self._thread is None:
            self._thread = ThreadPoolExecutor(1, thread_name_prefix="dragoman-heavy")
        return await asyncio.get_running_loop().run_in_executor(self._thread, work)

    def close(self) -> None:
        if self._thread is not None:
            self._thread.shutdown(wait=False, cancel_futures=True)
