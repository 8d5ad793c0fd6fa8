"""The thread that writes the store's file, in batches."""

from __future__ import annotations

import sqlite3
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

from msgspec import Struct

from dragoman.store.journals.background_writer import Background, PartlyFailed
from dragoman.store.sqlite.tables import inode, open_store_file, transaction


class WriteJob(Struct, frozen=True, gc=False):
    """One statement and its values."""

    statement: str
    values: tuple[Any, ...]
    encode: Callable[[Any], bytes] | None = None
    """Makes the bytes of the last value, on the writer's thread."""
    topic: str = ""
    """What it adds to, for the sweeps."""
    weight: int = 0
    """The bytes that it holds while it waits."""

    def bound(self) -> tuple[Any, ...]:
        """The values as SQLite takes them."""
        if self.encode is None:
            return self.values
        return (*self.values[:-1], self.encode(self.values[-1]))


class Sweep:
    """Removes what is too old or too much of a topic, after every so many jobs."""

    def __init__(self, topic: str, every: int, work: Callable[[sqlite3.Connection], None]) -> None:
        self.topic = topic
        self.every = every
        self.work = work
        self.jobs = 0


class WriterThread:
    """Writes jobs in the order in which they came. A file that was deleted or replaced meanwhile is opened again.

    `alone` says that no other process writes the file. It becomes false, for good, when another one does.
    """

    def __init__(self, path: Path, *, alone: bool, queue: int) -> None:
        self._path = path
        self._sweeps: list[Sweep] = []
        self._log = path.with_name(path.name + "-wal")
        self._connection = open_store_file(path)
        self._inode, self._log_inode = inode(path), inode(self._log)
        self._version = self._data_version()
        self.alone = alone
        self.replaced = 0
        self.jobs: Background[WriteJob] = Background(
            self._write, size=queue, name="dragoman-store", weigh=lambda job: job.weight
        )

    def add_sweep(self, sweep: Sweep) -> None:
        self._sweeps.append(sweep)

    def sweep_now(self) -> None:
        for sweep in self._sweeps:
            sweep.jobs = sweep.every
        self.jobs.put(WriteJob("SELECT 1", ()))

    def close(self) -> None:
        if self.jobs.close():
            self._connection.close()

    def _write(self, jobs: list[WriteJob]) -> None:
        self._follow_the_file()
        if self.alone:
            self._look_for_others()
        try:
            self._commit(jobs)
        except Exception as error:
            if len(jobs) == 1 or not _is_a_jobs_fault(error):
                raise
            self._commit_each(jobs)

    def _commit(self, jobs: list[WriteJob]) -> None:
        with transaction(self._connection) as run:
            for job in jobs:
                run(job.statement, job.bound())
            self._run_sweeps(jobs)

    def _commit_each(self, jobs: list[WriteJob]) -> None:
        """One of the jobs cannot be written: the others must not be lost with it."""
        errors: list[Exception] = []
        for job in jobs:
            try:
                self._commit([job])
            except Exception as error:
                errors.append(error)
        if errors:
            raise PartlyFailed(len(errors), errors[-1])

    def _run_sweeps(self, jobs: list[WriteJob]) -> None:
        added = Counter([job.topic for job in jobs])
        for sweep in self._sweeps:
            sweep.jobs += added[sweep.topic]
            if sweep.jobs >= sweep.every:
                sweep.jobs = 0
                sweep.work(self._connection)

    def _follow_the_file(self) -> None:
        """Open the file again if it was deleted or replaced: what goes to the old one can never be read."""
        if inode(self._path) == self._inode:
            return
        if inode(self._log) == self._log_inode:
            self._remove_old_log()
        new = open_store_file(self._path)
        with suppress(sqlite3.Error):
            self._connection.close()
        self._connection, self._inode, self._log_inode = new, inode(self._path), inode(self._log)
        self._version = self._data_version()
        self.replaced += 1

    def _remove_old_log(self) -> None:
        """The write-ahead log is still the old file's: SQLite would take it for the new one's and break that."""
        for ending in ("-wal", "-shm"):
            self._path.with_name(self._path.name + ending).unlink(missing_ok=True)

    def _look_for_others(self) -> None:
        """This number changes when another connection has written; ours is the only one of this process that writes."""
        version = self._data_version()
        if version != self._version:
            self.alone = False

    def _data_version(self) -> int:
        version: int = self._connection.execute("PRAGMA data_version").fetchone()[0]
        return version


def _is_a_jobs_fault(error: Exception) -> bool:
    """Whether a value is to blame, not the disk, a lock or the file as a whole."""
    faults = (sqlite3.IntegrityError, sqlite3.DataError, sqlite3.ProgrammingError, sqlite3.InterfaceError)
    return isinstance(error, faults) or not isinstance(error, sqlite3.Error)
