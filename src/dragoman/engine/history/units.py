"""A conversation as units: what may only stay together or leave together.

Instructions, a user's turn, an assistant's turn with its reasoning, its calls and all their results. Cutting whole
units never parts a call from its result.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum

import msgspec

from dragoman.conversation.messages import ASSISTANT, DEVELOPER, SYSTEM, TOOL, USER, Message
from dragoman.conversation.pairs import find_meaning, pair
from dragoman.conversation.parts import Call, Opaque, Result


class UnitKind(StrEnum):
    """Who speaks in a unit."""

    SYSTEM = "system"
    """Instructions, which are never cut."""
    USER = "user"
    """What a person said."""
    ASSISTANT = "assistant"
    """A turn of the model, with the results of its calls."""


class Unit(msgspec.Struct, frozen=True, gc=False):
    """Messages that stay together."""

    kind: UnitKind
    start: int
    """The first message, by its number."""
    end: int
    """The message after the last one."""
    continues: bool = False
    """Whether it ends with results, which the model has yet to answer."""


def units_of(messages: Sequence[Message]) -> tuple[Unit, ...]:
    """The units of a conversation, in order. Every message belongs to exactly one."""
    tidy = _tidy_units(messages)
    return tuple(tidy if tidy is not None else _paired_units(messages))


def _tidy_units(messages: Sequence[Message]) -> list[Unit] | None:
    """The units if all results stand directly behind the turn whose calls they answer: they need not be paired.

    None if some do not, or if a block of the model's is one of them.
    """
    units: list[Unit] = []
    start = 0
    calls: set[str] | None = None
    for place, message in enumerate(messages):
        if message.role is TOOL:
            if calls is None:
                calls = _calls_of(messages[start])
            if not calls or not _answers(message, calls):
                return None
        elif any(type(part) is Opaque and find_meaning(part) is not part for part in message.parts):
            return None
        elif place:
            units.append(Unit(_kind(messages[start]), start, place, calls is not None))
            start, calls = place, None
    if messages:
        units.append(Unit(_kind(messages[start]), start, len(messages), calls is not None))
    return units


def _calls_of(turn: Message) -> set[str]:
    return {part.id for part in turn.parts if type(part) is Call} if turn.role is ASSISTANT else set()


def _answers(results: Message, calls: set[str]) -> bool:
    return all(type(part) is Result and part.call_id in calls for part in results.parts)


def _paired_units(messages: Sequence[Message]) -> list[Unit]:
    """The units if results may stand anywhere behind their calls, or have none."""
    reach = _reach(messages)
    units: list[Unit] = []
    start = 0
    while start < len(messages):
        end = _end(messages, start, reach)
        units.append(Unit(_kind(messages[start]), start, end, _ends_in_result(messages[end - 1])))
        start = end
    return units


def _ends_in_result(message: Message) -> bool:
    last = message.parts[-1] if message.parts else None
    return message.role is TOOL or (type(last) is Opaque and type(find_meaning(last)) is Result)


def _kind(first: Message) -> UnitKind:
    role = first.role
    if role is USER:
        return UnitKind.USER
    return UnitKind.SYSTEM if role is SYSTEM or role is DEVELOPER else UnitKind.ASSISTANT


def _reach(messages: Sequence[Message]) -> dict[int, int]:
    """For every message with calls, the last message that answers one of them."""
    last: dict[int, int] = {}
    for (turn, _), (answer, _) in pair(messages).answers.items():
        last[turn] = max(last.get(turn, 0), answer)
    return last


def _end(messages: Sequence[Message], start: int, reach: dict[int, int]) -> int:
    """Where the unit ends that begins at `start`: behind all results of its calls, and of turns in between."""
    end = place = start + 1
    end = max(end, reach.get(start, 0) + 1)
    while place < end or (place < len(messages) and messages[place].role is TOOL):
        end = max(end, place + 1, reach.get(place, 0) + 1)
        place += 1
    return end
