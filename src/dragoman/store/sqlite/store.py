"""The store of `dragoman serve`: one SQLite file, for several workers and for restarts."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import TypeVar

import msgspec

from dragoman.config.schema import StoreConfig
from dragoman.store.clock import REAL_CLOCKS, Clocks
from dragoman.store.expiring_table import Bounds
from dragoman.store.health import StoreHealth
from dragoman.store.memory.calibrations import MemoryCalibrations
from dragoman.store.memory.expiring_map import ExpiringMap
from dragoman.store.memory.ledger import LedgerMemory
from dragoman.store.memory.lessons import LessonMemory
from dragoman.store.redaction import Redactor
from dragoman.store.settings import StoreSettings
from dragoman.store.sqlite.budgets import SqliteBudgets
from dragoman.store.sqlite.calibrations import SqliteCalibrations
from dragoman.store.sqlite.database import Database
from dragoman.store.sqlite.ledger import NEAR_BYTES, NEAR_ENTRIES, SqliteLedger
from dragoman.store.sqlite.lessons import SqliteLessons
from dragoman.store.sqlite.limits import SqliteLimits
from dragoman.store.sqlite.table import SqliteTable
from dragoman.store.table_backed import (
    PIN_BOUNDS,
    PINS,
    REASONING,
    RESPONSES,
    SUMMARIES,
    SUMMARY_BOUNDS,
    TableKind,
    TablePins,
    TableResponses,
    TableSummaries,
    TableVault,
    response_bounds,
    vault_bounds,
)

Value = TypeVar("Value")


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
            self.vault = TableVault(self._table(REASONING, vault_bounds(config.vault)), settings)
            self.pins = TablePins(self._table(PINS, PIN_BOUNDS))
            self.summaries = TableSummaries(self._table(SUMMARIES, SUMMARY_BOUNDS))
            self.responses = TableResponses(self._table(RESPONSES, response_bounds(config.responses)), settings)
            self.calibrations = SqliteCalibrations(self._database, MemoryCalibrations(clocks.wall), clocks.wall)
            self.limits = SqliteLimits(self._database, path.with_name(path.name + "-counters"), clocks.steady)
            self.budgets = SqliteBudgets(path.with_name(path.name + "-budgets"))
        except BaseException:
            self._database.close()
            raise

    def _table(self, kind: TableKind[Value], bounds: Bounds) -> SqliteTable[Value]:
        near = ExpiringMap(bounds, kind.weigh, self._clocks.wall)
        return SqliteTable(self._database, kind, near, self._clocks.wall)

    def reconfigure(self, config: StoreConfig) -> None:
        self._settings.config = config

    def health(self) -> StoreHealth:
        health, limits, budgets = self._database.health(), self.limits, self.budgets
        error = health.last_error or limits.last_error or budgets.last_error
        failed = health.failed + limits.failed + budgets.failed
        return msgspec.structs.replace(health, failed=failed, last_error=error)

    async def flush(self, seconds: float = 5.0) -> bool:
        return await self._database.written(seconds)

    async def aclose(self) -> None:
        await asyncio.to_thread(self._close)

    def _close(self) -> None:
        self._database.close()
        self.limits.close()
        self.budgets.close()
