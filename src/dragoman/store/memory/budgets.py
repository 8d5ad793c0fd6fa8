"""Budgets that one process keeps by itself."""

from __future__ import annotations

from threading import Lock

from dragoman.store.contracts.budgets import Exhausted, Periods, Spending, find_exhausted

MOST_PERIODS = 64
"""Of one key; those that are over leave when there are more."""


class MemoryBudgets:
    """`Budgets` of one process. Threads may share it."""

    def __init__(self) -> None:
        self._keys: dict[str, dict[str, float]] = {}
        self._lock = Lock()

    async def reserve(self, key: str, periods: Periods, amount: float) -> Spending | Exhausted:
        return self.decide(key, periods, amount)

    def decide(self, key: str, periods: Periods, amount: float) -> Spending | Exhausted:
        """Book an amount if it fits."""
        with self._lock:
            spent = self._spent(key, periods)
            full = find_exhausted([spent.get(one.name, 0.0) for one in periods], periods, amount)
            return self._add(spent, periods, amount) if full is None else full

    def settle(self, key: str, periods: Periods, amount: float) -> None:
        with self._lock:
            self._add(self._spent(key, periods), periods, amount)

    def know(self, key: str, periods: Periods, spending: Spending) -> None:
        """Take over what another place has counted."""
        with self._lock:
            self._spent(key, periods).update(zip((one.name for one in periods), spending, strict=True))

    def forget(self, key: str) -> int:
        """Remove what a key has spent; in how many periods."""
        with self._lock:
            return len(self._keys.pop(key, ()))

    def _add(self, spent: dict[str, float], periods: Periods, amount: float) -> Spending:
        for one in periods:
            spent[one.name] = spent.get(one.name, 0.0) + amount
        return tuple(spent[one.name] for one in periods)

    def _spent(self, key: str, periods: Periods) -> dict[str, float]:
        spent = self._keys.setdefault(key, {})
        if len(spent) > MOST_PERIODS:
            current = {one.name for one in periods}
            spent = self._keys[key] = {name: amount for name, amount in spent.items() if name in current}
        return spent
