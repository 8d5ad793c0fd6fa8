"""A table of expiring values in memory. Its coroutines return at once."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Generic, TypeVar

from dragoman.store.memory.expiring_map import ExpiringMap

Value = TypeVar("Value")


class MemoryTable(Generic[Value]):
    """`ExpiringTable` around a map of this process."""

    def __init__(self, core: ExpiringMap[Value]) -> None:
        self.core = core

    async def put(self, caller: str, place: str, entries: Mapping[str, Value]) -> None:
        self.core.put(caller, place, entries)

    async def put_first(self, caller: str, place: str, key: str, value: Value) -> Value:
        return self.core.put_first(caller, place, key, value)

    async def find(self, caller: str, place: str, keys: Iterable[str]) -> dict[str, Value]:
        return self.core.find(caller, place, keys)

    async def forget(self, caller: str, place: str) -> None:
        self.core.forget(caller, place)
