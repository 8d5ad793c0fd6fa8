"""What requests ask of the store, for spans below the span of the request.

Only where tracing is on: the store is then wrapped, and each call that may wait is noted. The notes of a request are
taken when its span is made. They name the need, the operation and the outcome, and no key or content.
"""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable, Iterable, Mapping
from contextvars import ContextVar
from typing import TypeVar

from msgspec import Struct

from dragoman.config.schema import StoreConfig
from dragoman.store import (
    Allowed,
    KeyLimits,
    Limited,
    Parts,
    Pin,
    PinOwner,
    Pins,
    RateLimits,
    ReasoningVault,
    StateOwner,
    Store,
    StoredResponse,
    StoredResponses,
    StoreHealth,
    Summaries,
    Summary,
)
from dragoman.store.budgets import Budgets, Exhausted, Periods, Spending

Result = TypeVar("Result")
MOST_CALLS = 100
"""Of one request; a loop of the client's must not fill the memory."""


class StoreCall(Struct, frozen=True):
    """One call: when it began (seconds since 1970), how long it took, and what came of it."""

    need: str
    operation: str
    began: float
    seconds: float
    outcome: str


_CALLS: ContextVar[list[StoreCall] | None] = ContextVar("store calls", default=None)


def take_calls() -> list[StoreCall]:
    """The calls of this request so far. The next request of the same connection begins with none."""
    calls = _CALLS.get()
    _CALLS.set(None)
    return calls or []


async def _noted(
    need: str, operation: str, work: Awaitable[Result], describe: Callable[[Result], str] = lambda result: "done"
) -> Result:
    began, start = time.time(), time.perf_counter()
    outcome = "failed"
    try:
        result = await work
        outcome = describe(result)
        return result
    finally:
        calls = _CALLS.get()
        if calls is None:
            _CALLS.set(calls := [])
        if len(calls) < MOST_CALLS:
            calls.append(StoreCall(need, operation, began, time.perf_counter() - start, outcome))


def _found(result: object) -> str:
    return "hit" if result else "miss"


class _TracedVault:
    def __init__(self, vault: ReasoningVault) -> None:
        self._vault = vault

    async def put(self, owner: StateOwner, entries: Mapping[str, Parts]) -> None:
        await _noted("vault", "put", self._vault.put(owner, entries))

    async def find(self, owner: StateOwner, keys: Iterable[str]) -> Mapping[str, Parts]:
        return await _noted("vault", "find", self._vault.find(owner, keys), _found)


class _TracedLimits:
    def __init__(self, limits: RateLimits) -> None:
        self._limits = limits
        self.settle = limits.settle

    async def reserve(self, key: str, limits: KeyLimits, tokens: int = 0) -> Allowed | Limited:
        work = self._limits.reserve(key, limits, tokens)
        return await _noted("limits", "reserve", work, lambda verdict: type(verdict).__name__.lower())


class _TracedBudgets:
    def __init__(self, budgets: Budgets) -> None:
        self._budgets = budgets
        self.settle = budgets.settle

    async def reserve(self, key: str, periods: Periods, amount: float) -> Spending | Exhausted:
        work = self._budgets.reserve(key, periods, amount)
        return await _noted(
            "budgets", "reserve", work, lambda one: "exhausted" if isinstance(one, Exhausted) else "allowed"
        )


class _TracedPins:
    def __init__(self, pins: Pins) -> None:
        self._pins = pins

    async def put(self, owner: PinOwner, pins: Mapping[str, Pin]) -> None:
        await _noted("pins", "put", self._pins.put(owner, pins))

    async def find(self, owner: PinOwner, keys: Iterable[str]) -> Mapping[str, Pin]:
        return await _noted("pins", "find", self._pins.find(owner, keys), _found)

    async def forget(self, owner: PinOwner) -> None:
        await _noted("pins", "forget", self._pins.forget(owner))


class _TracedSummaries:
    def __init__(self, summaries: Summaries) -> None:
        self._summaries = summaries

    async def put(self, caller: str, digest: str, summary: Summary) -> Summary:
        return await _noted("summaries", "put", self._summaries.put(caller, digest, summary))

    async def find(self, caller: str, digests: Iterable[str]) -> tuple[str, Summary] | None:
        return await _noted("summaries", "find", self._summaries.find(caller, digests), _found)


class _TracedResponses:
    def __init__(self, responses: StoredResponses) -> None:
        self._responses = responses

    async def put(self, caller: str, id: str, response: StoredResponse) -> None:
        await _noted("responses", "put", self._responses.put(caller, id, response))

    async def find(self, caller: str, id: str) -> StoredResponse | None:
        return await _noted("responses", "find", self._responses.find(caller, id), _found)

    async def forget(self, caller: str, id: str) -> None:
        await _noted("responses", "forget", self._responses.forget(caller, id))


class TracedStore:
    """`Store` whose calls on the data path are noted. What never waits is the store's own."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self.place = store.place
        self.vault, self.limits = _TracedVault(store.vault), _TracedLimits(store.limits)
        self.budgets, self.pins = _TracedBudgets(store.budgets), _TracedPins(store.pins)
        self.summaries, self.responses = _TracedSummaries(store.summaries), _TracedResponses(store.responses)
        self.ledger, self.lessons = store.ledger, store.lessons
        self.calibrations, self.cooldowns, self.leases = store.calibrations, store.cooldowns, store.leases

    async def start(self) -> None:
        await self._store.start()

    def reconfigure(self, config: StoreConfig) -> None:
        self._store.reconfigure(config)

    def health(self) -> StoreHealth:
        return self._store.health()

    async def forget(self, caller: str) -> int:
        return await self._store.forget(caller)

    async def flush(self, seconds: float = 5.0) -> bool:
        return await self._store.flush(seconds)

    async def aclose(self) -> None:
        await self._store.aclose()
