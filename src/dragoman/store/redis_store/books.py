"""Lessons and calibrations in Redis, with all of them in this process too.

A book is small and read on every request, so each replica holds all of it. Redis has a number for each book that grows
with every change; the heartbeat brings it, and a replica that has an older one reads the book again.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable
from typing import Any

import msgspec

from dragoman.engine.history.calibration import Calibration
from dragoman.engine.lesson_book import LessonRecord
from dragoman.store.clock import Clock
from dragoman.store.memory.calibrations import LIFETIME, MOST_CALIBRATIONS, MemoryCalibrations
from dragoman.store.memory.lessons import MOST_LESSONS, LessonMemory
from dragoman.store.redis_store.connection import RedisAway, RedisRefused, pack
from dragoman.store.redis_store.keys import RedisKeys, digest
from dragoman.store.redis_store.link import RedisLink, evalsha
from dragoman.store.redis_store.replicas import BeatNews, Replicas
from dragoman.store.redis_store.scripts import Scripts
from dragoman.store.table_backed import SEPARATOR

_encode = msgspec.msgpack.Encoder().encode
_decode_lesson = msgspec.msgpack.Decoder(LessonRecord).decode
_decode_calibration = msgspec.msgpack.Decoder(tuple[str, float, Calibration]).decode


class RedisBook:
    """The notes of one kind by name. `take` is given all of them when they have changed."""

    def __init__(
        self, link: RedisLink, scripts: Scripts, keys: RedisKeys, replicas: Replicas, name: str, most: int
    ) -> None:
        self._link = link
        self._scripts = scripts
        self._most = most
        self._names = (keys.named(name), keys.named(name, "order"), keys.versions)
        self._version = 0
        self._changes = 0
        self._reading: asyncio.Task[None] | None = None
        self.take: Callable[[list[bytes]], None] | None = None
        self.give: Callable[[], Iterable[tuple[str, float, bytes]]] | None = None
        replicas.listeners.append(self._listen)
        link.back.append(self._push_again)

    def put(self, field: str, stamp: float, note: bytes) -> None:
        self._changes += 1
        self._link.post(self._put_command(field, stamp, note), again=True)

    def remove(self, fields: Iterable[str]) -> None:
        self._changes += 1
        names = list(fields)
        if names:
            self._link.post(evalsha(self._scripts.unnote, self._names, *names), again=True)

    async def read(self) -> None:
        """Take what Redis has, unless something was put or removed here meanwhile."""
        changes = self._changes
        try:
            notes = await self._link.ask(pack(("HVALS", self._names[0])))
        except (RedisAway, RedisRefused):  # counted; this process's copy goes on being used
            return
        if changes == self._changes and self.take is not None:
            self.take(notes)

    def _listen(self, news: BeatNews) -> None:
        version = news.versions.get(self._names[0], 0)
        if version != self._version and (self._reading is None or self._reading.done()):
            self._reading = asyncio.get_running_loop().create_task(self._read_version(version))

    async def _read_version(self, version: int) -> None:
        changes = self._changes
        await self.read()
        if changes == self._changes:
            self._version = version

    def _put_command(self, field: str, stamp: float, note: bytes) -> bytes:
        return evalsha(self._scripts.note, self._names, field, repr(stamp), note, self._most)

    def _push_again(self, lost_since: float | None) -> None:
        if lost_since is None or self.give is None:
            return
        self._version = 0
        for field, stamp, note in self.give():
            self._link.post(self._put_command(field, stamp, note), again=True)

    @property
    def reading(self) -> asyncio.Task[None] | None:
        return self._reading


class RedisLessons:
    """`LessonRecords` in Redis. `find` answers from memory."""

    def __init__(self, book: RedisBook, near: LessonMemory) -> None:
        self._book = book
        self._near = near
        book.take, book.give = self._take, self._give

    def find(self, target: str) -> tuple[LessonRecord, ...]:
        return self._near.find(target)

    async def load(self) -> None:
        """Read what is known before the first request."""
        await self._book.read()

    async def put(self, record: LessonRecord) -> None:
        self._near.put(record)
        self._book.put(_field(record), record.learnt, _encode(record))

    async def forget(self, target: str, name: str | None = None) -> None:
        await self._book.read()
        found = [one for one in self._near.all() if one.target == target and name in (None, one.name)]
        self._near.forget(target, name)
        self._book.remove(map(_field, found))

    async def forget_caller(self, caller: str) -> int:
        """Remove what was learnt from a caller's requests alone; how many records."""
        await self._book.read()
        found = [one for one in self._near.all() if caller and one.caller == caller]
        self._book.remove(map(_field, found))
        return self._near.forget_caller(caller)

    async def all(self) -> tuple[LessonRecord, ...]:
        await self._book.read()
        return self._near.all()

    def _take(self, notes: list[bytes]) -> None:
        self._near.replace(record for note in notes if (record := _readable(_decode_lesson, note)) is not None)

    def _give(self) -> Iterable[tuple[str, float, bytes]]:
        return [(_field(one), one.learnt, _encode(one)) for one in self._near.all()]


class RedisCalibrations:
    """`Calibrations` in Redis. `find` answers from memory."""

    def __init__(self, book: RedisBook, near: MemoryCalibrations, clock: Clock) -> None:
        self._book = book
        self._near = near
        self._clock = clock
        book.take, book.give = self._take, self._give

    def find(self, key: str) -> Calibration | None:
        return self._near.find(key)

    async def load(self) -> None:
        """Read what is known before the first request."""
        await self._book.read()

    def put(self, key: str, calibration: Calibration) -> None:
        self._near.put(key, calibration)
        now = self._clock()
        self._book.put(digest(key, 16), now, _encode((key, now, calibration)))

    def _take(self, notes: list[bytes]) -> None:
        rows = [row for note in notes if (row := _readable(_decode_calibration, note)) is not None]
        live = sorted((row for row in rows if self._clock() - row[1] <= LIFETIME), key=lambda row: row[1])
        self._near.replace((key, calibration, put) for key, put, calibration in live[-MOST_CALIBRATIONS:])

    def _give(self) -> Iterable[tuple[str, float, bytes]]:
        return [(digest(key, 16), put, _encode((key, put, one))) for key, one, put in self._near.all()]


def lesson_book(link: RedisLink, scripts: Scripts, keys: RedisKeys, replicas: Replicas) -> RedisBook:
    return RedisBook(link, scripts, keys, replicas, "lessons", MOST_LESSONS)


def calibration_book(link: RedisLink, scripts: Scripts, keys: RedisKeys, replicas: Replicas) -> RedisBook:
    return RedisBook(link, scripts, keys, replicas, "calibrations", MOST_CALIBRATIONS)


def _field(record: LessonRecord) -> str:
    return digest(SEPARATOR.join((record.target, record.name, record.caller)), 16)


def _readable(decode: Callable[[bytes], Any], note: bytes) -> Any:
    """A note as this version writes it; what another version wrote is as good as lost."""
    try:
        return decode(note)
    except msgspec.DecodeError:
        return None
