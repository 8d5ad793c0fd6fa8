"""How the store itself is doing."""

from __future__ import annotations

from msgspec import Struct


class StoreHealth(Struct, frozen=True):
    """Counts since the start, for metrics and the log.

    `waiting`: entries that are not written yet. `written`: entries that are. `dropped`: entries that were not taken,
    because too many waited. `failed`: entries that were lost to an error. `unread`: reads that failed or took too
    long; each was answered as "not there". `replaced`: how often the file was gone and a new one was begun.
    """

    waiting: int = 0
    written: int = 0
    dropped: int = 0
    failed: int = 0
    unread: int = 0
    replaced: int = 0
    last_error: str | None = None
