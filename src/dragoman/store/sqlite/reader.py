"""A thread that reads the store's file, so that the event loop never stands still for a disk."""

from __future__ import annotations

import asyncio
import sqlite3
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future
from contextlib import suppress
from pathlib import Path
from queue import SimpleQueue
from typing import Any, TypeVar

from dragoman.store.errors import StoreUnavailable
from dragoman.store.sqlite.tables import open_store_file

Result = TypeVar("Result")
Read = Callable[[sqlite3.Connection], Result]


class ReaderThread:
    """Runs reads one after another, each within a deadline. The thread and its connection begin with the first read.

    If a read hangs, those that come meanwhile are answered at once with `StoreUnavailable`: a disk that stands still
    costs one deadline, not one per request.
    """

    def __init__(self, path: Path, *, name: str, deadline: float, generation: Callable[[], int]) -> None:
        """`generation` changes when the file was replaced."""
        self._path = path
        self._name = name
        self._deadline = deadline
        self._generation = generation
        self._opened = -1
        self._connection: sqlite3.Connection | None = None
        self._queue: SimpleQueue[tuple[Read[Any], Future[Any]] | None] = SimpleQueue()
        self._thread: threading.Thread | None = None
        self._busy_since: float | None = None
        self._closed = False
        self.unread = 0
        self.last_error: str | None = None

    async def run(self, read: Read[Result]) -> Result:
        """What a read returns. Raises StoreUnavailable, which is counted."""
        try:
            return await self._result(read)
        except TimeoutError:
            if self._hangs():
                self._interrupt()
            raise self._unavailable(f"{self._path} did not answer within {self._deadline} s") from None
        except Exception as error:
            raise self._unavailable(f"{self._path} cannot be read: {error}") from error

    def close(self, timeout: float = 5.0) -> None:
        self._closed = True
        if self._thread is not None:
            self._interrupt()
            self._queue.put(None)
            self._thread.join(timeout)

    async def _result(self, read: Read[Result]) -> Result:
        if self._hangs():
            raise sqlite3.OperationalError("an earlier read hangs")
        if self._closed:
            raise sqlite3.ProgrammingError("the store is closed")
        future: Future[Result] = Future()
        self._queue.put((read, future))
        self._start()
        async with asyncio.timeout(self._deadline):
            return await asyncio.wrap_future(future)

    def _hangs(self) -> bool:
        since = self._busy_since
        return since is not None and time.monotonic() - since > self._deadline

    def _start(self) -> None:
        if self._thread is None:
            thread = threading.Thread(target=self._work, name=self._name, daemon=True)
            thread.start()
            self._thread = thread  # only now: `close` may come from another thread, and joins what it finds here
            if self._closed:
                self._queue.put(None)

    def _work(self) -> None:
        while (job := self._queue.get()) is not None:
            read, future = job
            if not future.set_running_or_notify_cancel():
                continue  # the request has stopped waiting
            self._busy_since = time.monotonic()
            try:
                future.set_result(read(self._current()))
            except Exception as error:  # `run` raises it
                future.set_exception(error)
            self._busy_since = None
        if self._connection is not None:
            self._connection.close()

    def _current(self) -> sqlite3.Connection:
        """The connection, to the file that is there now."""
        generation = self._generation()
        if self._connection is None or self._opened != generation:
            if self._connection is not None:
                self._connection.close()
                self._connection = None
            self._connection = open_store_file(self._path, wait=self._deadline / 2)
            self._connection.execute("PRAGMA query_only=1")
            self._opened = generation
        return self._connection

    def _interrupt(self) -> None:
        with suppress(sqlite3.Error):
            if self._connection is not None:
                self._connection.interrupt()

    def _unavailable(self, message: str) -> StoreUnavailable:
        """Details are for the log: the one who asked may be a stranger to this machine."""
        self.unread += 1
        self.last_error = message
        return StoreUnavailable("the store cannot be read right now", hint="the gateway's log says why")
