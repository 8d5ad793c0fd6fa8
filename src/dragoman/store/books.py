"""Lessons and calibrations: notes that are few and read on every request, so that each process holds all of them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any, NamedTuple, Protocol

import msgspec

from dragoman.engine.exchange.lesson_book import LessonRecord
from dragoman.engine.history.calibration import Calibration
from dragoman.store.clock import Clock
from dragoman.store.contracts.expiring_table import SEPARATOR
from dragoman.store.memory.calibrations import LIFETIME, MOST_CALIBRATIONS, MemoryCalibrations
from dragoman.store.memory.lessons import MOST_LESSONS, MemoryLessons
from dragoman.store.table_backed import DAY

KEPT_SECONDS = 90 * DAY
"""After the last change."""


class BookKind(NamedTuple):
    """One book."""

    name: str
    """What it is called in the store."""
    most: int
    """How many notes it holds. The newest stay."""
    fresh: float
    """How old a copy of it may be, in seconds."""


LESSON_BOOK = BookKind("lessons", MOST_LESSONS, 5.0)
CALIBRATION_BOOK = BookKind("calibrations", MOST_CALIBRATIONS, 30.0)


class BookNote(NamedTuple):
    """What is written under a name."""

    name: str
    stamp: float
    """When it was written, in seconds since 1970."""
    text: bytes


class SharedBook(Protocol):
    """Notes by name in a file or on a server. The last writer of a name wins. What fails is counted there."""

    def keep(self, take: Callable[[list[bytes]], None], give: Callable[[], Iterable[BookNote]]) -> None:
        """Call `take` with all notes when others have changed some, and `give` when the book has lost its notes."""

    def look(self) -> None:
        """Have what others have changed read soon, if it is time for that. Never waits."""

    async def read(self) -> None:
        """Read all notes now, unless something is put or removed here meanwhile."""

    def put(self, note: BookNote) -> None:
        """Write a note. Never waits."""

    def remove(self, names: Iterable[str]) -> None:
        """Remove notes. Never waits."""

    async def shared(self) -> None:
        """Wait until other processes can read what was changed, or until that takes too long."""


class BookLessons:
    """`LessonRecords` in a book. `find` answers from memory."""

    def __init__(self, book: SharedBook, clock: Clock) -> None:
        self._book = book
        self._near = MemoryLessons(clock)
        book.keep(self._take, lambda: map(_lesson_note, self._near.records()))

    def find(self, target: str) -> tuple[LessonRecord, ...]:
        self._book.look()
        return self._near.find(target)

    async def load(self) -> None:
        """Read what is known before the first request."""
        await self._book.read()

    async def put(self, record: LessonRecord) -> None:
        await self._near.put(record)
        self._book.put(_lesson_note(record))
        await self._book.shared()

    async def forget(self, target: str, name: str | None = None) -> None:
        await self._book.read()
        found = [one for one in self._near.records() if one.target == target and name in (None, one.name)]
        await self._near.forget(target, name)
        self._book.remove(map(_lesson_name, found))
        await self._book.shared()

    async def forget_caller(self, caller: str) -> int:
        """Remove what was learnt from a caller's requests alone; how many records."""
        await self._book.read()
        found = [one for one in self._near.records() if caller and one.caller == caller]
        self._book.remove(map(_lesson_name, found))
        return self._near.forget_caller(caller)

    async def all(self) -> tuple[LessonRecord, ...]:
        await self._book.read()
        return await self._near.all()

    def _take(self, texts: list[bytes]) -> None:
        self._near.replace(_readable(_decode_lesson, texts))


class BookCalibrations:
    """`Calibrations` in a book. `find` answers from memory."""

    def __init__(self, book: SharedBook, clock: Clock) -> None:
        self._book = book
        self._near = MemoryCalibrations(clock)
        self._clock = clock
        book.keep(self._take, lambda: (_calibration_note(*row) for row in self._near.all()))

    def find(self, key: str) -> Calibration | None:
        self._book.look()
        return self._near.find(key)

    async def load(self) -> None:
        """Read what is known before the first request."""
        await self._book.read()

    def put(self, key: str, calibration: Calibration) -> None:
        self._near.put(key, calibration)
        self._book.put(_calibration_note(key, calibration, self._clock()))

    def _take(self, texts: list[bytes]) -> None:
        oldest = self._clock() - LIFETIME
        live = [row for row in _readable(_decode_calibration, texts) if row[2] >= oldest]
        self._near.replace(sorted(live, key=lambda row: row[2])[-MOST_CALIBRATIONS:])


_encode = msgspec.msgpack.Encoder().encode
_decode_lesson = msgspec.msgpack.Decoder(LessonRecord).decode
_decode_calibration = msgspec.msgpack.Decoder(tuple[str, Calibration, float]).decode


def _lesson_note(record: LessonRecord) -> BookNote:
    return BookNote(_lesson_name(record), record.learnt, _encode(record))


def _lesson_name(record: LessonRecord) -> str:
    return SEPARATOR.join((record.target, record.name, record.caller))


def _calibration_note(key: str, calibration: Calibration, put: float) -> BookNote:
    return BookNote(key, put, _encode((key, calibration, put)))


def _readable(decode: Callable[[bytes], Any], texts: Iterable[bytes]) -> Iterator[Any]:
    """Notes as this version writes them; what another version wrote is as good as lost."""
    for text in texts:
        try:
            yield decode(text)
        except msgspec.DecodeError:
            continue
