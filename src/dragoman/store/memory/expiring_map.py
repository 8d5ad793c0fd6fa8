"""A bounded map whose entries expire: the table of the memory store, and what others have in front of theirs."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterable, Mapping
from threading import Lock
from typing import Generic, TypeVar

from dragoman.store.clock import Clock
from dragoman.store.contracts.expiring_table import Bounds

Value = TypeVar("Value")
Address = tuple[str, str, str]
"""Viewer, place, key."""
OVERHEAD = 200
"""About what an entry costs beside its value, in bytes."""


class CachedValue(Generic[Value]):
    """An entry. `known`: when it was put or read. `used`: its last use. `written`: the last use that the file knows."""

    __slots__ = ("known", "size", "used", "value", "written")

    def __init__(self, value: Value, size: int, now: float) -> None:
        self.value = value
        self.size = size
        self.used = self.written = self.known = now


class ExpiringMap(Generic[Value]):
    """`ExpiringTable` in memory. Its coroutines never wait. The least recently used value goes first.

    Threads may share it.
    """

    def __init__(self, bounds: Bounds, weigh: Callable[[Value], int], clock: Clock) -> None:
        self.bounds = bounds
        self.bytes = 0
        self._weigh = weigh
        self._clock = clock
        self._cached: OrderedDict[Address, CachedValue[Value]] = OrderedDict()
        self._callers: dict[str, OrderedDict[Address, None]] = {}
        self._owned: dict[str, int] = {}
        """Bytes by caller."""
        self._lock = Lock()

    def __len__(self) -> int:
        return len(self._cached)

    async def put(self, caller: str, place: str, entries: Mapping[str, Value]) -> bool:
        now = self._clock()
        with self._lock:
            for key, value in entries.items():
                self._put((caller, place, key), value, now)
            return all((caller, place, key) in self._cached for key in entries)

    async def put_first(self, caller: str, place: str, key: str, value: Value) -> Value:
        now, address = self._clock(), (caller, place, key)
        with self._lock:
            entry = self._use(address, now)
            if entry is not None:
                return entry.value
            self._put(address, value, now)
            return value

    async def swap(self, caller: str, place: str, key: str, old: Value, new: Value) -> Value | None:
        now, address = self._clock(), (caller, place, key)
        with self._lock:
            entry = self._use(address, now)
            if entry is None or entry.value != old or not self.fits(*address, new):
                return entry.value if entry is not None else None
            self._put(address, new, now)
            return new

    async def find(self, caller: str, place: str, keys: Iterable[str], *, latest: bool = False) -> dict[str, Value]:
        if caller not in self._callers:
            return {}
        now, found = self._clock(), {}
        with self._lock:
            for key in keys:
                entry = self._use((caller, place, key), now)
                if entry is not None:
                    found[key] = entry.value
        return found

    def fits(self, caller: str, place: str, key: str, value: Value) -> bool:
        """Whether there is room for a value at all."""
        return self._size((caller, place, key), value) <= min(self.bounds.max_bytes, self.bounds.caller_bytes)

    def entry(self, address: Address, now: float) -> CachedValue[Value] | None:
        """The entry at an address, now used; for a table that has this map in front of it."""
        with self._lock:
            return self._use(address, now)

    def keep(self, address: Address, value: Value, now: float) -> None:
        """Take the value of an address; for a table that has this map in front of it."""
        with self._lock:
            self._put(address, value, now)

    def remove(self, address: Address) -> None:
        """Drop the entry at an address, if there is one."""
        with self._lock:
            self._drop(address)

    async def forget(self, caller: str, place: str) -> bool:
        with self._lock:
            for address in [one for one in self._callers.get(caller, ()) if one[1] == place]:
                self._drop(address)
        return True

    async def forget_caller(self, caller: str) -> int:
        return self.drop_caller(caller)

    def drop_caller(self, caller: str) -> int:
        """Forget a caller at once; how many entries."""
        with self._lock:
            addresses = list(self._callers.get(caller, ()))
            for address in addresses:
                self._drop(address)
        return len(addresses)

    def newest(self, count: int) -> list[tuple[Address, Value]]:
        """The values that were used last, the oldest of them first."""
        with self._lock:
            found = list(self._cached.items())[-count:]
        return [(address, entry.value) for address, entry in found]

    def _use(self, address: Address, now: float) -> CachedValue[Value] | None:
        entry = self._cached.get(address)
        if entry is None:
            return None
        if now - entry.used > self.bounds.ttl:
            self._drop(address)
            return None
        entry.used = now
        self._cached.move_to_end(address)
        self._callers[address[0]].move_to_end(address)
        return entry

    def _put(self, address: Address, value: Value, now: float) -> None:
        """A value that is larger than all the room is not kept, and neither is the one that it replaces."""
        self._drop(address)
        size = self._size(address, value)
        if size > min(self.bounds.max_bytes, self.bounds.caller_bytes):
            return
        self._cached[address] = CachedValue(value, size, now)
        self._callers.setdefault(address[0], OrderedDict())[address] = None
        self.bytes += size
        self._owned[address[0]] = self._owned.get(address[0], 0) + size
        self._shrink(address[0], now)

    def _size(self, address: Address, value: Value) -> int:
        return self._weigh(value) + sum(map(len, address)) + OVERHEAD

    def _shrink(self, caller: str, now: float) -> None:
        bounds, cached, own = self.bounds, self._cached, self._callers[caller]
        while len(own) > bounds.per_caller or self._owned.get(caller, 0) > bounds.caller_bytes:
            self._drop(next(iter(own)))
        while len(cached) > bounds.entries or self.bytes > bounds.max_bytes:
            self._drop(next(iter(cached)))
        while cached and now - next(iter(cached.values())).used > bounds.ttl:
            self._drop(next(iter(cached)))

    def _drop(self, address: Address) -> None:
        entry = self._cached.pop(address, None)
        if entry is None:
            return
        self.bytes -= entry.size
        self._owned[address[0]] -= entry.size
        own = self._callers[address[0]]
        del own[address]
        if not own:
            del self._callers[address[0]], self._owned[address[0]]
