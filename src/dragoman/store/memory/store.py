"""The store for tests, for the demo, and for `store.kind: memory`."""

from __future__ import annotations

from dragoman.config.schema import StoreConfig
from dragoman.store.clock import REAL_CLOCKS, Clocks
from dragoman.store.health import StoreHealth
from dragoman.store.memory.budgets import MemoryBudgets
from dragoman.store.memory.calibrations import MemoryCalibrations
from dragoman.store.memory.cooldowns import MemoryCooldowns
from dragoman.store.memory.expiring_map import ExpiringMap
from dragoman.store.memory.ledger import LedgerMemory, MemoryLedger
from dragoman.store.memory.lessons import LessonMemory, MemoryLessons
from dragoman.store.memory.limits import MemoryLimits
from dragoman.store.memory.table import MemoryTable
from dragoman.store.rate_windows import RateWindows
from dragoman.store.redaction import Redactor
from dragoman.store.settings import StoreSettings
from dragoman.store.table_backed import (
    LEASE_BOUNDS,
    LEASES,
    PIN_BOUNDS,
    PINS,
    REASONING,
    RESPONSES,
    SUMMARIES,
    SUMMARY_BOUNDS,
    TableLeases,
    TablePins,
    TableResponses,
    TableSummaries,
    TableVault,
    response_bounds,
    vault_bounds,
)


class MemoryStore:
    """`Store` of one process. No coroutine of it ever waits."""

    place = "memory"

    def __init__(self, config: StoreConfig, clocks: Clocks = REAL_CLOCKS, redactor: Redactor | None = None) -> None:
        self._settings = settings = StoreSettings(config)
        wall = clocks.wall
        self._entries = LedgerMemory(settings, wall)
        self.ledger = MemoryLedger(self._entries, settings, redactor or Redactor())
        self.limits = MemoryLimits(RateWindows(clocks.steady))
        self.budgets = MemoryBudgets()
        self._lessons = LessonMemory(wall)
        self.lessons = MemoryLessons(self._lessons)
        states = ExpiringMap(vault_bounds(config.vault), REASONING.weigh, wall)
        pins = ExpiringMap(PIN_BOUNDS, PINS.weigh, wall)
        summaries = ExpiringMap(SUMMARY_BOUNDS, SUMMARIES.weigh, wall)
        answers = ExpiringMap(response_bounds(config.responses), RESPONSES.weigh, wall)
        self.vault = TableVault(MemoryTable(states), settings)
        self.pins = TablePins(MemoryTable(pins))
        self.summaries = TableSummaries(MemoryTable(summaries))
        self.responses = TableResponses(MemoryTable(answers), settings)
        self.leases = TableLeases(MemoryTable(ExpiringMap(LEASE_BOUNDS, LEASES.weigh, wall)), wall)
        self.calibrations = MemoryCalibrations(wall)
        self.cooldowns = MemoryCooldowns(clocks.steady)
        self._forgetting = (
            *(states.forget_caller, pins.forget_caller, summaries.forget_caller, answers.forget_caller),
            *(self._lessons.forget_caller, self.budgets.forget, self.limits.forget, self._entries.forget),
        )

    async def start(self) -> None:
        return None

    def reconfigure(self, config: StoreConfig) -> None:
        self._settings.config = config

    def health(self) -> StoreHealth:
        return StoreHealth(written=self._entries.written)

    async def forget(self, caller: str) -> int:
        return sum(forget(caller) for forget in self._forgetting)

    async def flush(self, seconds: float = 5.0) -> bool:
        return True

    async def aclose(self) -> None:
        return None
