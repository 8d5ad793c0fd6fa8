"""The events of an answer that the client does not get as the target gave them.

Arguments have the client's own names again, an answer that was asked for as a call is text, and the answer begins with
what the gateway puts before it. Few requests need any of this.
"""

from __future__ import annotations

from collections.abc import Mapping

from msgspec import Struct
from msgspec.structs import replace

from dragoman.conversation.changes import Undo
from dragoman.conversation.events import (
    CallDelta,
    CallEnded,
    Ended,
    Event,
    Failed,
    OpaqueBlock,
    Started,
    Stopped,
    TextDelta,
)
from dragoman.conversation.literals import join_texts, prefix_literal, quote, unquote
from dragoman.conversation.parts import Opaque
from dragoman.dialects.dialect import AnswerContext
from dragoman.engine.answer.answer_tool import AnswerTool
from dragoman.rules.schema import rename_arguments

_CLOSING = (Stopped, Ended, Failed)


class AlteredEvents:
    """Alters the events of one answer, by what was changed in its request."""

    __slots__ = ("_answer_tool", "_begun", "_opening", "_prefix", "_renaming")

    def __init__(self, undo: Undo, context: AnswerContext) -> None:
        self._renaming = _Renaming(undo.keys) if undo.keys else None
        self._answer_tool = AnswerTool(undo.answer, undo.names) if undo.answer else None
        self._prefix, self._opening = context.prefix, context.opening
        self._begun: set[int] = set()

    def put(self, events: list[Event]) -> list[Event]:
        """The events with the client's names of arguments, its format, and what an answer is to begin with."""
        if self._renaming is not None:
            events = self._renaming.put(events)
        if self._answer_tool is not None:
            events = self._answer_tool.put(events)
        if self._prefix:
            events = [self._add_prefix(event) for event in events]
        if self._opening is not None:
            events = [shown for event in events for shown in _after_opening(event, self._opening)]
        return events

    def _add_prefix(self, event: Event) -> Event:
        """The first text of each choice, with the name of the model before it."""
        if type(event) is not TextDelta or event.choice in self._begun:
            return event
        self._begun.add(event.choice)
        return replace(event, literal=prefix_literal(self._prefix, event.literal))


def _after_opening(event: Event, opening: Opaque) -> tuple[Event, ...]:
    """The event with the block that opens the answer before it, or counted in it."""
    if type(event) is Started:
        return event, OpaqueBlock(0, 0, opening)
    part = getattr(event, "part", None)
    return (event,) if part is None else (replace(event, part=part + 1),)


class _Renaming(Struct, eq=False):
    """Holds the fragments of open calls: a fragment of JSON cannot be renamed. `keys`: the target's argument names
    → the client's."""

    _keys: Mapping[str, str]
    _held: dict[tuple[int, int], list[bytes]] = {}

    def put(self, events: list[Event]) -> list[Event]:
        """The events with every call's arguments in one piece, renamed."""
        out: list[Event] = []
        for event in events:
            if isinstance(event, CallDelta):
                self._held.setdefault((event.choice, event.part), []).append(event.literal)
                continue
            if isinstance(event, CallEnded):
                out += self._whole(event.choice, event.part)
            elif isinstance(event, _CLOSING):
                for choice, part in list(self._held):
                    out += self._whole(choice, part)
            out.append(event)
        return out

    def _whole(self, choice: int, part: int) -> list[Event]:
        held = self._held.pop((choice, part), None)
        if held is None:
            return []
        text = unquote(join_texts("", held))
        try:
            renamed = rename_arguments(text.encode(), self._keys).decode()
        except ValueError:
            renamed = text  # not JSON: nothing in it can be renamed
        return [CallDelta(choice, part, quote(renamed))]
