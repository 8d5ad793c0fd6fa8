"""A table of expiring values in the file."""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping
from functools import partial
from typing import Generic, TypeVar

from msgspec.structs import asdict

from dragoman.store.clock import Clock
from dragoman.store.contracts.expiring_table import Bounds
from dragoman.store.errors import StoreUnavailable
from dragoman.store.memory.expiring_map import OVERHEAD, Address
from dragoman.store.sqlite.database import Database
from dragoman.store.sqlite.writer import Sweep, WriteJob
from dragoman.store.table_backed import TableKind

Value = TypeVar("Value")
KEYS_AT_ONCE = 500

_PUT = """
INSERT INTO state (kind, caller, place, key, used, value) VALUES (?, ?, ?, ?, ?, ?)
ON CONFLICT DO UPDATE SET used = excluded.used, value = excluded.value"""
_PUT_FIRST = """
INSERT INTO state (kind, caller, place, key, used, value) SELECT ?2, ?3, ?4, ?5, ?6, ?7 WHERE true
ON CONFLICT DO UPDATE SET used = excluded.used, value = excluded.value WHERE state.used < ?1"""
_SWAP = """
UPDATE state SET used = ?, value = ? WHERE kind = ? AND caller = ? AND place = ? AND key = ? AND value = ?"""
_TOUCH = "UPDATE state SET used = ? WHERE kind = ? AND caller = ? AND place = ? AND key = ?"
_REMOVE = "DELETE FROM state WHERE kind = ? AND caller = ? AND place = ? AND key = ?"
_FORGET = "DELETE FROM state WHERE kind = ? AND caller = ? AND place = ?"
_FORGET_CALLER = "DELETE FROM state WHERE kind = ? AND caller = ?"
_FIND = "SELECT key, value, used FROM state WHERE kind = ? AND caller = ? AND place = ? AND used >= ? AND key IN (%s)"
_COUNT_CALLER = "SELECT count(*) FROM state WHERE kind = ? AND caller = ?"
_CALLERS = "SELECT DISTINCT caller FROM state WHERE kind = ?"
_EXPIRE = "DELETE FROM state WHERE kind = ? AND used < ?"
_SHRINK = """
DELETE FROM state WHERE rowid IN (SELECT rowid FROM (
    SELECT rowid,
        row_number() OVER (PARTITION BY caller ORDER BY used DESC, rowid DESC) AS of_caller,
        row_number() OVER (ORDER BY used DESC, rowid DESC) AS of_all,
        sum(length(value) + length(key) + :overhead) OVER (ORDER BY used DESC, rowid DESC) AS bytes,
        sum(length(value) + length(key) + :overhead) OVER (PARTITION BY caller ORDER BY used DESC, rowid DESC) AS own
    FROM state WHERE kind = :kind)
WHERE of_caller > :per_caller OR of_all > :entries OR bytes > :max_bytes OR own > :caller_bytes)"""


class SqliteTable(Generic[Value]):
    """`SharedTable` in the file. While no other process writes the file, callers that have nothing there are known."""

    def __init__(self, database: Database, kind: TableKind[Value], bounds: Bounds, clock: Clock) -> None:
        self._database = database
        self._kind = kind
        self._bounds = bounds
        self._clock = clock
        self._callers = set(database.read_at_start(self._read_callers))
        database.add_sweep(Sweep(kind.name, kind.sweep_every, self._sweep))

    @property
    def alone(self) -> bool:
        return self._database.alone

    def lacks(self, caller: str) -> bool:
        return caller not in self._callers and self._database.alone

    async def put(self, caller: str, place: str, entries: Mapping[str, Value]) -> bool:
        jobs = [self._job(_PUT, (caller, place, key), value) for key, value in entries.items()]
        if self._kind.waits:
            return await self._database.write_down(jobs)
        for job in jobs:
            self._database.write(job)
        return await self._database.seen()

    async def put_first(self, caller: str, place: str, key: str, value: Value) -> Value:
        expired = self._clock() - self._bounds.ttl
        self._database.write(self._job(_PUT_FIRST, (caller, place, key), value, expired))
        if self._database.alone:
            return value
        await self._database.shared()
        try:  # after all writers have tried
            rows = await self._database.read(partial(self._rows, caller, place, [key], expired))
        except StoreUnavailable:
            return value
        return rows[key][0] if key in rows else value

    async def swap(self, caller: str, place: str, key: str, old: Value, new: Value) -> Value | None:
        kind, now = self._kind, self._clock()
        values = (now, kind.encode(new), kind.name, caller, place, key, old)
        job = WriteJob(_SWAP, values, kind.encode, kind.name, kind.weigh(old) + kind.weigh(new))
        try:
            if not await self._database.write_down([job]):
                return new
            rows = await self._database.read(partial(self._rows, caller, place, [key], now - self._bounds.ttl))
        except StoreUnavailable:
            return new
        return rows[key][0] if key in rows else None

    async def read(self, caller: str, place: str, keys: list[str]) -> dict[str, Value]:
        now = self._clock()
        rows = await self._database.read(partial(self._rows, caller, place, keys, now - self._bounds.ttl))
        for key, (_, used) in rows.items():
            if now - used >= self._bounds.ttl / 16:
                self.touch((caller, place, key))
        return {key: value for key, (value, _) in rows.items()}

    async def remove(self, caller: str, place: str, keys: list[str]) -> None:
        await self._database.write_down([WriteJob(_REMOVE, (self._kind.name, caller, place, key)) for key in keys])

    async def forget(self, caller: str, place: str) -> bool:
        return await self._database.write_down([WriteJob(_FORGET, (self._kind.name, caller, place))])

    async def forget_caller(self, caller: str) -> int:
        count = await self._database.report(partial(self._count, caller))
        if not await self._database.write_down([WriteJob(_FORGET_CALLER, (self._kind.name, caller))]):
            raise StoreUnavailable(f"{self._database.path} cannot be written")
        return count

    def touch(self, address: Address) -> None:
        self._database.write(WriteJob(_TOUCH, (self._clock(), self._kind.name, *address)))

    def _job(self, statement: str, address: Address, value: Value, *before: float) -> WriteJob:
        self._callers.add(address[0])
        values = (*before, self._kind.name, *address, self._clock(), value)
        weight = self._kind.weigh(value)
        return WriteJob(statement, values, self._kind.encode, self._kind.name, weight)

    def _rows(
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

    def _count(self, caller: str, connection: sqlite3.Connection) -> int:
        count: int = connection.execute(_COUNT_CALLER, (self._kind.name, caller)).fetchone()[0]
        return count

    def _read_callers(self, connection: sqlite3.Connection) -> list[str]:
        return [caller for (caller,) in connection.execute(_CALLERS, (self._kind.name,))]

    def _sweep(self, connection: sqlite3.Connection) -> None:
        bounds, kind = self._bounds, self._kind.name
        connection.execute(_EXPIRE, (kind, self._clock() - bounds.ttl))
        connection.execute(_SHRINK, {"overhead": OVERHEAD, "kind": kind, **asdict(bounds)})


def _is_text(key: str) -> bool:
    """Whether a key can be stored in the file; half of a surrogate pair cannot."""
    try:
        key.encode()
    except UnicodeEncodeError:
        return False
    return True
