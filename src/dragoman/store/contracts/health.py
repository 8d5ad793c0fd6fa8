"""How the store itself is doing."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct


class StoreHealth(Struct, frozen=True):
    """Counts since the start, for metrics and the log.

    `waiting`: entries that are not written yet. `written`: entries that are. `dropped`: entries that were not taken,
    because too many waited. `failed`: entries that were lost to an error. `unread`: reads that failed or took too
    long; each was answered as "not there". `replaced`: how often the file was gone and a new one was begun.

    Of state that replicas share: `local` counts what was decided without it, `reconnects` how often it came back,
    `replicas` who uses it, as last known. `away` says why it cannot be reached right now, and is None while it can.
    """

    waiting: int = 0
    written: int = 0
    dropped: int = 0
    failed: int = 0
    unread: int = 0
    replaced: int = 0
    local: int = 0
    reconnects: int = 0
    replicas: int = 0
    last_error: str | None = None
    away: str | None = None


def combined(parts: Sequence[StoreHealth]) -> StoreHealth:
    """The health of a store of several parts."""
    counts = {
        name: sum(getattr(part, name) for part in parts)
        for name in ("waiting", "written", "dropped", "failed", "unread", "replaced", "local", "reconnects", "replicas")
    }
    errors = [part.last_error for part in parts if part.last_error]
    away = [part.away for part in parts if part.away]
    return StoreHealth(**counts, last_error=next(iter(errors), None), away="; ".join(away) or None)
