"""Leases: who of several workers and replicas does a piece of work that one of them is enough for."""

from __future__ import annotations

from typing import Protocol

from msgspec import Struct


class Lease(Struct, frozen=True):
    """Who holds it, and until when (seconds since 1970)."""

    holder: str
    until: float


class Leases(Protocol):
    """Leases by name. They save work and protect nothing: in doubt the work is done twice.

    Atomicity: of several that take a free lease at once, one gets it.

    Consistency: when `release` returns, this process sees it at once. Other workers and replicas see it within two
    seconds; a lease that is taken they see at once.

    Expiry and bounds: a lease ends at its time, by the clock of whoever asks, and is forgotten after an hour. At most
    4,096 are kept.

    What may be lost: everything.

    What a failure means: whoever asks gets the lease, and the failure is counted. No request fails.
    """

    async def take(self, name: str, holder: str, seconds: float) -> bool:
        """Whether the holder has the lease now: it was free, or over, or the holder's own."""

    async def release(self, name: str) -> None:
        """Give it up. Call it only while you hold it."""
