"""State that outlives a request: small contracts by need, and one object that holds them.

Each contract says in its docstring what is atomic, what expires, what may be lost, what other workers see and when, and
what a failure means for the request. `tests/store/contract` holds every backend to it.
"""

from __future__ import annotations

from typing import Protocol

from dragoman.config.schema import StoreConfig
from dragoman.store.budgets import Budgets
from dragoman.store.calibrations import Calibrations
from dragoman.store.health import StoreHealth
from dragoman.store.ledger import Ledger
from dragoman.store.lesson_records import LessonRecords
from dragoman.store.pins import Pins
from dragoman.store.rate_limits import RateLimits
from dragoman.store.reasoning_vault import ReasoningVault
from dragoman.store.stored_responses import StoredResponses
from dragoman.store.summaries import Summaries


class Store(Protocol):
    """Memory and SQLite today. Each part may have a backend of its own.

    Methods that may have to wait for a disk or a network are `async`. What this process holds already is answered
    without waiting: such a coroutine returns at once.
    """

    @property
    def vault(self) -> ReasoningVault:
        """Reasoning state for the next turn."""

    @property
    def limits(self) -> RateLimits:
        """Requests and tokens per minute."""

    @property
    def budgets(self) -> Budgets:
        """What keys have spent."""

    @property
    def pins(self) -> Pins:
        """Which model a call or a session stays with."""

    @property
    def lessons(self) -> LessonRecords:
        """What refusals have taught."""

    @property
    def ledger(self) -> Ledger:
        """One entry per request."""

    @property
    def summaries(self) -> Summaries:
        """Summaries and cuts of long conversations."""

    @property
    def calibrations(self) -> Calibrations:
        """How models count tokens."""

    @property
    def responses(self) -> StoredResponses:
        """Answers that clients refer to by their ids."""

    @property
    def place(self) -> str:
        """Where the state lives, in words for people."""

    def reconfigure(self, config: StoreConfig) -> None:
        """Take the values of a reloaded configuration that may change while the store is open."""

    def health(self) -> StoreHealth:
        """How the store is doing. Never waits."""

    async def flush(self, seconds: float = 5.0) -> bool:
        """Wait until all that was given so far is written; False when that took too long. Never on the data path."""

    async def aclose(self) -> None:
        """Write what waits, and let go of files and threads. What is recorded later is lost; it fails nothing."""
