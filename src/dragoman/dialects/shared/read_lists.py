"""What was read of a list of messages, so that the next list that begins alike need not be read from its beginning.

Agents send the whole conversation on every turn. What is read of an item depends on its bytes and its place alone, and
what is read of a turn on the items of that turn: a list can be continued wherever a model's turn begins.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from dragoman.conversation.messages import Message


class Checkpoint(msgspec.Struct, frozen=True, gc=False):
    """A place in a list before which nothing depends on what follows: a model's turn begins there, or the list ends and
    the model's turn comes next."""

    item: int = 0
    """Items of the list before it."""
    count: int = 0
    """Messages before it."""
    traits: int = 0
    """What is to be seen in these messages, each by itself, and in the pairs of calls and results among them."""
    calls: int = 0
    """Calls before it."""
    parts: int = 0
    """Parts of these messages."""
    asked: Sequence[str] = ()
    """The ids of the last message with calls before it."""


BEGIN = Checkpoint()


class ReadList(msgspec.Struct, frozen=True, gc=False):
    """What was read of a list, for the next one that begins alike."""

    messages: tuple[Message, ...]
    codes: str = ""
    """The letters of their roles."""
    ids: list[str] = []
    """The ids of all calls."""
    all_ids: dict[str, int] = {}
    """Their numbers in this list, or in other turns and branches of the same conversation."""
    checkpoints: list[Checkpoint] = []
    parts: int = 0
    """Parts of all messages."""
    odd_ids: bool = False
    """Whether the ids tell something: one is there twice, or has an odd form."""
    shape: str = ""
    """The letters of the first messages, without rounds that are repeated (`without_rounds`)."""
    shaped: int = 0
    """How many messages these are."""


def are_same(one: Sequence[Message], other: Sequence[Message], count: int) -> bool:
    """Whether the first messages of two requests are the same objects.

    A list is continued from its beginning alone: if one of its messages is the same object, so are all before it.
    Only messages that stand before the list are compared one by one.
    """
    if not 0 < count <= min(len(one), len(other)) or one[count - 1] is not other[count - 1]:
        return False
    for first, second in zip(one, other, strict=False):
        if first.at >= 0:
            return True
        if first is not second:
            return False
    return True


class ListReading(msgspec.Struct):
    """How a list is read that may begin like one that was read before."""

    known: ReadList = msgspec.field(default_factory=lambda: ReadList(()))
    start: Checkpoint = BEGIN
    """Only what follows it is there."""
    place: int = -1
    """The number of this checkpoint."""
    done: ReadList | None = None
    """The whole list, if the next one may be read by it."""
