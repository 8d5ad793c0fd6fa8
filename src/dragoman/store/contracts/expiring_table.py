"""What the vault, pins and summaries have in common: small values by key that expire.

This is not part of the store's contract. A need gets a contract of its own, because what may be lost and who must agree
differ from need to need; a backend implements this one table for all of them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Protocol, TypeVar

from msgspec import Struct

Value = TypeVar("Value")
SEPARATOR = "\x1f"
"""Stands between the parts of a place, and of a name."""
NO_CALLER = ""
"""The caller of what belongs to all."""
ONLY = "-"
"""The key in a place that holds one value."""


class Bounds(Struct, frozen=True):
    """How much is kept."""

    per_caller: int
    """Entries of one caller."""
    entries: int
    """Entries of all callers."""
    max_bytes: int
    """Bytes of all callers."""
    ttl: float
    """Seconds since the last use."""
    caller_bytes: int = 1 << 62
    """Bytes of one caller."""


class ExpiringTable(Protocol[Value]):
    """Values by caller, place (the other parts of the key) and key."""

    async def put(self, caller: str, place: str, entries: Mapping[str, Value]) -> bool:
        """Keep values, each under its key; the last writer wins. False: some were not kept, or not for others yet."""

    async def put_first(self, caller: str, place: str, key: str, value: Value) -> Value:
        """Keep a value unless there is one; the one that is kept. The first writer wins."""

    async def swap(self, caller: str, place: str, key: str, old: Value, new: Value) -> Value | None:
        """Put `new` in the place of `old`, if that is what is there; what is there then."""

    async def find(self, caller: str, place: str, keys: Iterable[str], *, latest: bool = False) -> dict[str, Value]:
        """The values under these keys, in the order of the keys. `latest`: as others have written them, too."""

    async def forget(self, caller: str, place: str) -> bool:
        """Remove all values of a place. False: they are still there for others."""

    async def forget_caller(self, caller: str) -> int:
        """Remove all values of a caller; how many there were. Raises StoreUnavailable."""
