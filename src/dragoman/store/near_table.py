"""A table that processes share, with a map of this process in front of it.

What this process has put or read is answered from the map: no thread, no network. So is a key that was looked up in
vain. Where the values are kept is the business of a `SharedTable`.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Awaitable, Iterable, Mapping
from typing import Generic, Protocol, TypeVar

from dragoman.store.clock import Clock
from dragoman.store.errors import StoreUnavailable
from dragoman.store.memory.expiring_map import Address, ExpiringMap

Value = TypeVar("Value")
Result = TypeVar("Result")
MISS_FRESH = 5.0
"""Seconds that a key is taken as missing if other processes may write it."""
MISS_FRESH_ALONE = 300.0
"""The same if none do. Not for ever: a write of this process may have waited while the key was looked up."""
KNOWN_MISSES = 16_384


class SharedTable(Protocol[Value]):
    """The values of one table in a file or on a server. What fails is counted there."""

    @property
    def alone(self) -> bool:
        """Whether no other process writes the table: what this process has put or read then stays true."""

    def lacks(self, caller: str) -> bool:
        """Whether it is known that a caller has no value in the table."""

    async def put(self, caller: str, place: str, entries: Mapping[str, Value]) -> bool:
        """Keep values. Returns when other processes see them; False when that takes too long."""

    async def put_first(self, caller: str, place: str, key: str, value: Value) -> Value:
        """Keep a value unless there is one; the one that is kept, or the caller's own if the table fails."""

    async def swap(self, caller: str, place: str, key: str, old: Value, new: Value) -> Value | None:
        """Put `new` in the place of `old`, if that is what is there. What is there then; `new` if the table fails."""

    async def read(self, caller: str, place: str, keys: list[str]) -> dict[str, Value]:
        """The values under these keys, which are now used. Raises StoreUnavailable."""

    async def remove(self, caller: str, place: str, keys: list[str]) -> None:
        """Remove values. Returns when the table no longer gives them back."""

    async def forget(self, caller: str, place: str) -> bool:
        """Remove all values of a place. Returns when the table no longer gives them back; False if it still does."""

    async def forget_caller(self, caller: str) -> int:
        """Remove all values of a caller; how many there were. Raises StoreUnavailable."""

    def touch(self, address: Address) -> None:
        """Note that a value is in use. Never waits."""


class NearTable(Generic[Value]):
    """`ExpiringTable` on a shared table. `fresh`: for how many seconds a value is known that others may change."""

    def __init__(self, shared: SharedTable[Value], near: ExpiringMap[Value], fresh: float, clock: Clock) -> None:
        self.shared = shared
        self.near = near
        self._fresh = fresh
        self._clock = clock
        self._misses: OrderedDict[Address, float] = OrderedDict()
        self._removals = 0

    async def put(self, caller: str, place: str, entries: Mapping[str, Value]) -> bool:
        await self.near.put(caller, place, entries)
        fitting = {key: value for key, value in entries.items() if self.near.fits(caller, place, key, value)}
        if len(fitting) < len(entries):
            await self._removing(self.shared.remove(caller, place, [key for key in entries if key not in fitting]))
        if fitting:
            for key in fitting:
                self._misses.pop((caller, place, key), None)
            return await self.shared.put(caller, place, fitting) and len(fitting) == len(entries)
        return not entries

    async def put_first(self, caller: str, place: str, key: str, value: Value) -> Value:
        found = await self.find(caller, place, (key,))
        if key in found:
            return found[key]
        if not self.near.fits(caller, place, key, value):
            return value
        self._misses.pop((caller, place, key), None)
        if self.shared.alone:
            kept = await self.near.put_first(caller, place, key, value)
            return await self.shared.put_first(caller, place, key, kept)
        kept = await self.shared.put_first(caller, place, key, value)
        return await self.near.put_first(caller, place, key, kept)  # another task may have been quicker

    async def swap(self, caller: str, place: str, key: str, old: Value, new: Value) -> Value | None:
        address, removals = (caller, place, key), self._removals
        if not self.near.fits(*address, new):
            return old
        kept = await self.shared.swap(caller, place, key, old, new)
        if removals != self._removals:  # something was removed meanwhile: it may be this
            return (await self._load(caller, place, [key])).get(key)
        now = self._clock()
        entry = self.near.entry(address, now)
        if entry is not None and entry.value not in (old, kept):  # another task has put something meanwhile
            return entry.value
        if kept is None:
            self.near.remove(address)
        else:
            self.near.keep(address, kept, now)
        return kept

    async def find(self, caller: str, place: str, keys: Iterable[str], *, latest: bool = False) -> dict[str, Value]:
        shared = self.shared
        if latest and not shared.alone:
            return await self._load(caller, place, list(keys))
        if shared.lacks(caller):
            return {}
        alone, found = shared.alone, {}
        wanted, unknown, now = list(keys), [], self._clock()
        for key in wanted:
            address = (caller, place, key)
            entry = self.near.entry(address, now)
            if entry is not None and (alone or abs(now - entry.known) <= self._fresh):
                found[key] = entry.value
                if now - entry.written >= self.near.bounds.ttl / 16:  # so often is enough
                    entry.written = now
                    shared.touch(address)
            elif entry is not None or not self._is_missing(address, now, alone):
                unknown.append(key)
        if not unknown:
            return found
        found |= await self._load(caller, place, unknown)
        return {key: found[key] for key in wanted if key in found}

    async def forget(self, caller: str, place: str) -> bool:
        await self.near.forget(caller, place)
        is_gone = await self._removing(self.shared.forget(caller, place))
        await self.near.forget(caller, place)  # what was read before the shared table had forgotten it
        return is_gone

    async def forget_caller(self, caller: str) -> int:
        self.drop_caller(caller)
        count = await self.shared.forget_caller(caller)
        self.drop_caller(caller)
        return count

    def drop_caller(self, caller: str) -> None:
        """Forget what this process holds of a caller."""
        self._removals += 1
        self.near.drop_caller(caller)

    async def _removing(self, work: Awaitable[Result]) -> Result:
        self._removals += 1
        result = await work
        self._removals += 1
        return result

    async def _load(self, caller: str, place: str, keys: list[str]) -> dict[str, Value]:
        """What the shared table holds of these keys, and from now on this process; if it fails, what is known."""
        started, removals = self._clock(), self._removals
        try:
            rows = await self.shared.read(caller, place, keys)
        except StoreUnavailable:
            return await self.near.find(caller, place, keys)
        if removals != self._removals:  # something was removed meanwhile: what was read may be it
            return await self._load(caller, place, keys)
        found: dict[str, Value] = {}
        for key in keys:
            value = self._learn((caller, place, key), rows.get(key), started)
            if value is not None:
                found[key] = value
        return found

    def _learn(self, address: Address, value: Value | None, started: float) -> Value | None:
        """Take what the shared table says of a key, unless this process has put something there meanwhile."""
        now = self._clock()
        entry = self.near.entry(address, now)
        if entry is not None and entry.known >= started:
            return entry.value
        if value is not None:
            self.near.keep(address, value, now)
            return value
        self.near.remove(address)
        self._misses[address] = now
        if len(self._misses) > KNOWN_MISSES:
            self._misses.popitem(last=False)
        return None

    def _is_missing(self, address: Address, now: float, alone: bool) -> bool:
        """Whether it is known that the shared table does not hold a key."""
        asked = self._misses.get(address)
        return asked is not None and abs(now - asked) <= (MISS_FRESH_ALONE if alone else MISS_FRESH)
