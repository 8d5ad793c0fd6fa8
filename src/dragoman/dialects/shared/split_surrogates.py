"""Surrogate pairs that a server split between two deltas, put together again."""

from __future__ import annotations

from typing import Any

from msgspec.structs import replace

from dragoman.conversation.events import CallDelta, Event, ReasoningDelta, RefusalDelta, TextDelta
from dragoman.wire.surrogates import REPLACEMENT, SurrogateJoiner, mark_surrogates

_DELTAS: frozenset[type[Any]] = frozenset({TextDelta, ReasoningDelta, RefusalDelta, CallDelta})


class SurrogateMender:
    """Costs nothing until a frame turns up that holds half a pair: then `found` is set and all deltas are looked at."""

    __slots__ = ("_surrogates", "found")

    def __init__(self) -> None:
        self.found = False
        self._surrogates: SurrogateJoiner[tuple[type[Any], int, int]] = SurrogateJoiner()

    def mark(self, frame: bytes) -> bytes:
        """The frame in a form that can be decoded."""
        hidden = mark_surrogates(frame)
        self.found = self.found or hidden != frame
        return hidden

    def mend(self, out: list[Event], start: int) -> None:
        for place in range(start, len(out)):
            event: Any = out[place]
            if type(event) in _DELTAS:
                literal = self._surrogates.join((type(event), event.choice, event.part), event.literal)
                out[place] = replace(event, literal=literal)

    def flush(self, out: list[Event]) -> None:
        """Half a pair at the very end of a text."""
        for kind, choice, part in self._surrogates.leftovers():
            out.append(kind(choice, part, REPLACEMENT))
