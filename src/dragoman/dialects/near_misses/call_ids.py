"""Ids for calls and results that came without one: a result answers the call that its place tells."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence

from dragoman.conversation.parts import Call, Part, Result
from dragoman.dialects.shared.parsing import make_id


class CallIds:
    """The calls of a conversation in their order, and those that wait for their result.

    A call without an id gets that of the first result after it that answers no other call, unless a new turn of calls
    lies between. Else it gets one that is made up: those are in `made`.
    """

    def __init__(self, parts: Sequence[Part | None]) -> None:
        known = {part.id for part in parts if type(part) is Call}
        # Results that answer no call, each with the number of the turn of calls before it; and the calls that results
        # name, which no result without an id answers.
        self._strangers: deque[tuple[int, str]] = deque()
        self._claimed: set[tuple[int, str]] = set()
        turn, calling = 0, False
        for part in parts:
            if type(part) is Call:
                turn, calling = turn + (not calling), True
            elif type(part) is Result:
                calling = False
                if part.call_id in known:
                    self._claimed.add((turn, part.call_id))
                elif part.call_id:
                    self._strangers.append((turn, part.call_id))
        self.made: set[str] = set()
        self._calls = 0
        self._turn = 0
        self._orphans = 0
        self._waiting: dict[str, str] = {}
        self._order: deque[str] = deque()
        self._by_name: dict[str, deque[str]] = {}
        self._calling = False

    def call(self, call: Call) -> str:
        """The call's own id, or the one that it gets. A new turn of calls ends the wait for earlier ones."""
        self._calls += 1
        if not self._calling:
            self._calling = True
            self._turn += 1
            self._waiting, self._order, self._by_name = {}, deque(), {}
        identity = call.id or (self._stranger() if self._strangers else "") or self._make(self._calls, call.name)
        self._waiting[identity] = call.name
        if (self._turn, identity) in self._claimed:
            return identity
        self._order.append(identity)
        if call.name in self._by_name:
            self._by_name[call.name].append(identity)
        else:
            self._by_name[call.name] = deque((identity,))
        return identity

    def _stranger(self) -> str:
        while self._strangers and self._strangers[0][0] < self._turn:
            self._strangers.popleft()
        own = bool(self._strangers) and self._strangers[0][0] == self._turn
        return self._strangers.popleft()[1] if own else ""

    def result(self, result: Result) -> tuple[str, str]:
        """The id and the tool's name of the call that a result answers. The name is empty if nothing tells it."""
        self._calling = False
        identity = result.call_id or self._first(result.name)
        name = self._waiting.pop(identity, "") or result.name or ""
        if not identity:
            self._orphans += 1
            identity = self._make(-self._orphans, name)
        return identity, name

    def _make(self, ordinal: int, name: str) -> str:
        identity = make_id(ordinal, name)
        self.made.add(identity)
        return identity

    def _first(self, name: str | None) -> str:
        """The first call of this name that waits, else the first of all."""
        named = self._by_name.get(name or "")
        return (self._first_in(named) if named else "") or self._first_in(self._order)

    def _first_in(self, order: deque[str]) -> str:
        while order and order[0] not in self._waiting:
            order.popleft()  # it was answered: each is passed over once
        return order[0] if order else ""
