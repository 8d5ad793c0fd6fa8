"""Opaque provider state, kept for the next turn.

The caller is part of every key: one tenant's signature can never ride in another's request, even where both name the
same call. Bounded three ways (entries of one caller, of all, and bytes), the least recently used goes first, and
nothing outlives its time since last use.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable

from msgspec import Struct

from dragoman.config.schema import Vault as VaultLimits

Place = tuple[str, str, str, str]  # caller, provider, scope, key


class Kept(Struct, frozen=True):
    """A value and what kind of thing it is (a signature, reasoning text …)."""

    value: bytes
    kind: str


class _Slot:
    __slots__ = ("kept", "touched", "used")

    def __init__(self, kept: Kept, now: float) -> None:
        self.kept = kept
        self.used = now
        self.touched = now


class MemoryVault:
    """The vault of one process."""

    def __init__(self, limits: VaultLimits) -> None:
        self.limits = limits
        self.bytes = 0
        self._slots: OrderedDict[Place, _Slot] = OrderedDict()
        self._callers: dict[str, OrderedDict[Place, None]] = {}

    def __len__(self) -> int:
        return len(self._slots)

    def keep(self, place: Place, kept: Kept, now: float) -> None:
        if not self.limits.enabled or _size(place, kept) > self.limits.max_bytes:
            return
        self._drop(place)
        self._slots[place] = _Slot(kept, now)
        self._callers.setdefault(place[0], OrderedDict())[place] = None
        self.bytes += _size(place, kept)
        self._shrink(place[0], now)

    def fetch(self, caller: str, provider: str, scope: str, keys: Iterable[str], now: float) -> dict[str, Kept]:
        found: dict[str, Kept] = {}
        if caller not in self._callers:
            return found
        for key in keys:
            slot = self._used((caller, provider, scope, key), now)
            if slot is not None:
                found[key] = slot.kept
        return found

    def due(self, place: Place, now: float) -> bool:
        """Whether a copy elsewhere should be told of this use; once in a sixteenth of the life time is enough."""
        slot = self._slots.get(place)
        if slot is None or now - slot.touched < self.limits.ttl / 16:
            return False
        slot.touched = now
        return True

    def _used(self, place: Place, now: float) -> _Slot | None:
        slot = self._slots.get(place)
        if slot is None:
            return None
        if now - slot.used > self.limits.ttl:
            self._drop(place)
            return None
        slot.used = now
        self._slots.move_to_end(place)
        self._callers[place[0]].move_to_end(place)
        return slot

    def _shrink(self, caller: str, now: float) -> None:
        own = self._callers[caller]
        while len(own) > self.limits.per_caller:
            self._drop(next(iter(own)))
        while self._slots and (len(self._slots) > self.limits.entries or self.bytes > self.limits.max_bytes):
            self._drop(next(iter(self._slots)))
        while self._slots and now - next(iter(self._slots.values())).used > self.limits.ttl:
            self._drop(next(iter(self._slots)))

    def _drop(self, place: Place) -> None:
        slot = self._slots.pop(place, None)
        if slot is None:
            return
        self.bytes -= _size(place, slot.kept)
        own = self._callers[place[0]]
        del own[place]
        if not own:
            del self._callers[place[0]]


def _size(place: Place, kept: Kept) -> int:
    return len(kept.value) + sum(map(len, place)) + 200  # about what the entry itself costs
