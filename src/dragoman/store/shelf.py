"""Small things worth remembering: lessons about targets, and which model made which call."""

from __future__ import annotations

import re
from collections import OrderedDict
from enum import StrEnum

GENERIC_ID = re.compile(r"(?:call|tool|toolu|func|function|id)?[_-]?\d{0,4}", re.IGNORECASE)


class Shelf(StrEnum):
    """`lessons`: target → corrected facts. `pins`: caller and call → the model that made it."""

    LESSONS = "lessons"
    PINS = "pins"


CAPACITY = {Shelf.LESSONS: 4096, Shelf.PINS: 4096}


class MemoryShelf:
    """A bounded map; the least recently used entry goes first."""

    def __init__(self, capacity: int) -> None:
        self.capacity = capacity
        self._entries: OrderedDict[str, bytes] = OrderedDict()

    def __len__(self) -> int:
        return len(self._entries)

    def remember(self, key: str, value: bytes) -> None:
        self._entries[key] = value
        self._entries.move_to_end(key)
        if len(self._entries) > self.capacity:
            self._entries.popitem(last=False)

    def recall(self, key: str) -> bytes | None:
        value = self._entries.get(key)
        if value is not None:
            self._entries.move_to_end(key)
        return value

    def forget(self, key: str) -> None:
        self._entries.pop(key, None)

    def everything(self) -> dict[str, bytes]:
        return dict(self._entries)


def pin_key(caller: str, call_id: str, *, session: str = "", tool: str = "") -> str | None:
    """Under what a call is pinned to its model, or None where its id says nothing.

    Some servers number their calls (`call_0`): such an id is trusted only within a session.
    """
    if GENERIC_ID.fullmatch(call_id):
        return "\x1f".join((caller, session, tool, call_id)) if session else None
    return "\x1f".join((caller, "", "", call_id))
