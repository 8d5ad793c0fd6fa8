"""The store of `dragoman serve`: one SQLite file, for several workers and for restarts."""

from __future__ import annotations

import asyncio
import sqlite3
from pathlib import Path
from typing import TypeVar

from msgspec.structs import replace

from dragoman.config.schema.store import StoreConfig
from dragoman.store.books import CALIBRATION_BOOK, LESSON_BOOK, BookCalibrations, BookLessons
from dragoman.store.clock import REAL_CLOCKS, Clocks
from dragoman.store.contracts.expiring_table import Bounds
from dragoman.store.contracts.health import StoreHealth
from dragoman.store.errors import StoreUnavailable
from dragoman.store.journals.redaction import Redactor
from dragoman.store.memory.expiring_map import ExpiringMap
from dragoman.store.near_ledger import NearLedger
from dragoman.store.near_table import NearTable
from dragoman.store.sqlite.book import SqliteBook
from dragoman.store.sqlite.budgets import SqliteBudgets
from dragoman.store.sqlite.cooldowns import SqliteCooldowns
from dragoman.store.sqlite.database import Database
from dragoman.store.sqlite.ledger import SqliteLedger
from dragoman.store.sqlite.limits import SqliteLimits
from dragoman.store.sqlite.table import SqliteTable
from dragoman.store.table_backed import TableKind, TableStore

Value = TypeVar("Value")


class SqliteStore(TableStore):
    """`Store` in a file. Raises StoreError if the file cannot be used."""

    def __init__(
        self,
        path: Path,
        config: StoreConfig,
        clocks: Clocks = REAL_CLOCKS,
        redactor: Redactor | None = None,
        *,
        alone: bool = False,
    ) -> None:
        """`alone`: no other process is expected to use the file; should one do so, it is noticed."""
        self.place = str(path)
        self._clocks = clocks
        self._database = database = Database(path, alone=alone, queue=config.queue)
        try:
            super().__init__(config, clocks.wall)
            ledger = SqliteLedger(database, self._settings, clocks.wall)
            self.ledger = NearLedger(ledger, self._settings, clocks.wall, redactor or Redactor())
            self.lessons = BookLessons(SqliteBook(database, LESSON_BOOK, clocks.wall), clocks.wall)
            self.calibrations = BookCalibrations(SqliteBook(database, CALIBRATION_BOOK, clocks.wall), clocks.wall)
            self.cooldowns = SqliteCooldowns(database, clocks)
            self.limits = SqliteLimits(database, path.with_name(path.name + "-limits"), clocks.steady)
            self.budgets = SqliteBudgets(path.with_name(path.name + "-budgets"))
        except BaseException:
            database.close()
            raise

    def _open_table(self, kind: TableKind[Value], bounds: Bounds) -> NearTable[Value]:
        wall = self._clocks.wall
        shared = SqliteTable(self._database, kind, bounds, wall)
        return NearTable(shared, ExpiringMap(bounds, kind.weigh, wall), kind.fresh, wall)

    async def start(self) -> None:
        return None

    def health(self) -> StoreHealth:
        health, limits, budgets = self._database.health(), self.limits, self.budgets
        error = health.last_error or limits.last_error or budgets.last_error
        failed = health.failed + limits.failed + budgets.failed
        return replace(health, failed=failed, last_error=error)

    async def forget(self, caller: str) -> int:
        await self.flush()
        lost = self._database.lost
        count = await self._forget_values(caller) + await self.ledger.forget(caller)
        count += await self.lessons.forget_caller(caller) + self.limits.forget(caller)
        try:
            count += await self.budgets.forget(caller)
        except sqlite3.Error as error:
            raise StoreUnavailable(f"budgets: {error}") from error
        if not await self.flush() or self._database.lost > lost:
            raise StoreUnavailable(f"{self.place} is busy, or cannot be written")
        return count

    async def prune(self) -> int:
        await self.flush()
        before = await self._database.report(_rows)
        self._database.sweep_now()
        if not await self.flush(30.0):
            raise StoreUnavailable(f"{self.place} is busy")
        return max(before - await self._database.report(_rows), 0)

    async def flush(self, seconds: float = 5.0) -> bool:
        return await self._database.written(seconds)

    async def aclose(self) -> None:
        await asyncio.to_thread(self._close)

    def _close(self) -> None:
        self._database.close()
        self.limits.close()
        self.budgets.close()


def _rows(connection: sqlite3.Connection) -> int:
    count: int = connection.execute("SELECT (SELECT count(*) FROM state) + (SELECT count(*) FROM requests)").fetchone()[
        0
    ]
    return count
