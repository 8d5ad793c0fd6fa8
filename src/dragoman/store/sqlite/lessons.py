"""Lessons in the file, with all of them in this process too."""

from __future__ import annotations

import asyncio
import sqlite3

import msgspec

from dragoman.engine.lesson_book import LessonRecord
from dragoman.store.clock import Clock
from dragoman.store.errors import StoreUnavailable
from dragoman.store.memory.lessons import MOST_LESSONS, LessonMemory
from dragoman.store.sqlite.database import Database
from dragoman.store.sqlite.writer import Sweep, WriteJob

FRESH = 5.0
"""Seconds after which the lessons of other workers are read again."""
SWEEP_EVERY = 256
TOPIC = "lessons"

_PUT = "INSERT OR REPLACE INTO lessons VALUES (?, ?, ?, ?, ?, ?)"
_FORGET = "DELETE FROM lessons WHERE target = ? AND (name = ?2 OR ?2 IS NULL)"
_FORGET_CALLER = "DELETE FROM lessons WHERE caller = ?1 AND ?1 <> ''"
_NEWEST = "SELECT record FROM lessons WHERE expires > ? ORDER BY learnt DESC LIMIT ?"
_EXPIRE = "DELETE FROM lessons WHERE expires <= ?"
_SHRINK = "DELETE FROM lessons WHERE rowid IN (SELECT rowid FROM lessons ORDER BY learnt DESC LIMIT -1 OFFSET ?)"

_encode = msgspec.msgpack.Encoder().encode
_decode = msgspec.msgpack.Decoder(LessonRecord).decode


class SqliteLessons:
    """`LessonRecords` in the file. `find` answers from memory; the lessons of other workers are read beside it."""

    def __init__(self, database: Database, near: LessonMemory, clock: Clock) -> None:
        self._database = database
        self._near = near
        self._clock = clock
        self._near.replace(database.read_at_start(self._read))
        self._read_at = clock()
        self._changes = 0
        self._refreshing: asyncio.Task[None] | None = None
        database.add_sweep(Sweep(TOPIC, SWEEP_EVERY, self._sweep))

    def find(self, target: str) -> tuple[LessonRecord, ...]:
        if not self._database.alone and abs(self._clock() - self._read_at) >= FRESH:
            self._read_at = self._clock()
            self._refreshing = asyncio.get_running_loop().create_task(self._refresh())
        return self._near.find(target)

    async def put(self, record: LessonRecord) -> None:
        self._changes += 1
        self._near.put(record)
        row = (record.target, record.name, record.caller, record.learnt, record.expires, record)
        self._database.write(WriteJob(_PUT, row, _encode, TOPIC))
        await self._database.shared()

    async def forget(self, target: str, name: str | None = None) -> None:
        self._changes += 1
        self._near.forget(target, name)
        self._database.write(WriteJob(_FORGET, (target, name)))
        await self._database.shared()

    async def forget_caller(self, caller: str) -> None:
        """Remove what was learnt from a caller's requests alone."""
        self._changes += 1
        self._near.forget_caller(caller)
        self._database.write(WriteJob(_FORGET_CALLER, (caller,)))

    async def all(self) -> tuple[LessonRecord, ...]:
        if not self._database.alone:
            await self._refresh()
        return self._near.all()

    async def _refresh(self) -> None:
        """Take what is in the file, unless something was put or forgotten here meanwhile."""
        changes = self._changes
        try:
            await self._database.shared()
            records = await self._database.read(self._read)
        except StoreUnavailable:  # counted; this process's copy goes on being used
            return
        self._read_at = self._clock()
        if changes == self._changes:
            self._near.replace(records)

    def _read(self, connection: sqlite3.Connection) -> list[LessonRecord]:
        return [_decode(record) for (record,) in connection.execute(_NEWEST, (self._clock(), MOST_LESSONS))]

    def _sweep(self, connection: sqlite3.Connection) -> None:
        connection.execute(_EXPIRE, (self._clock(),))
        connection.execute(_SHRINK, (MOST_LESSONS,))
