"""A book in the file, and copies of what all workers have written there."""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import Callable, Iterable
from typing import Generic, TypeVar

from dragoman.store.books import KEPT_SECONDS, BookKind, BookNote
from dragoman.store.clock import Clock
from dragoman.store.errors import StoreUnavailable
from dragoman.store.sqlite.database import Database
from dragoman.store.sqlite.writer import Sweep, WriteJob

Rows = TypeVar("Rows")
SWEEP_EVERY = 256

_PUT = """
INSERT INTO state (kind, caller, place, key, used, value) VALUES (?, '', '', ?, ?, ?)
ON CONFLICT DO UPDATE SET used = excluded.used, value = excluded.value"""
_REMOVE = "DELETE FROM state WHERE kind = ? AND caller = '' AND place = '' AND key = ?"
_NEWEST = "SELECT value FROM state WHERE kind = ? ORDER BY used DESC, rowid DESC LIMIT ?"
_EXPIRE = "DELETE FROM state WHERE kind = ? AND used < ?"
_SHRINK = """
DELETE FROM state WHERE rowid IN (
    SELECT rowid FROM state WHERE kind = ? ORDER BY used DESC, rowid DESC LIMIT -1 OFFSET ?)"""


class FileCopy(Generic[Rows]):
    """What this process knows of some rows. While others write the file, the rows are read again after `fresh` seconds.

    `take` gets what was read, unless this process has changed something meanwhile.
    """

    def __init__(
        self,
        database: Database,
        fresh: float,
        clock: Clock,
        read: Callable[[sqlite3.Connection], Rows],
        take: Callable[[Rows], None],
    ) -> None:
        self._database = database
        self._fresh = fresh
        self._clock = clock
        self._read = read
        self._take = take
        self._read_at = clock()
        self._changes = 0
        self._refreshing: asyncio.Task[None] | None = None

    def look(self) -> None:
        """Read soon, if it is time for that."""
        if not self._database.alone and abs(self._clock() - self._read_at) >= self._fresh:
            self._read_at = self._clock()
            self._refreshing = asyncio.get_running_loop().create_task(self.refresh())

    def write(self, *jobs: WriteJob) -> None:
        """Change rows."""
        self._changes += 1
        for job in jobs:
            self._database.write(job)

    async def refresh(self) -> None:
        changes = self._changes
        try:
            await self._database.shared()
            rows = await self._database.read(self._read)
        except StoreUnavailable:  # counted; this process's copy goes on being used
            return
        self._read_at = self._clock()
        if changes == self._changes:
            self._take(rows)


class SqliteBook:
    """`SharedBook` in the file."""

    def __init__(self, database: Database, kind: BookKind, clock: Clock) -> None:
        self._database = database
        self._kind = kind
        self._clock = clock
        self.shared = database.shared
        database.add_sweep(Sweep(kind.name, SWEEP_EVERY, self._sweep))

    def keep(self, take: Callable[[list[bytes]], None], give: Callable[[], Iterable[BookNote]]) -> None:
        self._copy = FileCopy(self._database, self._kind.fresh, self._clock, self._read, take)
        self.look = self._copy.look
        take(self._database.read_at_start(self._read))

    async def read(self) -> None:
        if not self._database.alone:
            await self._copy.refresh()

    def put(self, note: BookNote) -> None:
        name = self._kind.name
        self._copy.write(WriteJob(_PUT, (name, note.name, note.stamp, note.text), topic=name))

    def remove(self, names: Iterable[str]) -> None:
        self._copy.write(*[WriteJob(_REMOVE, (self._kind.name, name)) for name in names])

    def _read(self, connection: sqlite3.Connection) -> list[bytes]:
        """The oldest first."""
        rows = connection.execute(_NEWEST, (self._kind.name, self._kind.most)).fetchall()
        return [text for (text,) in reversed(rows)]

    def _sweep(self, connection: sqlite3.Connection) -> None:
        connection.execute(_EXPIRE, (self._kind.name, self._clock() - KEPT_SECONDS))
        connection.execute(_SHRINK, (self._kind.name, self._kind.most))
