"""Keys that a shared store did not hold when this process last asked for them."""

from __future__ import annotations

from collections import OrderedDict

from dragoman.store.memory.expiring_map import Address

KNOWN_MISSES = 16_384


class KnownMisses:
    """When each key was looked up and not found. The oldest are forgotten where there are too many."""

    __slots__ = ("_asked",)

    def __init__(self) -> None:
        self._asked: OrderedDict[Address, float] = OrderedDict()

    def add(self, address: Address, now: float) -> None:
        self._asked[address] = now
        if len(self._asked) > KNOWN_MISSES:
            self._asked.popitem(last=False)

    def discard(self, address: Address) -> None:
        self._asked.pop(address, None)

    def age(self, address: Address, now: float) -> float | None:
        """Seconds since the key was looked up; None where it is not known to be missing."""
        asked = self._asked.get(address)
        return None if asked is None else now - asked
