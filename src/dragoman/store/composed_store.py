"""A store of two parts: the hot one is asked by requests, the ledger must last."""

from __future__ import annotations

import asyncio

from dragoman.config.schema.store import StoreConfig
from dragoman.store.contracts.health import StoreHealth, combine_health
from dragoman.store.store import HotPart, LedgerPart, Prunable


def join_places(hot: str, ledger: str) -> str:
    """Where the two parts live, in words for people."""
    return f"{hot}, ledger: {ledger}"


class ComposedStore:
    """`Store` of two parts that know nothing of each other. What fails in one does not touch the other."""

    def __init__(self, hot: HotPart, ledger: LedgerPart) -> None:
        self.hot = hot
        self._parts = (hot, ledger)
        self.place = join_places(hot.place, ledger.place)
        self.ledger = ledger.ledger
        self.vault, self.limits, self.budgets, self.pins = hot.vault, hot.limits, hot.budgets, hot.pins
        self.lessons, self.summaries, self.calibrations = hot.lessons, hot.summaries, hot.calibrations
        self.responses, self.cooldowns, self.leases = hot.responses, hot.cooldowns, hot.leases
        self.secrets = hot.secrets

    async def start(self) -> None:
        await asyncio.gather(*(part.start() for part in self._parts))

    def reconfigure(self, config: StoreConfig) -> None:
        for part in self._parts:
            part.reconfigure(config)

    def health(self) -> StoreHealth:
        return combine_health([part.health() for part in self._parts])

    async def forget(self, caller: str) -> int:
        return sum([await part.forget(caller) for part in self._parts])

    async def prune(self) -> int:
        return sum([await part.prune() for part in self._parts if isinstance(part, Prunable)])

    async def flush(self, seconds: float = 5.0) -> bool:
        return all(await asyncio.gather(*(part.flush(seconds) for part in self._parts)))

    async def aclose(self) -> None:
        await asyncio.gather(*(part.aclose() for part in self._parts))
