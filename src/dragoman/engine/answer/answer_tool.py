"""An answer that was asked for as the call of a tool, as the text that the client asked for.

The arguments of the call are the text. What the model writes before the call is no part of it: text is held until the
call begins, and given to the client only if no such call comes.
"""

from __future__ import annotations

from collections.abc import Mapping

from msgspec import Struct
from msgspec.structs import replace

from dragoman.conversation.events import CallDelta, CallEnded, CallStarted, Ended, Event, Failed, Stopped, TextDelta
from dragoman.conversation.replies import Stop

_EMPTY = b'""'
_Place = tuple[int, int]


class AnswerTool(Struct, eq=False):
    """`name` is the tool's in the client's words, `names` the target's names → the client's."""

    _name: str
    _names: Mapping[str, str]
    _parts: set[_Place] = set()
    _answers: set[int] = set()
    _called: set[int] = set()
    _held: dict[int, list[Event]] = {}

    def put(self, events: list[Event]) -> list[Event]:
        """The events with the tool's call as text."""
        out: list[Event] = []
        for event in events:
            if type(event) is TextDelta:
                self._held.setdefault(event.choice, []).append(event)
            elif type(event) is CallStarted:
                out += self._start(event)
            elif type(event) is CallDelta and (event.choice, event.part) in self._parts:
                out.append(TextDelta(event.choice, event.part, event.literal))
            elif type(event) is Stopped:
                out += [*self._held.pop(event.choice, ()), self._stop(event)]
            elif isinstance(event, Ended | Failed):
                out += [*self._release(), event]
            elif type(event) is not CallEnded or (event.choice, event.part) not in self._parts:
                out.append(event)
        return out

    def _start(self, event: CallStarted) -> list[Event]:
        """The answer's call begins as an empty text, so that an answer without fragments is one too."""
        before = self._held.pop(event.choice, [])
        if self._names.get(event.name, event.name) != self._name:
            self._called.add(event.choice)
            return [*before, event]
        if event.choice in self._answers:
            return []  # a second call says it again
        self._answers.add(event.choice)
        self._parts.add((event.choice, event.part))
        return [TextDelta(event.choice, event.part, _EMPTY)]

    def _stop(self, event: Stopped) -> Stopped:
        """An answer is no call that the client has to make."""
        if event.reason is not Stop.CALLS or event.choice not in self._answers or event.choice in self._called:
            return event
        return replace(event, reason=Stop.END, word="")

    def _release(self) -> list[Event]:
        held = [event for events in self._held.values() for event in events]
        self._held.clear()
        return held
