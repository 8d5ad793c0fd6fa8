"""The store for tests, for the demo, and for `store.kind: memory`."""

from __future__ import annotations

from typing import TypeVar

from dragoman.config.schema.store import StoreConfig
from dragoman.store.clock import REAL_CLOCKS, Clocks
from dragoman.store.contracts.expiring_table import Bounds
from dragoman.store.contracts.health import StoreHealth
from dragoman.store.journals.redaction import Redactor
from dragoman.store.memory.budgets import MemoryBudgets
from dragoman.store.memory.calibrations import MemoryCalibrations
from dragoman.store.memory.cooldowns import MemoryCooldowns
from dragoman.store.memory.expiring_map import ExpiringMap
from dragoman.store.memory.ledger import MemoryLedger
from dragoman.store.memory.lessons import MemoryLessons
from dragoman.store.rate_windows import RateWindows
from dragoman.store.table_backed import TableKind, TableStore

Value = TypeVar("Value")


class MemoryStore(TableStore):
    """`Store` of one process. No coroutine of it ever waits."""

    place = "memory"

    def __init__(self, config: StoreConfig, clocks: Clocks = REAL_CLOCKS, redactor: Redactor | None = None) -> None:
        wall = self._wall = clocks.wall
        super().__init__(config, wall)
        self.ledger = MemoryLedger(self._settings, wall, redactor or Redactor())
        self.limits = RateWindows(clocks.steady)
        self.budgets = MemoryBudgets()
        self.lessons = MemoryLessons(wall)
        self.calibrations = MemoryCalibrations(wall)
        self.cooldowns = MemoryCooldowns(clocks.steady)

    def _open_table(self, kind: TableKind[Value], bounds: Bounds) -> ExpiringMap[Value]:
        return ExpiringMap(bounds, kind.weigh, self._wall)

    async def start(self) -> None:
        return None

    def health(self) -> StoreHealth:
        return StoreHealth(written=self.ledger.written)

    async def forget(self, caller: str) -> int:
        parts = (self.lessons.forget_caller, self.budgets.forget, self.limits.forget, self.ledger.forget)
        return await self._forget_values(caller) + sum(forget(caller) for forget in parts)

    async def flush(self, seconds: float = 5.0) -> bool:
        return True

    async def aclose(self) -> None:
        return None
