"""A conversation as units: what may only stay together or leave together.

Instructions, a user's turn, an assistant's turn with its reasoning, its calls and all their results. Cutting whole
units never parts a call from its result.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum

import msgspec

from dragoman.conversation.conversation import SYSTEM_ROLES
from dragoman.conversation.messages import ASSISTANT, TOOL, USER, Message
from dragoman.conversation.pairs import pair
from dragoman.conversation.parts import Call, Result


class UnitKind(StrEnum):
    """`system`: instructions, which are never cut. `user`: what a person said. `assistant`: a turn of the model, with
    the results of its calls."""

    SYSTEM = "system"
    USER = "user"
    ASSISTANT = "assistant"


class Unit(msgspec.Struct, frozen=True, gc=False):
    """The messages from `start` up to `end`. `continues`: it ends with results, which the model has yet to answer."""

    kind: UnitKind
    start: int
    end: int
    continues: bool = False


def units_of(messages: Sequence[Message]) -> tuple[Unit, ...]:
    """The units of a conversation, in order. Every message belongs to exactly one."""
    reach = _reach(messages)
    units: list[Unit] = []
    start = 0
    while start < len(messages):
        end = _end(messages, start, reach)
        kind = _kind(messages[start])
        units.append(Unit(kind, start, end, messages[end - 1].role is TOOL))
        start = end
    return tuple(units)


def _kind(first: Message) -> UnitKind:
    if first.role in SYSTEM_ROLES:
        return UnitKind.SYSTEM
    return UnitKind.USER if first.role is USER else UnitKind.ASSISTANT


def _reach(messages: Sequence[Message]) -> dict[int, int]:
    """For every message with calls, the last message that answers one of them."""
    if _is_tidy(messages):
        return {}
    last: dict[int, int] = {}
    for (turn, _), (answer, _) in pair(messages).answers.items():
        last[turn] = max(last.get(turn, 0), answer)
    return last


def _is_tidy(messages: Sequence[Message]) -> bool:
    """Do results stand directly behind the turn whose calls they answer? Then they need not be paired."""
    calls: frozenset[str] | set[str] = _NONE
    for message in messages:
        if message.role is TOOL:
            if not calls or not all(type(part) is Result and part.call_id in calls for part in message.parts):
                return False
        else:
            calls = {part.id for part in message.parts if type(part) is Call} if message.role is ASSISTANT else _NONE
    return True


_NONE: frozenset[str] = frozenset()


def _end(messages: Sequence[Message], start: int, reach: dict[int, int]) -> int:
    """Where the unit ends that begins at `start`: behind all results of its calls, and of turns in between."""
    end = place = start + 1
    end = max(end, reach.get(start, 0) + 1)
    while place < end or (place < len(messages) and messages[place].role is TOOL):
        end = max(end, place + 1, reach.get(place, 0) + 1)
        place += 1
    return end
