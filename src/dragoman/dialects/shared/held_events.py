"""Events that wait until another part of the answer is complete."""

from __future__ import annotations

from msgspec import Struct

from dragoman.conversation.events import Event

LIMIT = 16 * 1024 * 1024
"""Bytes of events that may wait."""
_EVENT_SIZE = 64


class HeldEvents(Struct, eq=False):
    """Events by their part, in the order in which the parts came. `size` is about what they take, in bytes."""

    _by_part: dict[int, list[Event]] = {}
    _sizes: dict[int, int] = {}
    size: int = 0

    def __bool__(self) -> bool:
        return bool(self._by_part)

    def add(self, part: int, event: Event) -> None:
        size = _EVENT_SIZE + len(getattr(event, "literal", b""))
        self._by_part.setdefault(part, []).append(event)
        self._sizes[part] = self._sizes.get(part, 0) + size
        self.size += size

    def pop_part(self) -> list[Event]:
        """All events of the part that came first."""
        part = next(iter(self._by_part))
        self.size -= self._sizes.pop(part)
        return self._by_part.pop(part)

    def clear(self) -> None:
        self._by_part.clear()
        self._sizes.clear()
        self.size = 0
