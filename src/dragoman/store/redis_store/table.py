"""A table of expiring values in Redis, with a map of this process in front of it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Generic, TypeVar

import msgspec
from msgspec import Struct

from dragoman.store.clock import Clock
from dragoman.store.known_misses import KnownMisses
from dragoman.store.memory.expiring_map import Address, ExpiringMap
from dragoman.store.redis_store.connection import RedisAway, RedisRefused
from dragoman.store.redis_store.keys import RedisKeys, address_of, digest
from dragoman.store.redis_store.link import RedisLink, evalsha
from dragoman.store.redis_store.scripts import Scripts
from dragoman.store.table_backed import TableKind

Value = TypeVar("Value")
MISS_FRESH = 5.0
"""Seconds that a key is taken as missing, which another replica may have put meanwhile."""
KEYS_AT_ONCE = 500
PUSHED_AGAIN = 2_000
"""Values of this process that go to a Redis that has lost them."""


class StoredValue(Struct, frozen=True, array_like=True):
    """What is kept under an address: the value with its full name, which digests do not tell."""

    caller: bytes
    place: bytes
    key: bytes
    value: bytes


_encode = msgspec.msgpack.Encoder().encode
_decode = msgspec.msgpack.Decoder(StoredValue).decode


class RedisTable(Generic[Value]):
    """`ExpiringTable` in Redis. What this process has put or read is answered from its map."""

    def __init__(
        self,
        link: RedisLink,
        scripts: Scripts,
        keys: RedisKeys,
        kind: TableKind[Value],
        near: ExpiringMap[Value],
        clock: Clock,
    ) -> None:
        self._link = link
        self._scripts = scripts
        self._kind = kind
        self._near = near
        self._clock = clock
        self._base = keys.named(kind.name)
        self._misses = KnownMisses()
        self._removals = 0
        self.unread = 0

    async def put(self, caller: str, place: str, entries: Mapping[str, Value]) -> None:
        self._near.put(caller, place, entries)
        fitting = {key: value for key, value in entries.items() if self._near.fits(caller, place, key, value)}
        if len(fitting) < len(entries):
            await self._remove([address_of(caller, place, key) for key in entries if key not in fitting])
        if fitting:
            await self._send(self._put_command(caller, place, fitting))

    async def put_first(self, caller: str, place: str, key: str, value: Value) -> Value:
        found = await self.find(caller, place, (key,))
        if key in found:
            return found[key]
        if not self._near.fits(caller, place, key, value):
            return value
        kept = await self._send(self._put_command(caller, place, {key: value}, first=True))
        if kept is not None:
            value = self._read(kept, (caller, place, key)) or value
        return self._near.put_first(caller, place, key, value)  # another task may have been quicker

    async def find(self, caller: str, place: str, keys: Iterable[str]) -> dict[str, Value]:
        found: dict[str, Value] = {}
        wanted, unknown, now = list(keys), [], self._clock()
        for key in wanted:
            address = (caller, place, key)
            entry = self._near.entry(address, now)
            if entry is not None and abs(now - entry.known) <= self._kind.fresh:
                found[key] = entry.value
                if now - entry.written >= self._near.bounds.ttl / 16:
                    entry.written = now
                    self._touch(address)
            elif entry is not None or not self._is_missing(address, now):
                unknown.append(key)
        if not unknown:
            return found
        found |= await self._load(caller, place, unknown)
        return {key: found[key] for key in wanted if key in found}

    async def forget(self, caller: str, place: str) -> None:
        self._near.forget(caller, place)
        self._removals += 1
        await self._send(evalsha(self._scripts.forget, (), self._base, digest(caller), digest(place)))
        self._removals += 1
        self._near.forget(caller, place)  # what was read before Redis had forgotten it

    async def forget_caller(self, caller: str) -> int:
        """Remove all values of a caller; how many there were. Raises RedisAway or RedisRefused."""
        self.drop_caller(caller)
        count: int = await self._link.ask(evalsha(self._scripts.forget, (), self._base, digest(caller), ""))
        self.drop_caller(caller)
        return count

    def drop_caller(self, caller: str) -> None:
        """Forget what this process holds of a caller."""
        self._removals += 1
        self._near.forget_caller(caller)

    async def take(self, caller: str, place: str, key: str, value: bytes) -> None:
        """Keep a value as another store has written it. Raises RedisAway or RedisRefused."""
        await self._link.ask(self._command(caller, [(address_of(caller, place, key), (place, key), value)], False))

    async def _send(self, packed: bytes) -> Any:
        """Have a command run, now or when Redis is back; its answer, or None where there is none yet."""
        try:
            return await self._link.ask(packed, again=True)
        except (RedisAway, RedisRefused):  # counted; this process has it
            return None

    async def _remove(self, addresses: list[str]) -> None:
        self._removals += 1
        await self._send(evalsha(self._scripts.remove, (), self._base, *addresses))
        self._removals += 1

    async def _load(self, caller: str, place: str, keys: list[str]) -> dict[str, Value]:
        """What Redis holds of these keys, and from now on this process; where it is away, what is known."""
        started, removals = self._clock(), self._removals
        try:
            rows = await self._rows(caller, place, keys)
        except RedisAway:  # counted by the link, and told once while it lasts
            return self._near.find(caller, place, keys)
        except RedisRefused:
            self.unread += 1
            return self._near.find(caller, place, keys)
        if removals != self._removals:  # something was removed meanwhile: what was read may be it
            return await self._load(caller, place, keys)
        found: dict[str, Value] = {}
        for key, row in zip(keys, rows, strict=True):
            value = self._learn((caller, place, key), row, started)
            if value is not None:
                found[key] = value
        return found

    async def _rows(self, caller: str, place: str, keys: list[str]) -> list[bytes | None]:
        rows: list[bytes | None] = []
        whose, ttl = digest(caller), self._near.bounds.ttl
        start = whose + digest(place)
        for at in range(0, len(keys), KEYS_AT_ONCE):
            names = [start + digest(key, 16) for key in keys[at : at + KEYS_AT_ONCE]]
            rows += await self._link.ask(evalsha(self._scripts.find, (), self._base, ttl, whose, *names))
        return rows

    def _learn(self, address: Address, row: bytes | None, started: float) -> Value | None:
        """Take what Redis says of a key, unless this process has put something there meanwhile."""
        now = self._clock()
        entry = self._near.entry(address, now)
        if entry is not None and entry.known > started:
            return entry.value
        value = self._read(row, address) if row is not None else None
        if value is None:
            self._near.remove(address)
            self._misses.add(address, now)
            return None
        self._near.put(address[0], address[1], {address[2]: value})
        return value

    def _read(self, row: bytes, address: Address) -> Value | None:
        """A value as this version writes it; what another version wrote, or is of another name, is not there."""
        try:
            stored = _decode(row)
            if (stored.caller, stored.place, stored.key) != tuple(map(_bytes, address)):
                return None
            return self._kind.decode(stored.value)
        except (msgspec.DecodeError, ValueError):
            return None

    def _is_missing(self, address: Address, now: float) -> bool:
        age = self._misses.age(address, now)
        return age is not None and abs(age) <= MISS_FRESH

    def _touch(self, address: Address) -> None:
        self._link.post(evalsha(self._scripts.touch, (), self._base, self._near.bounds.ttl, address_of(*address)))

    def _put_command(self, caller: str, place: str, entries: Mapping[str, Value], first: bool = False) -> bytes:
        start, rows = digest(caller) + digest(place), []
        for key, value in entries.items():
            self._misses.discard((caller, place, key))
            rows.append((start + digest(key, 16), (place, key), self._kind.encode(value)))
        return self._command(caller, rows, first)

    def _command(self, caller: str, rows: list[tuple[str, tuple[str, str], bytes]], first: bool) -> bytes:
        bounds = self._near.bounds
        values: list[str | bytes] = []
        for address, (place, key), value in rows:
            values += [address, _encode(StoredValue(_bytes(caller), _bytes(place), _bytes(key), value))]
        most = (bounds.ttl, bounds.per_caller, bounds.entries, bounds.max_bytes)
        return evalsha(self._scripts.put, (), self._base, *most, int(first), digest(caller), *values)

    def push_again(self) -> None:
        """Give Redis back what it has lost and this process still has. The first writer wins: another may be newer."""
        for (caller, place, key), value in self._near.newest(PUSHED_AGAIN):
            self._link.post(self._put_command(caller, place, {key: value}, first=True), again=True)


def _bytes(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")
