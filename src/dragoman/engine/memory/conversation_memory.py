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
_STALE = 4
"""Turns at the end of a conversation that may be missing in its next turn: then it is the same one, and is replaced.
With more it is another branch, and both are kept."""
_MOST_MADE = 5
"""Things that were made of a conversation and are kept, such as its text for a target."""
_STEP = 65536
_FEW = 16
_LONG = 32 * 1024
"""Bytes by which the head of a conversation grows at once."""


class Shelf:
    """The conversations of one caller in one dialect, in the order of their texts.

    The text with the longest common beginning is a neighbour in this order.
    """

    __slots__ = ("kept", "last", "texts")

    def __init__(self) -> None:
        self.texts: list[bytes] = []
        self.kept: list[KeptConversation] = []
        self.last: KeptConversation | None = None
        """The one that came last: its next turn is likely to be the next."""

    def find(self, body: bytes, begin: int) -> tuple[KeptConversation | None, int]:
        """The conversation that begins most like the text at this place of a body, and how many bytes they have in
        common; at least those before the last checkpoint that they have in common."""
        last = self.last
        if last is not None and last.head and body.startswith(last.head, begin):
            return last, last.count_common(body, begin)
        text = body[begin:]
        place = bisect_left(self.texts, text)
        best, length = None, 0
        for one in self.kept[max(place - 1, 0) : place + 1]:
            common = count_common(one.text, text)
            if common > length:
                best, length = one, common
        return best, length

    def add(self, one: KeptConversation, instead: KeptConversation | None) -> KeptConversation | None:
        """Put a conversation in its place, or in that of another one. Returns the one that it replaces."""
        self.last = one
        if instead is not None and instead.text != one.text:
            self.remove(instead)
        place = bisect_left(self.texts, one.text)
        if place < len(self.texts) and self.texts[place] == one.text:
            instead, self.kept[place] = self.kept[place], one
            return instead
        self.texts.insert(place, one.text)
        self.kept.insert(place, one)
        return instead

    def remove(self, one: KeptConversation) -> None:
        if self.last is one:
            self.last = None
        place = self.kept.index(one) if len(self.kept) <= _FEW else bisect_left(self.texts, one.text)
        if place < len(self.kept) and self.kept[place] is one:
            del self.texts[place], self.kept[place]


class KeptConversation:
    """One conversation as it was sent last."""

    __slots__ = ("begin", "ends", "head", "made", "made_sizes", "owner", "read", "shelf", "size", "text", "used")

    def __init__(
        self, owner: str, shelf: Shelf, text: bytes, read: ReadList, ends: list[int], head: bytes, used: float
    ) -> None:
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
        self.head = text[: ends[-1]] if ends and ends[-1] - len(head) > _LONG else head
        """The beginning of the text, which two turns had in common."""
        self.begin = -1
        """Where the list stood in its body."""
        self.made: dict[Any, Any] = {}
        """What was made of it, for each target."""
        self.made_sizes: dict[Any, int] = {}
        """Bytes of what was made."""
        self.size = 3 * len(text) + _MESSAGE_BYTES * len(read.messages)

    def count_common(self, body: bytes, begin: int) -> int:
        """How many bytes of the text stand at this place of a body too, of those that checkpoints end. It begins with
        the same head."""
        self.checkpoint_within(0)
        at = len(self.head)
        for end in self.ends[bisect_right(self.ends, at) :]:
            if not body.startswith(self.text[at:end], begin + at):
                break
            at = end
        return at

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

    def find(self, dialect: str, body: bytes, begin: int = 0) -> tuple[KeptConversation | None, int]:
        """The conversation that begins most like the text at this place of a body, and how much they have in common."""
        return self.memory.find(self.owner, dialect, body, begin)

    def keep(
        self, dialect: str, text: bytes, read: ReadList, before: KeptConversation | None = None, place: int = -1
    ) -> KeptConversation | None:
        """Remember a conversation. `before` is what it continues, from the checkpoint with this number. If only its
        last turns are gone, it is replaced. None if it is not kept."""
        return self.memory.keep(self, dialect, text, read, before, place)


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

    def find_last(self, owner: str, dialect: str) -> KeptConversation | None:
        """The conversation that a caller sent last."""
        shelf = self._shelves.get((owner, dialect))
        return None if shelf is None else shelf.last

    def find_begin(self, owner: str, dialect: str) -> int | None:
        """Where the list of messages stood in the body that a caller sent last; None if nothing is kept."""
        shelf = self._shelves.get((owner, dialect))
        return None if shelf is None else shelf.last.begin if shelf.last is not None else -1

    def find(self, owner: str, dialect: str, body: bytes, begin: int) -> tuple[KeptConversation | None, int]:
        """What a caller finds; see there."""
        with self._lock:
            self._drop_old()
            shelf = self._shelves.get((owner, dialect))
            return (None, 0) if shelf is None else shelf.find(body, begin)

    def keep(
        self,
        caller: CallerMemory,
        dialect: str,
        text: bytes,
        read: ReadList,
        before: KeptConversation | None,
        place: int,
    ) -> KeptConversation | None:
        """Remember a conversation of a caller; see there. None if it is too large, or was to be forgotten."""
        with self._lock:
            shelf = self._shelves.get((caller.owner, dialect)) or Shelf()
            ends, head = ([], b"") if before is None else (before.ends[: place + 1], before.head)
            if not ends or len(head) > ends[-1]:
                head = b""
            one = KeptConversation(caller.owner, shelf, text, read, ends, head, self._clock())
            if one.size > self.budget // LARGEST_SHARE or caller.era != self._era:
                return None
            self._shelves[caller.owner, dialect] = shelf
            same = before is not None and len(before.read.checkpoints) - place <= _STALE and id(before) in self._kept
            replaced = shelf.add(one, before if same else None)
            if replaced is not None:
                self._uncount(replaced)
            self._kept[id(one)] = one
            self._count(one.size)
            if before is not None:
                self._inherit(one, before)
            return one

    def _inherit(self, one: KeptConversation, before: KeptConversation) -> None:
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
