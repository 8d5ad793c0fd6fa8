"""What requests ask of the store, for spans below the span of the request.

Only if tracing is on: the store is then wrapped, and each call that may wait is noted. The notes of a request are
taken when its span is made. They name the need, the operation and the outcome, and no key or content.
"""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable
from contextvars import ContextVar
from typing import Any, cast

from msgspec import Struct

from dragoman.store.contracts.budgets import Exhausted
from dragoman.store.store import Store

MOST_CALLS = 100
"""Of one request; a loop of the client's must not fill the memory."""

Describe = Callable[[Any], str]
"""The outcome of a call, by its result."""


class StoreCall(Struct, frozen=True):
    """One call of the store."""

    need: str
    """The contract that it belongs to."""
    operation: str
    """The name of the method."""
    began: float
    """Seconds since 1970."""
    seconds: float
    """How long it took."""
    outcome: str
    """What came of it."""


_CALLS: ContextVar[list[StoreCall] | None] = ContextVar("store calls", default=None)


def take_calls() -> list[StoreCall]:
    """The calls of this request so far. The next request of the same connection begins with none."""
    calls = _CALLS.get()
    _CALLS.set(None)
    return calls or []


def _done(result: object) -> str:
    return "done"


def _describe(result: object) -> str:
    return "hit" if result else "miss"


_NOTED: dict[str, dict[str, Describe]] = {
    "vault": {"put": _done, "find": _describe},
    "limits": {"reserve": lambda verdict: type(verdict).__name__.lower()},
    "budgets": {"reserve": lambda verdict: "exhausted" if isinstance(verdict, Exhausted) else "allowed"},
    "pins": {"put": _done, "find": _describe, "forget": _done},
    "summaries": {"put": _done, "find": _describe},
    "responses": {
        "put": _done,
        "swap": _describe,
        "find": _describe,
        "find_latest": _describe,
        "find_link": _describe,
        "forget": _done,
    },
}
"""The calls on the data path that may wait, by need."""


class _Traced:
    """An object with some of its attributes replaced."""

    def __init__(self, own: object, replaced: dict[str, Any]) -> None:
        self._own = own
        self.__dict__ |= replaced

    def __getattr__(self, name: str) -> Any:
        return getattr(self._own, name)


def trace_store(store: Store) -> Store:
    """The store with its calls on the data path noted."""
    needs = {need: _trace_need(need, getattr(store, need), calls) for need, calls in _NOTED.items()}
    return cast(Store, _Traced(store, needs))


def _trace_need(need: str, own: object, calls: dict[str, Describe]) -> _Traced:
    noted = {name: _note_call(need, name, getattr(own, name), describe) for name, describe in calls.items()}
    return _Traced(own, noted)


def _note_call(need: str, operation: str, call: Callable[..., Awaitable[Any]], describe: Describe) -> Any:
    async def noted(*arguments: Any, **named: Any) -> Any:
        began, start = time.time(), time.perf_counter()
        outcome = "failed"
        try:
            result = await call(*arguments, **named)
            outcome = describe(result)
            return result
        finally:
            calls = _CALLS.get()
            if calls is None:
                _CALLS.set(calls := [])
            if len(calls) < MOST_CALLS:
                calls.append(StoreCall(need, operation, began, time.perf_counter() - start, outcome))

    return noted
