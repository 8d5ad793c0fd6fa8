"""A table of expiring values in the file, with a map of this process in front of it."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Mapping
from functools import partial
from typing import Generic, TypeVar

from dragoman.store.clock import Clock
from dragoman.store.errors import StoreUnavailable
from dragoman.store.known_misses import KnownMisses
from dragoman.store.memory.expiring_map import OVERHEAD, Address, CachedValue, ExpiringMap
from dragoman.store.sqlite.database import DATA_PATH_DEADLINE, Database
from dragoman.store.sqlite.writer import Sweep, WriteJob
from dragoman.store.table_backed import TableKind

Value = TypeVar("Value")
MISS_FRESH = 5.0
"""Seconds that a key is taken as missing where other processes may write it."""
MISS_FRESH_ALONE = 300.0
"""The same where none do. Not for ever: a write of this process may have waited while the key was looked up."""
KEYS_AT_ONCE = 500

_PUT = """
INSERT INTO state (kind, caller, place, key, used, value) VALUES (?, ?, ?, ?, ?, ?)
ON CONFLICT DO UPDATE SET used = excluded.used, value = excluded.value"""
_PUT_FIRST = """
INSERT INTO state (kind, caller, place, key, used, value) SELECT ?2, ?3, ?4, ?5, ?6, ?7 WHERE true
ON CONFLICT DO UPDATE SET used = excluded.used, value = excluded.value WHERE state.used < ?1"""
_TOUCH = "UPDATE state SET used = ? WHERE kind = ? AND caller = ? AND place = ? AND key = ?"
_REMOVE = "DELETE FROM state WHERE kind = ? AND caller = ? AND place = ? AND key = ?"
_FORGET = "DELETE FROM state WHERE kind = ? AND caller = ? AND place = ?"
_FORGET_CALLER = "DELETE FROM state WHERE kind = ? AND caller = ?"
_FIND = "SELECT key, value, used FROM state WHERE kind = ? AND caller = ? AND place = ? AND used >= ? AND key IN (%s)"
_CALLERS = "SELECT DISTINCT caller FROM state WHERE kind = ?"
_EXPIRE = "DELETE FROM state WHERE kind = ? AND used < ?"
_SHRINK = """
DELETE FROM state WHERE rowid IN (SELECT rowid FROM (
    SELECT rowid,
        row_number() OVER (PARTITION BY caller ORDER BY used DESC, rowid DESC) AS of_caller,
        row_number() OVER (ORDER BY used DESC, rowid DESC) AS of_all,
        sum(length(value) + length(key) + ?) OVER (ORDER BY used DESC, rowid DESC) AS bytes
    FROM state WHERE kind = ?)
WHERE of_caller > ? OR of_all > ? OR bytes > ?)"""


class SqliteTable(Generic[Value]):
    """`ExpiringTable` in the file.

    A value that this process has read or put, and a key that it has looked up in vain, cost no second look into the
    file. While no other process writes the file, callers that have nothing there are known, too.
    """

    def __init__(self, database: Database, kind: TableKind[Value], near: ExpiringMap[Value], clock: Clock) -> None:
        self._database = database
        self._kind = kind
        self._near = near
        self._clock = clock
        self._misses = KnownMisses()
        self._removals = 0
        self._callers = set(database.read_at_start(self._read_callers))
        database.add_sweep(Sweep(kind.name, kind.sweep_every, self._sweep))

    async def put(self, caller: str, place: str, entries: Mapping[str, Value]) -> None:
        self._near.put(caller, place, entries)
        now = self._clock()
        for key, value in entries.items():
            if self._near.fits(caller, place, key, value):
                self._write(_PUT, (caller, place, key), now, value)
            else:
                await self._remove(_REMOVE, (caller, place, key))
        await self._database.shared()

    async def put_first(self, caller: str, place: str, key: str, value: Value) -> Value:
        found = await self.find(caller, place, (key,))
        if key in found:
            return found[key]
        if not self._near.fits(caller, place, key, value):
            return value
        now, alone = self._clock(), self._database.alone
        expired = now - self._near.bounds.ttl
        if not alone:
            self._write(_PUT_FIRST, (caller, place, key), now, value, expired)
            value = await self._winner(caller, place, key, value, expired)
        kept = self._near.put_first(caller, place, key, value)  # another task may have been quicker
        if alone:
            self._write(_PUT_FIRST, (caller, place, key), now, kept, expired)
        return kept

    async def _winner(self, caller: str, place: str, key: str, value: Value, expired: float) -> Value:
        """What the file holds after all writers have tried; the own value where the file fails."""
        await self._database.shared()
        try:
            rows = await self._database.read(partial(self._read, caller, place, [key], expired))
        except StoreUnavailable:
            return value
        return rows[key][0] if key in rows else value

    async def find(self, caller: str, place: str, keys: Iterable[str]) -> dict[str, Value]:
        alone = self._database.alone
        if alone and caller not in self._callers:
            return {}
        found: dict[str, Value] = {}
        wanted, unknown, now = list(keys), [], self._clock()
        for key in wanted:
            address = (caller, place, key)
            entry = self._near.entry(address, now)
            if entry is not None and (alone or now - entry.known <= self._kind.fresh):
                found[key] = entry.value
                self._used(address, entry, now)
            elif entry is not None or not self._is_missing(address, now, alone):
                unknown.append(key)
        if not unknown:
            return found
        found |= await self._load(caller, place, unknown)
        return {key: found[key] for key in wanted if key in found}

    async def forget(self, caller: str, place: str) -> None:
        self._near.forget(caller, place)
        await self._remove(_FORGET, (caller, place))
        self._near.forget(caller, place)  # what was read before the file had forgotten it

    async def forget_caller(self, caller: str) -> None:
        """Remove all values of a caller."""
        self._near.forget_caller(caller)
        await self._remove(_FORGET_CALLER, (caller,))
        self._near.forget_caller(caller)

    async def _remove(self, statement: str, where: tuple[str, ...]) -> None:
        """Remove rows, and wait for it: until then the file would give them back."""
        self._removals += 1
        self._database.write(WriteJob(statement, (self._kind.name, *where)))
        await self._database.written(DATA_PATH_DEADLINE)
        self._removals += 1

    async def _load(self, caller: str, place: str, keys: list[str]) -> dict[str, Value]:
        """What the file holds of these keys, and from now on this process; where the file fails, what is known."""
        started, removals = self._clock(), self._removals
        read = partial(self._read, caller, place, keys, started - self._near.bounds.ttl)
        try:
            rows = await self._database.read(read)
        except StoreUnavailable:
            return self._near.find(caller, place, keys)
        if removals != self._removals:  # something was removed meanwhile: what was read may be it
            return await self._load(caller, place, keys)
        found: dict[str, Value] = {}
        for key in keys:
            value = self._learn((caller, place, key), rows.get(key), started)
            if value is not None:
                found[key] = value
        return found

    def _learn(self, address: Address, row: tuple[Value, float] | None, started: float) -> Value | None:
        """Take what the file says of a key, unless this process has put something there meanwhile."""
        now = self._clock()
        entry = self._near.entry(address, now)
        if entry is not None and entry.known >= started:
            return entry.value
        if row is None:
            self._near.remove(address)
            self._misses.add(address, now)
            return None
        self._near.put(address[0], address[1], {address[2]: row[0]})
        if now - row[1] >= self._near.bounds.ttl / 16:
            self._touch(address, now)
        return row[0]

    def _is_missing(self, address: Address, now: float, alone: bool) -> bool:
        """Whether it is known that the file does not hold a key."""
        age = self._misses.age(address, now)
        return age is not None and age <= (MISS_FRESH_ALONE if alone else MISS_FRESH)

    def _used(self, address: Address, entry: CachedValue[Value], now: float) -> None:
        """Let the file know of a use; once in a sixteenth of the life time is enough."""
        if now - entry.written >= self._near.bounds.ttl / 16:
            entry.written = now
            self._touch(address, now)

    def _touch(self, address: Address, now: float) -> None:
        self._database.write(WriteJob(_TOUCH, (now, self._kind.name, *address)))

    def _write(self, statement: str, address: Address, now: float, value: Value, *before: float) -> None:
        self._callers.add(address[0])
        self._misses.discard(address)
        values = (*before, self._kind.name, *address, now, value)
        weight = self._kind.weigh(value)
        self._database.write(WriteJob(statement, values, self._kind.encode, self._kind.name, weight))

    def _read(
        self, caller: str, place: str, keys: list[str], since: float, connection: sqlite3.Connection
    ) -> dict[str, tuple[Value, float]]:
        rows: dict[str, tuple[Value, float]] = {}
        texts = [key for key in keys if _is_text(key)]
        for at in range(0, len(texts), KEYS_AT_ONCE):
            some = texts[at : at + KEYS_AT_ONCE]
            statement = _FIND % ",".join("?" * len(some))
            for key, value, used in connection.execute(statement, (self._kind.name, caller, place, since, *some)):
                rows[key] = (self._kind.decode(value), used)
        return rows

    def _read_callers(self, connection: sqlite3.Connection) -> list[str]:
        return [caller for (caller,) in connection.execute(_CALLERS, (self._kind.name,))]

    def _sweep(self, connection: sqlite3.Connection) -> None:
        bounds, kind = self._near.bounds, self._kind.name
        connection.execute(_EXPIRE, (kind, self._clock() - bounds.ttl))
        connection.execute(_SHRINK, (OVERHEAD, kind, bounds.per_caller, bounds.entries, bounds.max_bytes))


def _is_text(key: str) -> bool:
    """Whether a key can be stored in the file; half of a surrogate pair cannot."""
    try:
        key.encode()
    except UnicodeEncodeError:
        return False
    return True
