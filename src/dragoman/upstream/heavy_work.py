"""Heavy bodies are parsed and compiled beside the event loop, so that nobody waits for somebody else's megabytes. Which
ones these are is decided in `wire/json_size.py`.

Keys take turns, one piece of work each, and a key has at most one under way. There are two threads, so a key with many
large bodies leaves one of them to everybody else. More would not pay: Python runs one thread at a time, and the loop
has to have its turn among them. What holds the interpreter longer is a single call of the JSON decoder;
`server.max_body` and `limits.values` bound that.
"""

from __future__ import annotations

import asyncio
import ctypes
import threading
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from functools import lru_cache
from queue import SimpleQueue
from typing import Any, TypeVar

from msgspec import Struct

from dragoman.conversation.failures import Failure, FailureKind

Result = TypeVar("Result")

THREADS = 2
MOST_WAITING = 64
"""Requests of all keys that wait for a thread. Each of them holds a body of up to `server.max_body`."""
TRIM_SECONDS = 1.0
"""After heavy work, free memory is given back to the system; at most once in so many seconds."""
MAPPED_BYTES = 512 * 1024
"""Blocks of memory from this size on are mapped by themselves."""
_MMAP_THRESHOLD, _ARENA_MAX = -3, -8
"""Options of glibc's `mallopt`."""
BUSY = Failure(
    FailureKind.OVERLOADED,
    "the gateway is busy with large requests, and too many more of them wait already; try again",
    503,
    retry_after=1.0,
)


@lru_cache(maxsize=2)
def _find_in_libc(name: str) -> Callable[..., int] | None:
    """A function of glibc's allocator; other allocators need none, or have none."""
    try:
        found: Callable[..., int] = getattr(ctypes.CDLL(None), name)
    except (OSError, AttributeError, TypeError):
        return None
    return found


def give_memory_back() -> None:
    """Return free pages of the heap to the system, if the C library can."""
    trim = _find_in_libc("malloc_trim")
    if trim is not None:
        trim(0)


def tune_allocator() -> None:
    """Have blocks of half a megabyte mapped by themselves, so that they go back to the system when they are freed.

    Otherwise glibc takes them from its heaps after the first one was freed, where a small block beside them keeps their
    pages. Threads that allocate little do not need a heap of their own.
    """
    set_option = _find_in_libc("mallopt")
    if set_option is not None:
        set_option(_MMAP_THRESHOLD, MAPPED_BYTES)
        set_option(_ARENA_MAX, THREADS)


class _Job:
    """One piece of work and its result. `future` is only touched in the thread of the event loop."""

    __slots__ = ("future", "key", "loop", "work")

    def __init__(self, work: Callable[[], Any], key: str, loop: asyncio.AbstractEventLoop) -> None:
        self.work = work
        self.key = key
        self.loop = loop
        self.future: asyncio.Future[Any] = loop.create_future()


class HeavyWork:
    """The threads for large bodies of a process, made when they are first needed. They end with the process, whatever
    they are doing: a stop waits for none of them."""

    def __init__(self) -> None:
        self._waiting: dict[str, deque[_Job]] = {}
        self._running: set[str] = set()
        self._jobs: SimpleQueue[_Job | None] = SimpleQueue()
        self._threads = 0
        self._trimming: asyncio.TimerHandle | None = None
        self._closed = False

    def is_full(self, key: str) -> bool:
        """Whether so much waits that no new request of a key should begin. What has begun is always finished.

        A key may have as many waiting as places are free: one alone takes half of them, and there is always one for
        another key.
        """
        waiting = self._waiting
        if not waiting:
            return False
        return len(waiting.get(key, ())) >= MOST_WAITING - sum(map(len, waiting.values()))

    async def run(self, work: Callable[[], Result], key: str = "") -> Result:
        """Do it in a thread, for the caller with this key. A caller that is cancelled does not wait for it, and what
        had not begun is never done."""
        job = self._submit(work, key)
        try:
            result: Result = await job.future
        except asyncio.CancelledError:
            self._forget(job)
            raise
        return result

    async def run_to_end(self, work: Callable[[], Result], key: str = "") -> Result:
        """Do it in a thread. A caller that is cancelled waits for it if it has begun: nobody else may touch what it
        works on. What had not begun is never done."""
        job = self._submit(work, key)
        try:
            result: Result = await asyncio.shield(job.future)
        except asyncio.CancelledError:
            if not self._forget(job):
                await asyncio.wait({job.future})
            raise
        return result

    def _submit(self, work: Callable[[], Any], key: str) -> _Job:
        loop = asyncio.get_running_loop()
        job = _Job(work, key, loop)
        self._waiting.setdefault(key, deque()).append(job)
        self._begin()
        return job

    def _begin(self) -> None:
        """Begin the first job of each key that has none under way, as far as threads are free. The key's other jobs
        then wait behind those of all other keys."""
        for key in tuple(self._waiting):
            if len(self._running) == THREADS:
                return
            if key not in self._running:
                jobs = self._waiting.pop(key)
                self._running.add(key)
                self._hand_over(jobs.popleft())
                if jobs:
                    self._waiting[key] = jobs

    def _hand_over(self, job: _Job) -> None:
        if self._threads < len(self._running):
            self._threads += 1
            threading.Thread(target=self._work, name=f"dragoman-heavy-{self._threads}", daemon=True).start()
        self._jobs.put(job)

    def _work(self) -> None:
        """Do one job after another, in a thread. Nothing of a job is held when it is over: its body may be large."""
        while (job := self._jobs.get()) is not None:
            result, fault = None, None
            try:
                result = job.work()
            except BaseException as raised:  # it is raised where the work was asked for
                fault = raised
            with suppress(RuntimeError):  # the loop may be closed by now
                job.loop.call_soon_threadsafe(self._finish, job, result, fault)
            del job, result, fault

    def _finish(self, job: _Job, result: Any, fault: BaseException | None) -> None:
        self._running.discard(job.key)
        if self._trimming is None and not self._closed:
            self._trimming = job.loop.call_later(TRIM_SECONDS, self._trim, job.loop)
        if not job.future.done():
            if fault is None:
                job.future.set_result(result)
            else:
                job.future.set_exception(fault)
        self._begin()

    def _forget(self, job: _Job) -> bool:
        """Nobody waits for it any more; whether it had not begun."""
        jobs = self._waiting.get(job.key)
        if jobs is None or job not in jobs:
            return False
        jobs.remove(job)
        if not jobs:
            del self._waiting[job.key]
        return True

    def _trim(self, loop: asyncio.AbstractEventLoop) -> None:
        """Give free memory back, in a thread: what one large body took would otherwise stay with the process."""
        self._trimming = None
        loop.run_in_executor(None, give_memory_back)

    def close(self) -> None:
        self._closed = True
        if self._trimming is not None:
            self._trimming.cancel()
        for jobs in self._waiting.values():
            for job in jobs:
                job.future.cancel()
        self._waiting.clear()
        for _ in range(self._threads):
            self._jobs.put(None)


class RequestWork(Struct, eq=False):
    """Where the work for one request is done: on the event loop while it is small, in a thread once it is large."""

    _heavy: HeavyWork
    _key: str
    is_large: bool
    """Of an answer or media that are large it becomes true, too."""

    async def run(self, work: Callable[[], Result]) -> Result:
        """A caller that is cancelled does not wait for it."""
        return await self._heavy.run(work, self._key) if self.is_large else work()

    async def run_to_end(self, work: Callable[[], Result]) -> Result:
        """In a thread. A caller that is cancelled waits for it: nobody else may touch what it works on."""
        return await self._heavy.run_to_end(work, self._key)
