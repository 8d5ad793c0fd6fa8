"""What was read and compiled of conversations, kept in the process for their next turn.

Agents send the whole conversation on every turn. The text of its messages that was sent last is kept, with what was
made of it, so that the next turn is read and compiled from the place at which it begins to differ. It is found by
comparing texts: no digest is needed, and nothing is taken for something else.

What is kept belongs to one caller, and nobody else can find it. All of it together is bounded by bytes and by time.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Sequence
from threading import RLock
from typing import Any

import msgspec

from dragoman.dialects.shared.read_lists import ReadList
from dragoman.wire.json_reader import split_items

BUDGET = 64 * 1024 * 1024
"""Bytes of all conversations together, if nothing else is configured."""
LIFETIME = 600.0
"""Seconds that a conversation is kept after its last turn."""
LARGEST_SHARE = 4
"""One conversation may take a quarter of the budget; what is larger is read anew on every turn."""
_MESSAGE_BYTES = 1200
"""What a message takes beside its text: its parts, its traits, and its place in lists."""
_MOST_MADE = 4
"""Targets for which what was made of a conversation is kept."""
_STEP = 65536


class Shelf:
    """The conversations of one caller in one dialect, in the order of their texts.

    The text with the longest common beginning is a neighbour in this order.
    """

    __slots__ = ("kept", "texts")

    def __init__(self) -> None:
        self.texts: list[bytes] = []
        self.kept: list[KeptConversation] = []

    def find(self, text: bytes) -> tuple[KeptConversation | None, int]:
        """The conversation that begins most like this text, and how many bytes they have in common."""
        place = bisect_left(self.texts, text)
        best, length = None, 0
        for one in self.kept[max(place - 1, 0) : place + 1]:
            common = count_common(one.text, text)
            if common > length:
                best, length = one, common
        return best, length

    def add(self, one: KeptConversation) -> KeptConversation | None:
        """Put a conversation in its place. Returns the one with the same text, which it replaces."""
        place = bisect_left(self.texts, one.text)
        if place < len(self.texts) and self.texts[place] == one.text:
            before, self.kept[place] = self.kept[place], one
            return before
        self.texts.insert(place, one.text)
        self.kept.insert(place, one)
        return None

    def remove(self, one: KeptConversation) -> None:
        place = bisect_left(self.texts, one.text)
        if place < len(self.kept) and self.kept[place] is one:
            del self.texts[place], self.kept[place]


class KeptConversation:
    """One conversation as it was sent last."""

    __slots__ = ("ends", "made", "made_sizes", "owner", "read", "shelf", "size", "text", "used")

    def __init__(self, owner: str, shelf: Shelf, text: bytes, read: ReadList, ends: list[int], used: float) -> None:
        self.owner = owner
        """Whose it is."""
        self.shelf = shelf
        """Where it stands."""
        self.text = text
        """The JSON text of its list of messages."""
        self.read = read
        """What was read of it."""
        self.used = used
        """When its last turn came."""
        self.ends = ends
        """Where the items before each checkpoint end in the text. The last ones are found when the next turn comes."""
        self.made: dict[Any, Any] = {}
        """What was made of it, for each target."""
        self.made_sizes: dict[Any, int] = {}
        """Bytes of what was made."""
        self.size = 2 * len(text) + _MESSAGE_BYTES * len(read.messages)

    def checkpoint_within(self, length: int) -> int:
        """The last checkpoint in the first bytes of the text, by its number; -1 if there is none."""
        ends, checkpoints = self.ends, self.read.checkpoints
        if len(ends) < len(checkpoints):
            known = len(ends)
            first, begin = (checkpoints[known - 1].item, ends[-1]) if known else (0, 0)
            numbers = [one.item - first for one in checkpoints[known:]]
            self.ends = ends = [*ends, *find_ends(self.text, numbers, begin)]
        return bisect_right(ends, length) - 1


class CallerMemory(msgspec.Struct, frozen=True):
    """The memory, for the conversations of one caller."""

    memory: ConversationMemory
    owner: str
    era: int
    """What was asked for before the memory was told to forget is not kept after it."""

    def find(self, dialect: str, text: bytes) -> tuple[KeptConversation | None, int]:
        """The conversation that begins most like this text, and how many bytes they have in common."""
        return self.memory.find(self.owner, dialect, text)

    def keep(self, dialect: str, text: bytes, read: ReadList, ends: Sequence[int] = ()) -> KeptConversation | None:
        """Remember a conversation. `ends`: where its first checkpoints are. None if it is not kept."""
        return self.memory.keep(self, dialect, text, read, ends)


class ConversationMemory:
    """The conversations that a process remembers."""

    __slots__ = ("_beside", "_clock", "_era", "_kept", "_lifetime", "_lock", "_shelves", "budget", "held")

    def __init__(
        self,
        budget: int = BUDGET,
        lifetime: float = LIFETIME,
        clock: Callable[[], float] = lambda: 0.0,
        beside: Callable[[], int] = lambda: 0,
    ) -> None:
        """`clock`: seconds; without one nothing grows old. `beside`: bytes of the budget that others hold, and that
        go before everything here."""
        self.budget = budget
        """Bytes that it may hold."""
        self._beside = beside
        self._lifetime = lifetime
        self._clock = clock
        self._lock = RLock()  # large requests are read in a thread of their own
        self._shelves: dict[tuple[str, str], Shelf] = {}
        self._kept: dict[int, KeptConversation] = {}
        self._era = 0
        self.held = 0
        """Bytes that it holds now."""

    def __len__(self) -> int:
        return len(self._kept)

    def of(self, owner: str) -> CallerMemory:
        """The memory for one caller. What it keeps is found by this caller alone."""
        return CallerMemory(self, owner, self._era)

    def find(self, owner: str, dialect: str, text: bytes) -> tuple[KeptConversation | None, int]:
        """The caller's conversation that begins most like this text, and how many bytes they have in common."""
        with self._lock:
            self._drop_old()
            shelf = self._shelves.get((owner, dialect))
            return (None, 0) if shelf is None else shelf.find(text)

    def keep(
        self, caller: CallerMemory, dialect: str, text: bytes, read: ReadList, ends: Sequence[int]
    ) -> KeptConversation | None:
        """Remember a conversation of a caller; see there. None if it is too large, or was to be forgotten."""
        with self._lock:
            shelf = self._shelves.get((caller.owner, dialect)) or Shelf()
            one = KeptConversation(caller.owner, shelf, text, read, list(ends), self._clock())
            if one.size > self.budget // LARGEST_SHARE or caller.era != self._era:
                return None
            self._shelves[caller.owner, dialect] = shelf
            before = shelf.add(one)
            if before is not None:
                self._uncount(before)
            self._kept[id(one)] = one
            self._count(one.size)
            return one

    def inherit(self, one: KeptConversation, before: KeptConversation) -> None:
        """Give a conversation what was made of it on the turn before."""
        for key, made in tuple(before.made.items()):
            self.keep_made(one, key, made, before.made_sizes[key])

    def keep_made(self, one: KeptConversation, key: Any, made: Any, size: int) -> None:
        """Keep what was made of a conversation, with it."""
        with self._lock:
            if id(one) not in self._kept:
                return
            more = size - one.made_sizes.pop(key, 0)
            one.made.pop(key, None)
            one.made[key], one.made_sizes[key] = made, size
            if len(one.made) > _MOST_MADE:
                oldest = next(iter(one.made))
                del one.made[oldest]
                more -= one.made_sizes.pop(oldest)
            one.size += more
            self._count(more)

    def _count(self, size: int) -> None:
        """Count more bytes, and drop what was used longest ago if there is no room."""
        self.held += size
        while self._kept and self.held > self.budget - self._beside():
            self._remove(next(iter(self._kept.values())))

    def drop(self, one: KeptConversation) -> None:
        """Forget a conversation: another one has taken its place."""
        with self._lock:
            if id(one) in self._kept:
                self._remove(one)

    def forget(self, owner: str | None = None) -> int:
        """Forget the conversations of a caller; all, for None. Returns how many there were."""
        with self._lock:
            self._era += 1
            gone = [one for one in self._kept.values() if owner is None or one.owner == owner]
            for one in gone:
                self._remove(one)
            self._shelves = {key: shelf for key, shelf in self._shelves.items() if shelf.kept}
            return len(gone)

    def _drop_old(self) -> None:
        end = self._clock() - self._lifetime
        while self._kept and (first := next(iter(self._kept.values()))).used < end:
            self._remove(first)

    def _remove(self, one: KeptConversation) -> None:
        one.shelf.remove(one)
        self._uncount(one)

    def _uncount(self, one: KeptConversation) -> None:
        del self._kept[id(one)]
        self.held -= one.size


def count_common(one: bytes, other: bytes) -> int:
    """With how many equal bytes two texts begin. Comparing slices runs at the speed of memory."""
    at, end, step = 0, min(len(one), len(other)), _STEP
    while at < end and step:
        if other.startswith(one[at : min(at + step, end)], at):
            at += step
        else:
            step //= 2
    return min(at, end)


_BETWEEN = b" \t\r\n,"


def find_ends(text: bytes, numbers: Sequence[int], begin: int = 0) -> list[int]:
    """Where the items before each of these items end in the text of a JSON list, counted from `begin`: the list's own
    beginning, or the end of one of its items. The numbers rise, and begin above 0."""
    ends: list[int] = []
    wanted = iter(numbers)
    number, at = next(wanted), begin
    for index, item in enumerate(split_items(b"[" + text[begin:].lstrip(_BETWEEN) if begin else text)):
        if index == number:
            ends.append(at)
            number = next(wanted, -1)
            if number < 0:
                break
        at = text.index(item, at) + len(item)
    return ends
