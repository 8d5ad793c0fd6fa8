"""How the store itself is doing."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct


class Absence(Struct, frozen=True):
    """A server of the store that cannot be reached right now."""

    place: str
    why: str
    effect: str
    """What that means until it is back."""
    is_ledger: bool = False
    """Whether it holds the ledger alone, and nothing that a request waits for."""

    def __str__(self) -> str:
        return f"{self.place}: {self.why}"


class StoreHealth(Struct, frozen=True):
    """Counts since the start, for metrics and the log."""

    waiting: int = 0
    """Entries that are not written yet."""
    written: int = 0
    """Entries that are written."""
    dropped: int = 0
    """Entries that were not taken, because too many waited."""
    failed: int = 0
    """Entries that were lost to an error."""
    unread: int = 0
    """Reads that failed or took too long. Each was answered as "not there"."""
    replaced: int = 0
    """How often the file was gone and a new one was begun."""
    local: int = 0
    """What was decided without the state that replicas share."""
    reconnects: int = 0
    """How often shared state came back."""
    replicas: int = 0
    """How many use shared state, as last known."""
    last_error: str | None = None
    away: tuple[Absence, ...] = ()
    """The servers that cannot be reached right now."""

    @property
    def is_state_away(self) -> bool:
        """Whether this process goes by what it knows of the state that replicas share."""
        return any(not one.is_ledger for one in self.away)


def combine_health(parts: Sequence[StoreHealth]) -> StoreHealth:
    """The health of a store of several parts."""
    counts = {
        name: sum(getattr(part, name) for part in parts)
        for name in ("waiting", "written", "dropped", "failed", "unread", "replaced", "local", "reconnects", "replicas")
    }
    errors = [part.last_error for part in parts if part.last_error]
    away = tuple(one for part in parts for one in part.away)
    return StoreHealth(**counts, last_error=next(iter(errors), None), away=away)
