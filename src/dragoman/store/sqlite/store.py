"""The store of `dragoman serve`: one SQLite file, for several workers and for restarts."""

from __future__ import annotations

import asyncio
import sqlite3
from functools import partial
from pathlib import Path
from typing import TypeVar

import msgspec

from dragoman.config.schema import StoreConfig
from dragoman.store.clock import REAL_CLOCKS, Clocks
from dragoman.store.errors import StoreUnavailable
from dragoman.store.expiring_table import Bounds
from dragoman.store.health import StoreHealth
from dragoman.store.memory.calibrations import MemoryCalibrations
from dragoman.store.memory.cooldowns import MemoryCooldowns
from dragoman.store.memory.expiring_map import ExpiringMap
from dragoman.store.memory.ledger import LedgerMemory
from dragoman.store.memory.lessons import LessonMemory
from dragoman.store.redaction import Redactor
from dragoman.store.settings import StoreSettings
from dragoman.store.sqlite.budgets import SqliteBudgets
from dragoman.store.sqlite.calibrations import SqliteCalibrations
from dragoman.store.sqlite.cooldowns import SqliteCooldowns
from dragoman.store.sqlite.database import Database
from dragoman.store.sqlite.ledger import NEAR_BYTES, NEAR_ENTRIES, SqliteLedger
from dragoman.store.sqlite.lessons import SqliteLessons
from dragoman.store.sqlite.limits import SqliteLimits
from dragoman.store.sqlite.table import SqliteTable
from dragoman.store.table_backed import (
    LEASE_BOUNDS,
    LEASES,
    PIN_BOUNDS,
    PINS,
    REASONING,
    RESPONSES,
    SUMMARIES,
    SUMMARY_BOUNDS,
    TableKind,
    TableLeases,
    TablePins,
    TableResponses,
    TableSummaries,
    TableVault,
    response_bounds,
    vault_bounds,
)

Value = TypeVar("Value")
_OF_CALLER = (
    "SELECT count(*) FROM state WHERE caller = ? AND kind IN ('reasoning', 'pins', 'summaries', 'responses')",
    "SELECT count(*) FROM lessons WHERE caller = ?1 AND ?1 <> ''",
    "SELECT count(*) FROM requests WHERE caller = ?",
)


class SqliteStore:
    """`Store` in a file. Raises StoreError where the file cannot be used."""

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
        self._settings = settings = StoreSettings(config)
        self._clocks = clocks
        self._database = Database(path, alone=alone, queue=config.queue)
        try:
            near = LedgerMemory(settings, clocks.wall, NEAR_ENTRIES, NEAR_BYTES)
            self.ledger = SqliteLedger(self._database, near, settings, redactor or Redactor())
            self.lessons = SqliteLessons(self._database, LessonMemory(clocks.wall), clocks.wall)
            states, pins = self._table(REASONING, vault_bounds(config.vault)), self._table(PINS, PIN_BOUNDS)
            summaries = self._table(SUMMARIES, SUMMARY_BOUNDS)
            answers = self._table(RESPONSES, response_bounds(config.responses))
            self.vault = TableVault(states, settings)
            self.pins = TablePins(pins)
            self.summaries = TableSummaries(summaries)
            self.responses = TableResponses(answers, settings)
            self.leases = TableLeases(self._table(LEASES, LEASE_BOUNDS), clocks.wall)
            self._by_caller = (states, pins, summaries, answers)
            self.cooldowns = SqliteCooldowns(self._database, MemoryCooldowns(clocks.steady), clocks)
            self.calibrations = SqliteCalibrations(self._database, MemoryCalibrations(clocks.wall), clocks.wall)
            self.limits = SqliteLimits(self._database, path.with_name(path.name + "-counters"), clocks.steady)
            self.budgets = SqliteBudgets(path.with_name(path.name + "-budgets"))
        except BaseException:
            self._database.close()
            raise

    def _table(self, kind: TableKind[Value], bounds: Bounds) -> SqliteTable[Value]:
        near = ExpiringMap(bounds, kind.weigh, self._clocks.wall)
        return SqliteTable(self._database, kind, near, self._clocks.wall)

    async def start(self) -> None:
        return None

    def reconfigure(self, config: StoreConfig) -> None:
        self._settings.config = config

    def health(self) -> StoreHealth:
        health, limits, budgets = self._database.health(), self.limits, self.budgets
        error = health.last_error or limits.last_error or budgets.last_error
        failed = health.failed + limits.failed + budgets.failed
        return msgspec.structs.replace(health, failed=failed, last_error=error)

    async def forget(self, caller: str) -> int:
        await self.flush()
        count = sum(await self._database.report(partial(_counts, caller)))
        for one in (*self._by_caller, self.lessons):
            await one.forget_caller(caller)
        self.ledger.forget(caller)
        count += self.limits.forget(caller)
        try:
            count += await self.budgets.forget(caller)
        except sqlite3.Error as error:
            raise StoreUnavailable(f"budgets: {error}") from error
        if not await self.flush():
            raise StoreUnavailable(f"{self.place} is busy")
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


def _counts(caller: str, connection: sqlite3.Connection) -> list[int]:
    """How many entries there are of a caller, in each table."""
    return [connection.execute(one, (caller,)).fetchone()[0] for one in _OF_CALLER]


def _rows(connection: sqlite3.Connection) -> int:
    tables = ("state", "lessons", "requests")
    return sum(connection.execute(f"SELECT count(*) FROM {table}").fetchone()[0] for table in tables)  # noqa: S608
