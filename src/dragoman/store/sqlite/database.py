"""One file with a thread that writes it and threads that read it."""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import Callable, Iterable
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import TypeVar

import msgspec
from msgspec.structs import replace

from dragoman.store.contracts.health import StoreHealth
from dragoman.store.errors import StoreError
from dragoman.store.sqlite.file_users import FileUsers
from dragoman.store.sqlite.reader import ReaderThread
from dragoman.store.sqlite.tables import open_store_file
from dragoman.store.sqlite.writer import Sweep, WriteJob, WriterThread

Result = TypeVar("Result")
DATA_PATH_DEADLINE = 5.0
"""Seconds that a request waits for a read, and an answer for its state to be in the file. A busy machine may stand
still for a second or two, and a turn is worth more than that."""
REPORT_DEADLINE = 10.0


class Database:
    """Reads of the data path and long questions about the ledger have a thread each: one never waits for the other."""

    def __init__(self, path: Path, *, alone: bool, queue: int) -> None:
        self.path = path
        self._users = FileUsers(path.with_name(path.name + "-lock"))
        try:
            self._writer = WriterThread(path, alone=alone and not self._users.others, queue=queue)
        except BaseException:
            self._users.leave()
            raise
        reader = partial(ReaderThread, path, generation=lambda: self._writer.replaced)
        self._reads = reader(name="dragoman-store-reads", deadline=DATA_PATH_DEADLINE)
        self._reports = reader(name="dragoman-store-reports", deadline=REPORT_DEADLINE)

    @property
    def alone(self) -> bool:
        """Whether no other process writes the file: what this process does not know is then not there."""
        return self._writer.alone

    def write(self, job: WriteJob) -> None:
        """Have a statement run soon. Never waits, never fails."""
        self._writer.jobs.put(job)

    @property
    def lost(self) -> int:
        """How many writes were lost so far, because too many waited or the disk did not take them."""
        health = self._writer.jobs.health()
        return health.dropped + health.failed

    async def write_down(self, jobs: Iterable[WriteJob]) -> bool:
        """Have statements run, and wait until they have; False when that took too long, or a write was lost."""
        lost = self.lost
        for job in jobs:
            self.write(job)
        return await self.written(DATA_PATH_DEADLINE) and self.lost == lost

    async def read(self, read: Callable[[sqlite3.Connection], Result]) -> Result:
        """A short read for the data path. Raises StoreUnavailable, which is counted."""
        return await self._reads.run(read)

    async def report(self, read: Callable[[sqlite3.Connection], Result]) -> Result:
        """A read that may take long. Raises StoreUnavailable, which is counted."""
        return await self._reports.run(read)

    async def shared(self) -> None:
        """Wait until other processes can read what was written so far, if there are any; not beyond the deadline."""
        await self.seen()

    async def seen(self) -> bool:
        """The same; False when it took too long."""
        return self._writer.alone or await self.written(DATA_PATH_DEADLINE)

    async def written(self, seconds: float) -> bool:
        """Wait until everything so far is written or lost; False when that took too long."""
        loop = asyncio.get_running_loop()
        done = loop.create_future()
        self._writer.jobs.mark(partial(loop.call_soon_threadsafe, _finish, done))
        try:
            async with asyncio.timeout(seconds):
                await done
        except TimeoutError:
            return False
        return True

    def add_sweep(self, sweep: Sweep) -> None:
        """Have something removed now and then, by the writing thread."""
        self._writer.add_sweep(sweep)

    def sweep_now(self) -> None:
        """Have everything that is too old or too much removed with the next write, and write."""
        self._writer.sweep_now()

    def read_at_start(self, read: Callable[[sqlite3.Connection], Result]) -> Result:
        """A read before there are requests, on this thread. Raises StoreError."""
        try:
            with closing(open_store_file(self.path)) as connection:
                return read(connection)
        except (sqlite3.Error, msgspec.DecodeError) as error:
            raise StoreError(
                f"{self.path} cannot be used as a store: {error}. Move it away or set store.path"
            ) from error

    def health(self) -> StoreHealth:
        written = self._writer.jobs.health()
        return replace(
            written,
            unread=self._reads.unread + self._reports.unread,
            replaced=self._writer.replaced,
            last_error=written.last_error or self._reads.last_error or self._reports.last_error,
        )

    def close(self) -> None:
        """Blocks until what waits is written."""
        self._writer.close()
        self._reads.close()
        self._reports.close()
        self._users.leave()


def _finish(done: asyncio.Future[None]) -> None:
    if not done.done():
        done.set_result(None)
