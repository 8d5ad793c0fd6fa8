"""Moving state from a SQLite file to the servers that replicas share.

Whatever is moved twice is there once: values and lessons are put under their names, requests under their ids, and what
was spent is raised to what the file says.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

import msgspec
from msgspec import Struct

from dragoman.engine.exchange.lesson_book import LessonRecord
from dragoman.engine.history.calibration import Calibration
from dragoman.store.errors import StoreError
from dragoman.store.ledger_entry import Entry
from dragoman.store.store import Store

TABLES = ("reasoning", "pins", "summaries", "responses", "secrets")
_AT_ONCE = 256

_decode_lesson = msgspec.msgpack.Decoder(LessonRecord).decode
_decode_entry = msgspec.msgpack.Decoder(Entry).decode
_decode_calibration = msgspec.msgpack.Decoder(tuple[str, Calibration, float]).decode


class ValueRow(Struct, frozen=True):
    """One value of a table, as a store has written it."""

    kind: str
    caller: str
    place: str
    key: str
    value: bytes


@runtime_checkable
class TakesValues(Protocol):
    """A store that takes what another one has written."""

    async def take_value(self, row: ValueRow) -> None:
        """Keep a value under its name. Raises StoreUnavailable."""

    async def take_spent(self, key: str, period: str, amount: float) -> None:
        """At least so much was spent in a period. Raises StoreUnavailable."""


class Moved(Struct):
    """How much was moved."""

    values: int = 0
    lessons: int = 0
    calibrations: int = 0
    budgets: int = 0
    requests: int = 0


class SqliteFile:
    """A store's file, opened to be read. Raises StoreError."""

    def __init__(self, path: Path) -> None:
        if not path.is_file():
            raise StoreError(f"{path} is not there")
        self._path = path

    def values(self) -> Iterator[ValueRow]:
        for row in self._rows(self._path, "SELECT kind, caller, place, key, value FROM state ORDER BY used"):
            if row[0] in TABLES:
                yield ValueRow(*row)

    def calibrations(self) -> Iterator[tuple[str, Calibration]]:
        rows = self._rows(self._path, "SELECT value FROM state WHERE kind = 'calibrations' ORDER BY used")
        return ((key, calibration) for key, calibration, _ in (_decode_calibration(text) for (text,) in rows))

    def lessons(self) -> Iterator[LessonRecord]:
        rows = self._rows(self._path, "SELECT value FROM state WHERE kind = 'lessons' ORDER BY used")
        return (_decode_lesson(text) for (text,) in rows)

    def entries(self) -> Iterator[Entry]:
        return (_decode_entry(row[0]) for row in self._rows(self._path, "SELECT entry FROM requests ORDER BY number"))

    def spent(self) -> Iterator[tuple[str, str, float]]:
        path = self._path.with_name(self._path.name + "-budgets")
        rows = self._rows(path, "SELECT key, period, amount FROM budgets") if path.is_file() else iter(())
        return ((key, period, amount) for key, period, amount in rows)

    def _rows(self, path: Path, question: str) -> Iterator[tuple[Any, ...]]:
        try:
            with closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True)) as connection:
                yield from connection.execute(question)
        except sqlite3.Error as error:
            raise StoreError(f"{path} cannot be read as a store: {error}") from error


async def move(file: SqliteFile, store: Store, hot: object, tell: Callable[[str], None], *, ledger: bool) -> Moved:
    """Put all that a file holds into a store. `ledger`: its ledger is another than the file's. Raises StoreError."""
    moved = Moved()
    if isinstance(hot, TakesValues):
        for row in file.values():
            await hot.take_value(row)
            moved.values += 1
        for key, period, amount in file.spent():
            await hot.take_spent(key, period, amount)
            moved.budgets += 1
        for record in file.lessons():
            await store.lessons.put(record)
            moved.lessons += 1
        for name, calibration in file.calibrations():
            store.calibrations.put(name, calibration)
            moved.calibrations += 1
        tell("the hot part is moved")
    if ledger:
        for entry in file.entries():
            store.ledger.record(entry)
            moved.requests += 1
            if moved.requests % _AT_ONCE == 0:
                await store.flush(30.0)
    if not await store.flush(30.0):
        raise StoreError("not everything was written within 30 seconds; move it again")
    return moved
