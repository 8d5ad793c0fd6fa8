"""What was read and compiled of conversations, kept in the process for their next turn.

Agents send the whole conversation on every turn. The text of its messages that was sent last is kept, with what was
made of it, so that the next turn is read and compiled from the place at which it begins to differ. It is found by
comparing texts: no digest is needed, and nothing is taken for something else.

What is kept belongs to one caller, and nobody else can find it. All of it together is bounded by bytes and by time.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Sequence
from itertools import accumulate
from threading import RLock
from typing import Any, NamedTuple

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
_STALE = 5
"""Checkpoints at the end of a conversation, its end among them, after which its next turn may differ: then it is the
same one, and is replaced. With more it is another branch, and both are kept."""
_MOST_MADE = 8
"""Things that were made of a conversation and are kept, such as its text for a target."""
_GLANCE = 16 * 1024
"""Bytes by which a conversation is found if no other begins with them."""
_LIST, _LIST_END = b"[]"
_SPACES = b" \t\r\n"
_STEP = 65536
_LONG = 16 * 1024
"""Bytes by which the head of a conversation grows at once."""


class KnownTop(msgspec.Struct, frozen=True, gc=False):
    """What stands around the list of messages in a body."""

    before: bytes = b""
    """The text of the body up to the list."""
    after: bytes = b""
    """Its text after the list."""
    members: dict[str, Any] = {}
    """Its members in their order, each as `bytes`, whose hash is known. The list is an empty text among them."""
    found: dict[Any, tuple[Any, ...]] = {}
    """What was searched for in both texts, and what was found there."""

    def search(self, key: Any, search: Callable[[bytes], tuple[Any, ...]]) -> tuple[Any, ...]:
        """What a search finds in both texts. `key`: by which it is known what was found the last time."""
        if key not in self.found:
            self.found[key] = search(self.before) + search(self.after)
        return self.found[key]

    def fits(self, body: bytes) -> bool:
        """Whether a body begins and ends alike. If what is between is one JSON value, it has the same members."""
        begin, end = len(self.before), len(body) - len(self.after)
        if begin + 2 > end or not self.members or body[begin] != _LIST or body[end - 1] != _LIST_END:
            return False
        return body.endswith(self.after) and body.startswith(self.before)


class Shelf(msgspec.Struct, eq=False):
    """The conversations of one caller in one dialect.

    The one that came last is likely to be the next. The others are in the order of their texts: the text with the
    longest common beginning is a neighbour in this order.
    """

    texts: list[bytes] = []
    kept: list[KeptConversation] = []
    last: KeptConversation | None = None

    def find(self, body: bytes, begin: int) -> tuple[KeptConversation | None, int]:
        """The conversation that begins most like the text at this place of a body, and how many bytes they have in
        common; at least those before the last checkpoint that they have in common."""
        last = self.last
        if last is not None and last.head and body.startswith(last.head, begin):
            return last, last.count_common(body, begin)
        likely = self._glance(body[begin : begin + _GLANCE])
        if likely is not None and likely.head and body.startswith(likely.head, begin):
            return likely, likely.count_common(body, begin)
        text = body[begin:]
        place = bisect_left(self.texts, text)
        best, length = None, 0
        for one in (*self.kept[max(place - 1, 0) : place + 1], last):
            # the head of the last one is not there, so both differ in it: its whole text need not be made
            common = 0 if one is None else count_common(one.text if one is not last else one.head or one.tail, text)
            if common > length:
                best, length = one, common
        return best, length

    def _glance(self, start: bytes) -> KeptConversation | None:
        """The only conversation whose text starts so."""
        texts = self.texts
        place = bisect_left(texts, start)
        alone = len(texts) <= place + 1 or not texts[place + 1].startswith(start)
        return self.kept[place] if place < len(texts) and alone and texts[place].startswith(start) else None

    def add(self, one: KeptConversation, instead: KeptConversation | None) -> list[KeptConversation]:
        """Take in a conversation, in place of another one. Returns those that are gone."""
        gone = [] if instead is None else [instead]
        if instead is not None:
            self.remove(instead)
        last, self.last = self.last, one
        if last is not None:
            text = last.text
            place = bisect_left(self.texts, text)
            if place < len(self.texts) and self.texts[place] == text:
                gone.append(self.kept[place])
                self.kept[place] = last
            else:
                self.texts.insert(place, text)
                self.kept.insert(place, last)
        return gone

    def remove(self, one: KeptConversation) -> None:
        if self.last is one:
            self.last = None
            return
        place = bisect_left(self.texts, one.text)
        if place < len(self.kept) and self.kept[place] is one:
            del self.texts[place], self.kept[place]


class KeptConversation(msgspec.Struct, eq=False):
    """One conversation as it was sent last."""

    owner: str
    """Whose it is."""
    shelf: Shelf
    """Where it stands."""
    top: KnownTop
    """What stood around it in its body."""
    read: ReadList
    """What was read of it."""
    used: float
    """When its last turn came."""
    head: bytes
    """The beginning of the JSON text of its list of messages, which two turns had in common."""
    tail: bytes
    """The rest of it."""
    ends: list[int]
    """Where the items before each checkpoint end in the text. The last ones are found when the next turn comes."""
    size: int
    """Bytes that it takes, with what was made of it."""
    found: dict[Any, tuple[int, tuple[Any, ...]]] = {}
    """What was searched for in the beginning of its text, how far, and what was found there."""
    made: dict[Any, Any] = {}
    """What was made of it, for each target."""
    made_sizes: dict[Any, int] = {}
    """Bytes of what was made."""
    _text: bytes | None = None

    @property
    def text(self) -> bytes:
        """The JSON text of its list of messages."""
        if self._text is None:
            self._text = self.head + self.tail
        return self._text

    def search_head(self, key: Any, search: Callable[[bytes], tuple[Any, ...]]) -> tuple[Any, ...]:
        """What a search finds in the items of the head, each by itself. Only those are searched that came since the
        last time. `key`: by which it is known what was found then."""
        end, found = self.found.get(key, (0, ()))
        if end < len(self.head):
            found += search(self.head[end:])
            self.found[key] = len(self.head), found
        return found

    def count_common(self, body: bytes, begin: int) -> int:
        """How many bytes of the text stand at this place of a body too, of those that checkpoints end. It begins with
        the same head."""
        self.checkpoint_within(0)
        at = len(self.head)
        ends = self.ends[bisect_right(self.ends, at) :]

        def differs(end: int) -> bool:
            return not body.startswith(self.tail[: end - at], begin + at)

        for end in ends[: -_STALE - 1 : -1]:  # nearly always
            if not differs(end):
                return end
        common = bisect_left(ends, True, key=differs)
        return ends[common - 1] if common else at

    def checkpoint_within(self, length: int) -> int:
        """The last checkpoint in the first bytes of the text, by its number; -1 if there is none."""
        ends, checkpoints = self.ends, self.read.checkpoints
        known, skipped = len(ends), len(self.head)
        if known == len(checkpoints) - 1 and checkpoints[-1].count == len(self.read.messages):
            self.ends = ends = [*ends, skipped + len(self.tail[:-1].rstrip(_SPACES))]
        elif known < len(checkpoints):
            first, begin = (checkpoints[known - 1].item, ends[-1] - skipped) if known else (0, 0)
            numbers = [one.item - first for one in checkpoints[known:]]
            self.ends = ends = [*ends, *[end + skipped for end in find_ends(self.tail, numbers, begin, bool(known))]]
        return bisect_right(ends, length) - 1


class SentList(NamedTuple):
    """The text of a list of messages, in a body."""

    body: bytes
    begin: int
    end: int

    def cut(self, begin: int, end: int | None = None) -> bytes:
        """A piece of the text."""
        return self.body[self.begin + begin : self.end if end is None else self.begin + end]


class ReadConversation(NamedTuple):
    """A turn of a conversation, once it was read."""

    top: KnownTop
    """What stands around its list of messages."""
    sent: SentList
    read: ReadList
    """What was read of the list."""


class CallerMemory(msgspec.Struct, frozen=True):
    """The memory, for the conversations of one caller."""

    memory: ConversationMemory
    owner: str
    era: int
    """What was asked for before the memory was told to forget is not kept after it."""

    def find_shelf(self, dialect: str) -> Shelf | None:
        """The caller's conversations in a dialect, if there are any."""
        return self.memory.shelves.get((self.owner, dialect))

    def find(self, dialect: str, body: bytes, begin: int = 0) -> tuple[KeptConversation | None, int]:
        """The conversation that begins most like the text at this place of a body, and how much they have in common."""
        return self.memory.find(self.owner, dialect, body, begin)

    def keep(
        self, dialect: str, found: ReadConversation, before: KeptConversation | None = None, place: int = -1
    ) -> KeptConversation | None:
        """Remember a conversation. `before` is what it continues, from the checkpoint with this number. If only its
        last turns are gone, it is replaced. None if it is not kept."""
        return self.memory.keep(self, dialect, found, before, place)


class ConversationMemory:
    """The conversations that a process remembers."""

    __slots__ = ("_beside", "_clock", "_era", "_kept", "_lifetime", "budget", "held", "lock", "shelves")

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
        self.lock = RLock()  # large requests are read in a thread of their own
        self.shelves: dict[tuple[str, str], Shelf] = {}
        self._kept: dict[int, KeptConversation] = {}
        self._era = 0
        self.held = 0
        """Bytes that it holds now."""

    def __len__(self) -> int:
        return len(self._kept)

    def of(self, owner: str) -> CallerMemory:
        """The memory for one caller. What it keeps is found by this caller alone."""
        return CallerMemory(self, owner, self._era)

    def find(self, owner: str, dialect: str, body: bytes, begin: int) -> tuple[KeptConversation | None, int]:
        """What a caller finds; see there."""
        with self.lock:
            self._drop_old()
            shelf = self.shelves.get((owner, dialect))
            return (None, 0) if shelf is None else shelf.find(body, begin)

    def keep(
        self,
        caller: CallerMemory,
        dialect: str,
        found: ReadConversation,
        before: KeptConversation | None,
        place: int,
    ) -> KeptConversation | None:
        """Remember a conversation of a caller; see there. None if it is too large, or was to be forgotten."""
        with self.lock:
            one = self._make(caller.owner, dialect, found, before, place)
            if one.size > self.budget // LARGEST_SHARE or caller.era != self._era:
                return None
            same = before is not None and len(before.read.checkpoints) - place <= _STALE and id(before) in self._kept
            if before is not None:  # what was made on the turn before, of which a request may still be under way
                one.made, one.made_sizes = before.made.copy(), before.made_sizes.copy()
                one.size += sum(one.made_sizes.values())
            self.shelves[caller.owner, dialect] = one.shelf
            for gone in one.shelf.add(one, before if same else None):
                self._uncount(gone)
            self._kept[id(one)] = one
            self._count(one.size)
            return one

    def _make(
        self, owner: str, dialect: str, found: ReadConversation, before: KeptConversation | None, place: int
    ) -> KeptConversation:
        top, sent, read = found
        shelf = self.shelves.get((owner, dialect)) or Shelf()
        ends: list[int] = []
        head, searched = b"", dict[Any, tuple[int, tuple[Any, ...]]]()
        if before is not None:
            ends = before.ends[: place + 1]
            if ends and len(before.head) <= ends[-1]:
                head, searched = before.head, before.found.copy()
        if ends and ends[-1] - len(head) > _LONG:
            head = sent.cut(0, ends[-1])
        tail = sent.cut(len(head))
        length = 3 * (len(head) + len(tail)) + 2 * (len(top.before) + len(top.after))
        size = length + _MESSAGE_BYTES * len(read.messages)
        return KeptConversation(
            owner=owner,
            shelf=shelf,
            top=top,
            read=read,
            used=self._clock(),
            head=head,
            tail=tail,
            ends=ends,
            size=size,
            found=searched,
        )

    def keep_made(self, one: KeptConversation, key: Any, made: Any, size: int) -> None:
        """Keep what was made of a conversation, with it."""
        with self.lock:
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
        with self.lock:
            self._era += 1
            gone = [one for one in self._kept.values() if owner is None or one.owner == owner]
            for one in gone:
                self._remove(one)
            self.shelves = {key: shelf for key, shelf in self.shelves.items() if shelf.kept or shelf.last}
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


_BETWEEN = re.compile(rb"[ \t\r\n,]*+")


def list_items(text: bytes) -> bytes:
    """The text of items as a JSON list: the beginning of one, or what follows the end of an item."""
    return text + b"]" if text.startswith(b"[") else b"[%b]" % text[_BETWEEN.match(text).end() :]  # type: ignore[union-attr]


def find_ends(text: bytes, numbers: Sequence[int], begin: int = 0, inside: bool = False) -> list[int]:
    """Where the items before each of these items end in the text of a JSON list, counted from `begin`: the list's own
    beginning, or, `inside` it, the end of one of its items. The numbers rise, and begin above 0; the last may be that
    of all items."""
    skip = _BETWEEN.match
    first = skip(text, begin).end() if inside else 0  # type: ignore[union-attr]
    sizes = list(map(len, split_items(b"[" + text[first:] if inside else text)))
    if begin + sum(sizes) + len(sizes) + 1 == len(text):  # nothing but a comma is between two of them
        before = list(accumulate(sizes, initial=0))
        return [begin + number + before[number] for number in numbers]
    at, ends = begin, [begin]
    for size in sizes:
        at = skip(text, at or 1).end() + size  # type: ignore[union-attr]
        ends.append(at)
    return [ends[number] for number in numbers]
