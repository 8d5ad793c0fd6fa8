"""Leases: who of several workers and replicas does a piece of work that one of them is enough for."""

from __future__ import annotations

from collections.abc import Coroutine
from typing import Any

from msgspec import Struct

from dragoman.store.clock import Clock
from dragoman.store.contracts.expiring_table import NO_CALLER, ONLY, ExpiringTable


class Lease(Struct, frozen=True):
    """Who holds it, and until when (seconds since 1970)."""

    holder: str
    until: float


class Leases:
    """Leases by name. They save work and protect nothing: in doubt the work is done twice.

    Atomicity: of several that take a free lease at once, one gets it.

    Consistency: when `release` returns, this process sees it at once. Other workers and replicas see it within two
    seconds; a lease that is taken they see at once.

    Expiry and bounds: a lease ends at its time, by the clock of whoever asks, and is forgotten after an hour. At most
    4,096 are kept.

    What may be lost: everything.

    What a failure means: whoever asks gets the lease, and the failure is counted. No request fails.
    """

    def __init__(self, table: ExpiringTable[Lease], wall: Clock) -> None:
        self._table = table
        self._now = wall

    async def take(self, name: str, holder: str, seconds: float) -> bool:
        """Whether the holder has the lease now: it was free, or over, or the holder's own."""
        now = self._now()
        kept = await self._table.put_first(NO_CALLER, name, ONLY, Lease(holder, now + seconds))
        if kept.until <= now:
            await self.release(name)
            kept = await self._table.put_first(NO_CALLER, name, ONLY, Lease(holder, now + seconds))
        return kept.holder == holder

    def release(self, name: str) -> Coroutine[Any, Any, bool]:
        """Give it up. Call it only while you hold it."""
        return self._table.forget(NO_CALLER, name)
