"""State that outlives a request, behind one small interface.

No method waits for a disk to be written: the data path never stands still for the ledger and never fails with it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Protocol

from msgspec import Struct

from dragoman.config.schema import StoreConfig
from dragoman.store.ledger_entry import By, Caller, Entry, Totals
from dragoman.store.rate_windows import Allowed, Limited, Limits
from dragoman.store.shelf import Shelf
from dragoman.store.vault import Kept

Clock = Callable[[], float]


class Health(Struct, frozen=True):
    """How the store itself is doing, for metrics: waiting, written, dropped because too many waited, lost to errors."""

    waiting: int = 0
    written: int = 0
    dropped: int = 0
    failed: int = 0
    last_error: str | None = None


class Store(Protocol):
    """Memory and SQLite today; the same for replicas later. `config` may be replaced while it is open."""

    config: StoreConfig

    def record(self, entry: Entry) -> None:
        """Put a request into the ledger."""

    def report(self, request_id: str, caller: Caller) -> Entry | None:
        """One request, if it is there and the caller's own; an admin sees all."""

    def recent(self, caller: Caller, limit: int = 50, before: float | None = None) -> tuple[Entry, ...]:
        """The caller's last requests, newest first."""

    def totals(self, caller: Caller, by: By, since: float = 0.0) -> tuple[Totals, ...]:
        """Sums over the caller's requests, the largest group first."""

    def keep(self, caller: str, provider: str, scope: str, key: str, value: bytes, kind: str) -> None:
        """Put opaque state into the vault."""

    def fetch(self, caller: str, provider: str, scope: str, keys: Iterable[str]) -> dict[str, Kept]:
        """What the vault holds of these keys, of this caller alone."""

    def allow(self, key: str, limits: Limits, now: float, tokens: int = 0) -> Allowed | Limited:
        """Count a request against its key's limits, or say how long it must wait."""

    def spend(self, key: str, tokens: int, now: float) -> None:
        """Count tokens that `allow` did not know of; negative where it was told too many."""

    def remember(self, shelf: Shelf, key: str, value: bytes) -> None:
        """Keep a lesson or a pin."""

    def recall(self, shelf: Shelf, key: str) -> bytes | None:
        """A lesson or pin, or None."""

    def remembered(self, shelf: Shelf) -> dict[str, bytes]:
        """Everything on a shelf."""

    def forget(self, shelf: Shelf, key: str) -> None:
        """Remove a lesson or pin."""

    def health(self) -> Health:
        """How the store is doing."""

    def flush(self, timeout: float = 5.0) -> bool:
        """Wait until all that was recorded is written; False when that took too long. Never on the data path."""

    def close(self) -> None:
        """Write what waits, and let go of files and threads."""
