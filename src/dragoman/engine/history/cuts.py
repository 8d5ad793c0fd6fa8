"""Where a long history is cut.

The cuts of a conversation follow from its beginning alone. A walk from the first unit to the last looks at every place
where a request was sent; where that request was too large, a cut is made with what was known there. The next turn makes
the same walk over the same beginning and finds the same cuts, so the sent prefix stays the same bytes from one cut to
the next. Each cut frees a large step, so cuts are rare.

A cut that was made is kept by the digest of the units that it saw: estimates that have become better since then move
only cuts that are still to come.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Sequence
from hashlib import blake2b

import msgspec

from dragoman.conversation.messages import TOOL, Message
from dragoman.conversation.parts import Call, Part, Reasoning, Result, Text
from dragoman.engine.history.policy import TrimPolicy
from dragoman.engine.history.sizes import BYTES_PER_TOKEN, Size
from dragoman.engine.history.units import Unit, UnitKind

_LEAST_BUDGET, _MOST_BUDGET = 2_000, 32_000
"""The bounds of the budget from which the limits of old messages are worked out, in tokens."""
_LEAST_LIMIT = 50
"""No message is shortened below this, in tokens."""


class Limit(msgspec.Struct, frozen=True, gc=False, array_like=True):
    """The most that a message and a result of one unit may hold, in bytes."""

    message: int
    result: int


class Cut(msgspec.Struct, frozen=True, array_like=True):
    """What was cut when a conversation had `units` units, whose digest is `digest`.

    `kept` are the turns among them that stayed; instructions always stay. `limits`: what each turn that was shortened
    may hold. The units before `oldest` have their smallest limits, those before `old` the limits of old ones.
    """

    units: int
    digest: str
    kept: tuple[int, ...]
    limits: dict[int, Limit]
    oldest: int = 0
    old: int = 0


class Measured(msgspec.Struct, frozen=True):
    """A conversation as the cutter sees it. `costs` are the bytes of each unit. `fixed` are those that no cut can free:
    tools and instructions. `bytes_per_token`: what one token holds on this target."""

    messages: Sequence[Message]
    units: tuple[Unit, ...]
    sizes: Sequence[Size]
    costs: Sequence[int]
    fixed: int
    bytes_per_token: float = BYTES_PER_TOKEN


def find_cut(measured: Measured, policy: TrimPolicy, kept: Iterable[Cut] = ()) -> Cut | None:
    """The cut in force at the end of this conversation; None: it is whole. `kept` are cuts of earlier turns."""
    if not policy.max_history_tokens and not policy.window:
        return None
    walk = _Walk(measured, policy)
    digests = PrefixDigests(measured)
    for cut in sorted(kept, key=_seen_units):
        if 0 < cut.units <= len(measured.units) and cut.digest == digests.of(cut.units):
            walk.resume(cut)
    return walk.run(digests)


def _seen_units(cut: Cut) -> int:
    return cut.units


class PrefixDigests:
    """Digests of the first units of a conversation: of who speaks, and every word, call and result.

    Ask for longer and longer prefixes: each goes on where the last one ended.
    """

    def __init__(self, measured: Measured) -> None:
        self._measured = measured
        self._hash = blake2b(digest_size=16)
        self._done = 0

    def of(self, units: int) -> str:
        end = self._measured.units[units - 1].end if units else 0
        update = self._hash.update
        for message in self._measured.messages[self._done : end]:
            update(b"\x01".join([message.role.encode(), *_words(message.parts), b"\x00"]))
        self._done = max(self._done, end)
        return self._hash.hexdigest()


def _words(parts: Iterable[Part]) -> list[bytes]:
    words: list[bytes] = []
    for part in parts:
        if type(part) is Text:
            words.append(part.literal)
        elif type(part) is Call:
            words += (part.name.encode("utf-8", "replace"), part.arguments)
        elif type(part) is Result:
            words += (b"\x02", *_words(part.parts))
        elif type(part) is not Reasoning:  # what the client returns of its reasoning may differ from turn to turn
            words.append(type(part).__name__.encode())
    return words


class _Walk:
    """One walk over the units: which turns are still there, what they cost, and the cut in force.

    A cut looks only at turns that are still there, and these fit the budget: the walk stays linear however many cuts
    there are.
    """

    def __init__(self, measured: Measured, policy: TrimPolicy) -> None:
        self._measured = measured
        self._policy = policy
        self._units = measured.units
        self._price = list(measured.costs)
        self._is_user = [unit.kind is UnitKind.USER for unit in measured.units]
        self._kept: list[int] = []
        self._limits: dict[int, Limit] = {}
        self._oldest = self._old = 0
        self._cut_at = 0
        self._resumed: Cut | None = None
        self._total = 0
        self._next_cut_above = {True: 0, False: 0}
        self._soft = int(policy.max_history_tokens * measured.bytes_per_token)
        self._hard = self._window_left()

    def _window_left(self) -> int:
        """What the window leaves for instructions and turns, in bytes; 0: it is not known."""
        window = int(self._policy.window * self._policy.context_budget * self._measured.bytes_per_token)
        if not window:
            return 0
        return max(1, window - self._measured.fixed)

    def resume(self, cut: Cut) -> None:
        """Go on from a cut that was made before."""
        self._resumed = cut
        for place in range(self._cut_at, cut.units):
            if _is_system(self._units[place]):
                self._instruct(place)
        self._cut_at = cut.units
        self._kept = list(cut.kept)
        self._limits = {}
        self._oldest, self._old = cut.oldest, cut.old
        self._total = sum([self._price[place] for place in cut.kept])
        for place, limit in cut.limits.items():
            self._restrict((place,), limit)
        self._wait()

    def run(self, digests: PrefixDigests) -> Cut | None:
        units, full = self._units, self._full()
        for place in range(self._cut_at, len(units)):
            if _is_system(units[place]):
                self._instruct(place)
                full = self._full()
            else:
                self._kept.append(place)
                self._total += self._price[place]
            if self._total > full and self._is_sent(place) and self._is_due():
                self._make_cut(place)
        if self._resumed is not None and self._resumed.units == self._cut_at:
            return self._resumed
        if not self._cut_at:
            return None
        seen = tuple([place for place in self._kept if place < self._cut_at])
        return Cut(self._cut_at, digests.of(self._cut_at), seen, self._limits, self._oldest, self._old)

    def _full(self) -> int:
        return min(self._soft or self._hard, self._hard or self._soft)

    def _instruct(self, place: int) -> None:
        """Instructions leave less of the window for the turns, from where they stand."""
        if self._hard:
            self._hard = max(1, self._hard - self._price[place])

    def _is_sent(self, place: int) -> bool:
        """Was a request sent after this unit? The model answered, or is to answer now.

        A turn of the model with nothing behind it is the first part of an answer that came in several.
        """
        if place + 1 == len(self._units):
            return True
        unit = self._units[place]
        is_answered = self._units[place + 1].kind is UnitKind.ASSISTANT
        return is_answered and (unit.continues or unit.kind is not UnitKind.ASSISTANT)

    def _is_due(self) -> bool:
        return bool(self._kept) and self._total > self._next_cut_above[self._units[self._kept[-1]].continues]

    def _make_cut(self, end: int) -> None:
        """Shorten old messages, then drop turns. `end` is the last unit that there was, a turn or an instruction."""
        place = self._kept[-1]
        chained = self._units[place].continues
        users = [one for one in self._kept if self._is_user[one]]
        last = users[-1] if users else place
        recent = self._recent(users, chained, place)
        before, marks = self._total, (self._oldest, self._old)
        self._shorten(recent)
        if self._soft and not chained:
            self._drop(self._lowered(self._soft), min(recent, last))
            self._drop(self._lowered(self._soft), last)
        if self._hard and self._total > self._hard:
            self._drop(self._lowered(self._hard), last)
            self._drop(self._lowered(self._hard), place, spared=last)
        if self._hard and self._total > self._hard:
            self._squeeze(last)
        if self._total < before:
            self._cut_at = end + 1
        else:
            self._oldest, self._old = marks  # nothing was cut: the cut in force stays what it was
        self._wait()

    def _recent(self, users: list[int], chained: bool, place: int) -> int:
        """The first unit that is not shortened."""
        policy = self._policy
        spared = policy.keep_recent_user_turns_in_chained_tool_calls if chained else policy.keep_recent_exchanges
        if spared <= 0:
            return place
        return users[-spared] if spared <= len(users) else 0

    def _wait(self) -> None:
        """Where a cut cannot free enough, the next one of its kind waits until there is something new to cut.

        While the model works through calls less may be cut; a turn of the user's is not made to wait for that.
        """
        step = int(self._full() * self._policy.step)
        self._next_cut_above[True] = self._total + step
        is_chained = bool(self._kept) and self._units[self._kept[-1]].continues
        self._next_cut_above[False] = 0 if is_chained else self._total + step

    def _lowered(self, budget: int) -> int:
        return int(budget * (1 - self._policy.step))

    def _shorten(self, recent: int) -> None:
        """Give turns that have become old their limit, and those that were old the smaller one of the oldest."""
        turns = self._kept
        first, middle, last = [bisect_left(turns, place) for place in (self._oldest, self._old, recent)]
        limits = _Limits(self._policy, self._messages_in(turns[:last]), self._measured.bytes_per_token)
        self._restrict(turns[first:middle], limits.oldest)
        self._restrict(turns[middle:last], limits.old)
        self._oldest, self._old = self._old, max(self._old, recent)

    def _messages_in(self, places: Sequence[int]) -> int:
        return max(1, sum([self._units[place].end - self._units[place].start for place in places]))

    def _squeeze(self, last: int) -> None:
        """What is left does not fit the window: all but the user's last words share what there is."""
        left = [place for place in self._kept if place != last]
        each = max(
            self._lowered(self._hard) // self._messages_in(left), int(_LEAST_LIMIT * self._measured.bytes_per_token)
        )
        self._restrict(left, Limit(each, each))

    def _restrict(self, places: Iterable[int], limit: Limit) -> None:
        """Give turns a limit, where that makes them smaller."""
        prices, least = self._price, min(limit.message, limit.result)
        for place in places:
            before = prices[place]
            if before <= least:
                continue
            price = self._shortened_cost(self._units[place], limit)
            if price < before:
                self._total += price - before
                prices[place] = price
                self._limits[place] = limit

    def _shortened_cost(self, unit: Unit, limit: Limit) -> int:
        sizes, messages = self._measured.sizes, self._measured.messages
        if unit.end == unit.start + 1:
            return shortened_size(sizes[unit.start], messages[unit.start], limit)
        return sum([shortened_size(sizes[at], messages[at], limit) for at in range(unit.start, unit.end)])

    def _drop(self, budget: int, before: int, spared: int = -1) -> None:
        """Drop turns before a place, the oldest first, until the budget holds; and answers whose question has left."""
        gone = 0
        stays: list[int] = []
        for place in self._kept:
            orphaned = gone and not stays and self._units[place].kind is UnitKind.ASSISTANT
            if place >= before or not (self._total > budget or orphaned):
                break
            gone += 1
            if place == spared:
                stays.append(place)
                continue
            self._total -= self._price[place]
            self._limits.pop(place, None)
        self._kept[:gone] = stays


def _is_system(unit: Unit) -> bool:
    return unit.kind is UnitKind.SYSTEM


def unit_costs(units: Iterable[Unit], sizes: Sequence[Size]) -> list[int]:
    totals = [size.total for size in sizes]
    return [totals[unit.start] if unit.end == unit.start + 1 else sum(totals[unit.start : unit.end]) for unit in units]


class _Limits:
    """The limits of old messages, and of the oldest: worked out from the budget and their number, or configured."""

    def __init__(self, policy: TrimPolicy, count: int, bytes_per_token: float) -> None:
        budget = min(max(policy.max_history_tokens or policy.window, _LEAST_BUDGET), _MOST_BUDGET)
        share = max(budget / count, _LEAST_LIMIT)
        self._scale = bytes_per_token
        self.old = Limit(
            self._bytes(policy.old_message_max_tokens, share * 1.5),
            self._bytes(policy.old_tool_result_max_tokens, share * 0.75),
        )
        self.oldest = Limit(
            self._bytes(policy.oldest_message_max_tokens, share * 0.5),
            self._bytes(policy.oldest_tool_result_max_tokens, share * 0.25),
        )

    def _bytes(self, configured: int | None, worked_out: float) -> int:
        """What is configured holds as it is."""
        return int((configured or max(worked_out, _LEAST_LIMIT)) * self._scale)


def shortened_size(size: Size, message: Message, limit: Limit) -> int:
    """What a message costs with its limits: what is not plain text stays."""
    most = limit.result if message.role is TOOL else limit.message
    if size.total <= most:
        return size.total
    return most if most > size.fixed else size.fixed
