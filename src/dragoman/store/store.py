"""State that outlives a request: small contracts by need, and one object that holds them.

Each contract says in its docstring what is atomic, what expires, what may be lost, what other workers see and when, and
what a failure means for the request. `tests/store/contract` holds every backend to it.
"""

from __future__ import annotations

from typing import Protocol, runtime_checkable

from dragoman.config.schema.store import StoreConfig
from dragoman.store.contracts.budgets import Budgets
from dragoman.store.contracts.calibrations import Calibrations
from dragoman.store.contracts.cooldowns import Cooldowns
from dragoman.store.contracts.health import StoreHealth
from dragoman.store.contracts.leases import Leases
from dragoman.store.contracts.ledger import Ledger
from dragoman.store.contracts.lesson_records import LessonRecords
from dragoman.store.contracts.pins import Pins
from dragoman.store.contracts.rate_limits import RateLimits
from dragoman.store.contracts.reasoning_vault import ReasoningVault
from dragoman.store.contracts.shared_secrets import SharedSecrets
from dragoman.store.contracts.stored_responses import StoredResponses
from dragoman.store.contracts.summaries import Summaries


class StorePart(Protocol):
    """What every part of a store has: a place, a beginning and an end."""

    @property
    def place(self) -> str:
        """Where the state lives, in words for people."""

    async def start(self) -> None:
        """Reach what this part needs, and read what the first request must know. Takes a second at most, never fails.

        Whoever does not call it gets the same a little later: a part starts by itself when it is first used.
        """

    def reconfigure(self, config: StoreConfig) -> None:
        """Take the values of a reloaded configuration that may change while the store is open."""

    def health(self) -> StoreHealth:
        """How this part is doing. Never waits."""

    async def forget(self, caller: str) -> int:
        """Remove everything that is kept for a caller; how many entries. Raises StoreUnavailable if that failed."""

    async def flush(self, seconds: float = 5.0) -> bool:
        """Wait until all that was given so far is written; False when that took too long. Never on the data path."""

    async def aclose(self) -> None:
        """Write what waits, and let go of files and threads. What is recorded later is lost; it fails nothing."""


@runtime_checkable
class Prunable(Protocol):
    """A part that does not remove by itself, at once, what is too old or too much."""

    async def prune(self) -> int:
        """Remove it now; how many entries. Raises StoreUnavailable."""


class LedgerPart(StorePart, Protocol):
    """What must last: a row per request."""

    @property
    def ledger(self) -> Ledger:
        """One entry per request."""


class HotPart(StorePart, Protocol):
    """What requests need at once."""

    vault: ReasoningVault
    """Reasoning state for the next turn."""
    pins: Pins
    """Which model a call or a session stays with."""
    summaries: Summaries
    """Summaries and cuts of long conversations."""
    responses: StoredResponses
    """Answers that clients refer to by their ids."""
    leases: Leases
    """Who does a piece of work that one is enough for."""
    secrets: SharedSecrets
    """Random bytes that all processes agree on."""

    @property
    def limits(self) -> RateLimits:
        """Requests and tokens per minute."""

    @property
    def budgets(self) -> Budgets:
        """What keys have spent."""

    @property
    def lessons(self) -> LessonRecords:
        """What refusals have taught."""

    @property
    def calibrations(self) -> Calibrations:
        """How models count tokens."""

    @property
    def cooldowns(self) -> Cooldowns:
        """Which destinations are left alone."""


class Store(HotPart, LedgerPart, Protocol):
    """Memory and SQLite keep everything in one place; `composed_store.py` puts a store together from two parts.

    Methods that may have to wait for a disk or a network are `async`. What this process holds already is answered
    without waiting: such a coroutine returns at once.
    """
