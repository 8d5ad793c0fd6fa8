"""Calls one after another, for dialects whose clients keep one current item.

An upstream may send pieces of several calls in turn. A client that keeps one current item would give the arguments of
one call to another. So while a call is open, the events of all other parts wait, and follow part by part once it ended.

Some providers say nothing of the arguments of a call that has none. Clients read them as JSON, so it gets an empty
object.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from msgspec import Struct

from dragoman.conversation.events import CallDelta, CallEnded, CallStarted, Ended, Event, Failed, Stopped
from dragoman.conversation.failures import Failure, FailureKind
from dragoman.conversation.literals import EMPTY

LIMIT = 16 * 1024 * 1024
"""Bytes of events that may wait."""
_EVENT_SIZE = 64
_TOO_MUCH = Failure(FailureKind.ANSWER_TOO_LARGE, "Too much of the answer waited for an open tool call.")


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


class CallOrder:
    """Puts the events of one choice in order. While a call `is_open`, those of others wait."""

    __slots__ = ("_choice", "_held", "_is_silent", "_part", "is_open")

    def __init__(self) -> None:
        self.is_open = self._is_silent = False
        self._choice = 0
        self._part = 0
        self._held = HeldEvents()

    def take(self, event: Event) -> Iterable[Event]:
        """The events that may be rendered now."""
        if type(event) is CallDelta and event.part == self._part:
            self._is_silent = self._is_silent and event.literal == EMPTY
            return (event,)  # nearly all of them
        if not self.is_open and type(event) is not CallStarted:
            return (event,)  # nothing waits
        return self._put_in_order(event)

    def _put_in_order(self, event: Event) -> Iterator[Event]:
        kind = type(event)
        if kind is Failed:
            self._held.clear()
        elif kind is Stopped or kind is Ended:
            yield from self._finish()
        elif self.is_open and getattr(event, "part", self._part) != self._part:
            yield from self._hold(event)
            return
        yield from self._pass(event)

    def _hold(self, event: Any) -> Iterator[Event]:
        self._held.add(event.part, event)
        if self._held.size > LIMIT:
            self._held.clear()
            yield Failed(_TOO_MUCH)

    def _pass(self, event: Event) -> Iterator[Event]:
        """This event, and if it ends a call, those that waited for that: until a call is open that has not ended."""
        yield from self._follow(event)
        while self._held and not self.is_open:
            for held in self._held.pop_part():
                yield from self._follow(held)

    def _follow(self, event: Event) -> Iterator[Event]:
        if isinstance(event, CallStarted):
            self.is_open, self._choice, self._part = True, event.choice, event.part
            self._is_silent = not event.custom
        elif isinstance(event, CallDelta):
            self._is_silent = self._is_silent and event.literal == EMPTY
        elif isinstance(event, CallEnded):
            if self._is_silent:
                yield CallDelta(self._choice, self._part, b'"{}"')
            self.is_open = self._is_silent = False
        yield event

    def _finish(self) -> Iterator[Event]:
        """At the end every call is complete, even one that was never ended."""
        while self.is_open:
            yield from self._pass(CallEnded(self._choice, self._part))
