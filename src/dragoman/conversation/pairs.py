"""Which result answers which call.

A result answers the latest turn before it that has a call of its id without an answer; in that turn, the first one.
A block of a tool that the client runs counts as the call or the result that it means.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence

import msgspec

from dragoman.conversation.messages import Message
from dragoman.conversation.parts import Call, Opaque, Part, Result

Spot = tuple[int, int]
"""A message and one of its parts, by index."""


class Pairs(msgspec.Struct):
    """Which result belongs to which call."""

    answers: dict[Spot, Spot]
    """Call → result."""
    orphans: list[Spot]
    """Results without a call."""
    repeats: list[Spot]
    """Results of a call that has one."""
    unanswered: list[Spot]


def pair(messages: Sequence[Message]) -> Pairs:
    """The index of calls and results, from one walk."""
    answers: dict[Spot, Spot] = {}
    orphans: list[Spot] = []
    repeats: list[Spot] = []
    open_calls: dict[str, list[deque[Spot]]] = {}
    known: set[str] = set()
    for at, message in enumerate(messages):
        for index, part in enumerate(message.parts):
            if type(part) is Opaque:
                part = find_meaning(part)
            if type(part) is Call:
                _open(open_calls.setdefault(part.id, []), (at, index))
                known.add(part.id)
            elif type(part) is Result:
                waiting = open_calls.get(part.call_id)
                if waiting:
                    answers[_take(waiting)] = (at, index)
                elif part.call_id in known:
                    repeats.append((at, index))
                else:
                    orphans.append((at, index))
    unanswered = sorted(spot for turns in open_calls.values() for spots in turns for spot in spots)
    return Pairs(answers, orphans, repeats, unanswered)


def find_meaning(part: Opaque) -> Part:
    """The call or the result that a block stands for; the block itself if it stands for none, or for several."""
    return part.meant[0] if part.meant and len(part.meant) == 1 else part


def _open(turns: list[deque[Spot]], call: Spot) -> None:
    """A call waits beside those of its turn that have the same id."""
    if turns and turns[-1][0][0] == call[0]:
        turns[-1].append(call)
    else:
        turns.append(deque([call]))


def _take(turns: list[deque[Spot]]) -> Spot:
    """The first call of the latest turn."""
    call = turns[-1].popleft()
    if not turns[-1]:
        turns.pop()
    return call
