"""A table of expiring values in Redis."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Generic, TypeVar

import msgspec
from msgspec import Struct

from dragoman.store.contracts.expiring_table import Bounds
from dragoman.store.errors import StoreUnavailable
from dragoman.store.memory.expiring_map import Address
from dragoman.store.redis_store.connection import RedisAway, RedisRefused, evalsha
from dragoman.store.redis_store.keys import RedisKeys, address_of, digest
from dragoman.store.redis_store.link import RedisLink
from dragoman.store.redis_store.scripts import Scripts
from dragoman.store.table_backed import TableKind

Value = TypeVar("Value")
KEYS_AT_ONCE = 500


class StoredValue(Struct, frozen=True, array_like=True):
    """What is kept under an address: the value with its full name, which digests do not tell."""

    caller: bytes
    place: bytes
    key: bytes
    value: bytes


_encode = msgspec.msgpack.Encoder().encode
_decode = msgspec.msgpack.Decoder(StoredValue).decode


class RedisTable(Generic[Value]):
    """`SharedTable` in Redis. What is put while Redis is away is sent when it is back."""

    alone = False

    def __init__(
        self, link: RedisLink, scripts: Scripts, keys: RedisKeys, kind: TableKind[Value], bounds: Bounds
    ) -> None:
        self._link = link
        self._scripts = scripts
        self._kind = kind
        self._bounds = bounds
        self._base = (keys.named(kind.name),)
        self.unread = 0

    def lacks(self, caller: str) -> bool:
        return False

    async def put(self, caller: str, place: str, entries: Mapping[str, Value]) -> bool:
        try:
            await self._link.ask(self._put_command(caller, place, entries), again=True)
        except (RedisAway, RedisRefused):  # counted; this process has it
            return False
        return True

    async def put_first(self, caller: str, place: str, key: str, value: Value) -> Value:
        kept = await self._send(self._put_command(caller, place, {key: value}, "first"))
        found = None if kept is None else self._decode(kept, (caller, place, key))
        return value if found is None else found

    async def swap(self, caller: str, place: str, key: str, old: Value, new: Value) -> Value | None:
        address = (caller, place, key)
        rows = [(address_of(*address), (place, key), self._kind.encode(new))]
        seen = _pack(caller, place, key, self._kind.encode(old))
        try:
            kept = await self._link.ask(self._command(caller, rows, "swap", seen), again=True)
        except (RedisAway, RedisRefused):  # counted; this process has it
            return new
        return None if kept is None else self._decode(kept, address)

    async def read(self, caller: str, place: str, keys: list[str]) -> dict[str, Value]:
        try:
            rows = await self._rows(caller, place, keys)
        except RedisAway as error:  # counted by the link, and told once while it lasts
            raise StoreUnavailable(str(error)) from None
        except RedisRefused as error:
            self.unread += 1
            raise StoreUnavailable(str(error)) from None
        found = {key: self._decode(row, (caller, place, key)) for key, row in zip(keys, rows, strict=True) if row}
        return {key: value for key, value in found.items() if value is not None}

    async def remove(self, caller: str, place: str, keys: list[str]) -> None:
        addresses = [address_of(caller, place, key) for key in keys]
        await self._send(evalsha(self._scripts.remove, self._base, *addresses))

    async def forget(self, caller: str, place: str) -> bool:
        try:
            await self._link.ask(evalsha(self._scripts.forget, self._base, digest(caller), digest(place)), again=True)
        except RedisAway:  # counted; it is asked again when Redis is back
            return True
        except RedisRefused:
            return False
        return True

    async def forget_caller(self, caller: str) -> int:
        """Raises RedisAway or RedisRefused."""
        count: int = await self._link.ask(evalsha(self._scripts.forget, self._base, digest(caller), ""))
        return count

    def touch(self, address: Address) -> None:
        self._link.post(evalsha(self._scripts.touch, self._base, self._bounds.ttl, address_of(*address)))

    async def take(self, caller: str, place: str, key: str, value: bytes) -> None:
        """Keep a value as another store has written it. Raises RedisAway or RedisRefused."""
        await self._link.ask(self._command(caller, [(address_of(caller, place, key), (place, key), value)]))

    def push_again(self, values: Iterable[tuple[Address, Value]]) -> None:
        """Give Redis back what it has lost and this process still has. The first writer wins: another may be newer."""
        for (caller, place, key), value in values:
            self._link.post(self._put_command(caller, place, {key: value}, "first"), again=True)

    async def _send(self, packed: bytes) -> Any:
        """Have a command run, now or when Redis is back; its answer, or None if there is none yet."""
        try:
            return await self._link.ask(packed, again=True)
        except (RedisAway, RedisRefused):  # counted; this process has it
            return None

    async def _rows(self, caller: str, place: str, keys: list[str]) -> list[bytes | None]:
        rows: list[bytes | None] = []
        whose, ttl = digest(caller), self._bounds.ttl
        start = whose + digest(place)
        for at in range(0, len(keys), KEYS_AT_ONCE):
            names = [start + digest(key, 16) for key in keys[at : at + KEYS_AT_ONCE]]
            rows += await self._link.ask(evalsha(self._scripts.find, self._base, ttl, whose, *names))
        return rows

    def _decode(self, row: bytes, address: Address) -> Value | None:
        """A value as this version writes it; what another version wrote, or is of another name, is not there."""
        try:
            stored = _decode(row)
            if (stored.caller, stored.place, stored.key) != tuple(map(_bytes, address)):
                return None
            return self._kind.decode(stored.value)
        except (msgspec.DecodeError, ValueError):
            return None

    def _put_command(self, caller: str, place: str, entries: Mapping[str, Value], mode: str = "") -> bytes:
        start = digest(caller) + digest(place)
        rows = [(start + digest(key, 16), (place, key), self._kind.encode(value)) for key, value in entries.items()]
        return self._command(caller, rows, mode)

    def _command(
        self, caller: str, rows: list[tuple[str, tuple[str, str], bytes]], mode: str = "", seen: bytes = b""
    ) -> bytes:
        """Writes rows: all; `first`: unless there are some; `swap`: one, if what is there was `seen`."""
        bounds = self._bounds
        values: list[str | bytes] = []
        for address, (place, key), value in rows:
            values += [address, _pack(caller, place, key, value)]
        most = (bounds.ttl, bounds.per_caller, bounds.entries, bounds.max_bytes, bounds.caller_bytes)
        return evalsha(self._scripts.put, self._base, *most, mode, digest(caller), *values, *([seen] if seen else ()))


def _pack(caller: str, place: str, key: str, value: bytes) -> bytes:
    return _encode(StoredValue(_bytes(caller), _bytes(place), _bytes(key), value))


def _bytes(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")
