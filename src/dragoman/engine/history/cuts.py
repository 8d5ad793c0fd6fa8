"""Where a long history is cut.

The cuts of a conversation follow from its beginning alone. A walk from the first unit to the last looks at every place
where a request was sent; if that request was too large, a cut is made with what was known there. The next turn makes
the same walk over the same beginning and finds the same cuts, so the sent prefix stays the same bytes from one cut to
the next. Each cut frees a large step, so cuts are rare.

A cut that was made is kept by the digest of the units that it saw: estimates that have become better since then move
only cuts that are still to come.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Sequence
from hashlib import blake2b

import msgspec

from dragoman.conversation.messages import TOOL, Message
from dragoman.conversation.parts import Call, Part, Reasoning, Result, Text
from dragoman.engine.history.sizes import BYTES_PER_TOKEN, Size
from dragoman.engine.history.trim_policy import MOST_TOKENS, TrimPolicy
from dragoman.engine.history.units import Unit, UnitKind

_LEAST_BUDGET, _MOST_BUDGET = 2_000, 32_000
"""The bounds of the budget from which the limits of old messages are worked out, in tokens."""
_LEAST_LIMIT = 50
"""No message is shortened below this, in tokens."""


class Limit(msgspec.Struct, frozen=True, gc=False, array_like=True):
    """The most that a message and a result of one unit may hold, in bytes."""

    message: int
    result: int

    def raised(self, more: int) -> Limit:
        return Limit(self.message + more, self.result + more)

    def is_within(self, other: Limit) -> bool:
        return self.message <= other.message and self.result <= other.result


class Cut(msgspec.Struct, frozen=True, array_like=True):
    """What was cut of a conversation."""

    units: int
    """How many units the conversation had."""
    digest: str
    """The digest of those units."""
    kept: tuple[int, ...]
    """The turns among them that stayed; instructions always stay."""
    limits: dict[int, Limit]
    """What each turn that was shortened may hold."""


class Measured(msgspec.Struct, frozen=True):
    """A conversation as the cutter sees it."""

    messages: Sequence[Message]
    units: tuple[Unit, ...]
    sizes: Sequence[Size]
    costs: Sequence[int]
    """The bytes of each unit."""
    fixed: int
    """Those that no cut can free: tools and instructions."""
    bytes_per_token: float = BYTES_PER_TOKEN
    """What one token holds on this target."""


def find_cut(measured: Measured, policy: TrimPolicy, kept: Iterable[Cut] = (), break_even: float = 0.0) -> Cut | None:
    """The cut in force at the end of this conversation; None: it is whole. `kept` are cuts of earlier turns.
    `break_even`: how many times more it costs to write a token anew than to read it from the provider's cache."""
    if not policy.max_history_tokens and not policy.window:
        return None
    walk = _Walk(measured, policy, break_even if policy.until_it_pays else 0.0)
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


class _Turns(msgspec.Struct, frozen=True):
    """The turns that a cut finds, in the order in which it takes from them, without the user's last words."""

    old: list[int]
    """Before the recent exchanges, the first words of the user among them, and without the last exchange."""
    recent: list[int]
    """In the recent exchanges."""
    essential: list[int]
    """The first words of the user, and the last question that was answered, with its answer."""
    newest: list[int]
    """What the model did since the user's last words. Like these it never leaves, but it may be shortened."""


class _Walk:
    """One walk over the units: which turns are still there, what they cost, and the cut in force.

    A cut looks only at turns that are still there, and these fit the budget: the walk stays linear however many cuts
    there are.
    """

    def __init__(self, measured: Measured, policy: TrimPolicy, break_even: float) -> None:
        self._measured = measured
        self._policy = policy
        self._break_even = break_even
        self._overdue = 0
        self._units = measured.units
        self._price = list(measured.costs)
        self._is_user = [unit.kind is UnitKind.USER for unit in measured.units]
        self._kept: list[int] = []
        self._limits: dict[int, Limit] = {}
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
        return Cut(self._cut_at, digests.of(self._cut_at), seen, self._limits)

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
        if not self._kept or self._total <= self._next_cut_above[self._units[self._kept[-1]].continues]:
            return False
        return not self._break_even or self._total > min(self._hard or 2 * self._soft, 2 * self._soft) or self._pays()

    def _pays(self) -> bool:
        """Whether reading what a cut takes away has cost as much by now as the cut does, after which what stays is
        written to the provider's cache anew. Nothing waits beyond the window, or beyond twice the budget."""
        goal = self._lower(self._soft)
        self._overdue += self._total - goal
        return self._overdue >= self._break_even * goal

    def _make_cut(self, end: int) -> None:
        """Shorten turns, then drop them. `end` is the last unit that there was, a turn or an instruction."""
        chained = self._units[self._kept[-1]].continues
        turns = self._turns(chained)
        before = self._total
        self._restrict(turns.old, configured_limit(self._policy, self._measured.bytes_per_token))
        if self._soft and chained:
            self._shorten(turns.old, self._lower(self._soft))
        budget = self._hard if chained else self._full()
        if budget and self._total > budget:
            self._fit(turns, budget)
        if self._hard and self._total > self._hard:
            self._fit_window(self._turns(chained))
        if self._total < before:
            self._cut_at = end + 1
        self._wait()

    def _turns(self, chained: bool) -> _Turns:
        """The turns that are there, by how long they are spared."""
        kept, place = self._kept, self._kept[-1]
        users = [one for one in kept if self._is_user[one]]
        waiting = {users[-1] if users else place, place}
        before = bisect_left(kept, min(waiting))
        last = {*users[-2:-1], *kept[max(0, before - 1) : before]} - waiting
        essential = {*users[:1], *last} - waiting
        recent = self._recent(users, chained, place)
        return _Turns(
            old=[one for one in kept if one < recent and one not in waiting and one not in last],
            recent=[one for one in kept if one >= recent and one not in waiting and one not in essential],
            essential=sorted(essential),
            newest=[] if self._is_user[place] else [place],
        )

    def _recent(self, users: list[int], chained: bool, place: int) -> int:
        """The first unit that is not shortened as long as there are older ones. While the model works through calls
        fewer exchanges are spared."""
        policy = self._policy
        spared = policy.keep_recent_user_turns_in_chained_tool_calls if chained else policy.keep_recent_exchanges
        return _first_spared(users, spared, place)

    def _wait(self) -> None:
        """If a cut cannot free enough, the next one of its kind waits until there is something new to cut.

        While the model works through calls less may be cut; a turn of the user's is not made to wait for that. Nothing
        waits beyond the window.
        """
        self._overdue = 0
        above = self._total + int(self._full() * self._policy.step)
        if self._total <= self._hard:
            above = min(above, self._hard)
        is_chained = bool(self._kept) and self._units[self._kept[-1]].continues
        waits = self._total > self._full() and not is_chained
        self._next_cut_above = {True: above, False: above if waits else 0}

    def _lower(self, budget: int) -> int:
        return int(budget * (1 - self._policy.step))

    def _fit(self, turns: _Turns, budget: int) -> None:
        """Make the turns fit a budget, unit by unit and the oldest first. Each kind is shortened before it leaves.

        What is essential stays, and the last exchange stays whole. So does what waits for an answer. If that is more
        than the budget, it is sent all the same.
        """
        goal = self._lower(budget)
        for places in (turns.old, turns.recent):
            self._shorten(places, goal)
            self._drop([place for place in places if place not in turns.essential], budget, goal)

    def _fit_window(self, turns: _Turns) -> None:
        """Nothing is spared but what waits for an answer: the essential is shortened, then the newest results, and what
        is essential leaves last."""
        goal = self._lower(self._hard)
        self._shorten(turns.essential, goal)
        if self._total > self._hard:
            least = int(_LEAST_LIMIT * self._measured.bytes_per_token)
            self._shorten_to(turns.newest, Limit(least, least), goal)
        self._drop(turns.essential, self._hard, self._hard)

    def _shorten(self, places: Sequence[int], goal: int) -> None:
        """Shorten turns, no further than the goal asks for: the older half first, and more than the others."""
        limits = _Limits(self._policy, self._messages_in(self._kept), self._measured.bytes_per_token)
        half = len(places) // 2
        self._shorten_to(places[:half], limits.oldest, goal)
        self._shorten_to(places[half:], limits.old, goal)
        self._shorten_to(places[half:], limits.oldest, goal)

    def _shorten_to(self, places: Iterable[int], limit: Limit, goal: int) -> None:
        for place in places:
            if self._total <= goal:
                return
            if place not in self._limits or not self._limits[place].is_within(limit):
                self._restrict((place,), limit, goal)

    def _messages_in(self, places: Sequence[int]) -> int:
        return max(1, sum([self._units[place].end - self._units[place].start for place in places]))

    def _restrict(self, places: Iterable[int], limit: Limit, goal: int = 0) -> None:
        """Give turns a limit, if that makes them smaller; a looser one, if the goal holds with it too."""
        prices, least = self._price, min(limit.message, limit.result)
        for place in places:
            before = prices[place]
            if before <= least:
                continue
            price, given = self._shortened_cost(self._units[place], limit), limit
            room = before - (self._total - goal)
            if price < room:
                given = self._loosest(self._units[place], limit, room)
                price = self._shortened_cost(self._units[place], given)
            if price < before:
                self._total += price - before
                prices[place] = price
                self._limits[place] = given

    def _loosest(self, unit: Unit, limit: Limit, room: int) -> Limit:
        """The loosest limit with which a turn fits its room, which it does with this one."""
        more = bisect_right(range(room), room, key=lambda more: self._shortened_cost(unit, limit.raised(more)))
        return limit.raised(more - 1)

    def _shortened_cost(self, unit: Unit, limit: Limit) -> int:
        sizes, messages = self._measured.sizes, self._measured.messages
        if unit.end == unit.start + 1:
            return measure_shortened(sizes[unit.start], messages[unit.start], limit)
        return sum([measure_shortened(sizes[at], messages[at], limit) for at in range(unit.start, unit.end)])

    def _drop(self, places: Sequence[int], budget: int, goal: int) -> None:
        """Drop turns, the oldest first, until the budget holds, and go on as long as what is left fills the goal."""
        gone: set[int] = set()
        for place in places:
            left = self._total - self._price[place]
            if self._total <= budget and left < goal:
                break
            gone.add(place)
            self._total = left
            self._limits.pop(place, None)
        if gone:
            self._kept = [place for place in self._kept if place not in gone]


def _first_spared(users: list[int], count: int, place: int) -> int:
    if count <= 0:
        return place
    return users[-count] if count <= len(users) else 0


def _is_system(unit: Unit) -> bool:
    return unit.kind is UnitKind.SYSTEM


def unit_costs(units: Iterable[Unit], sizes: Sequence[Size]) -> list[int]:
    totals = [size.total for size in sizes]
    return [totals[unit.start] if unit.end == unit.start + 1 else sum(totals[unit.start : unit.end]) for unit in units]


def configured_limit(policy: TrimPolicy, bytes_per_token: float) -> Limit:
    """What is configured for old messages. It holds for all of them once there is a cut."""
    message, result = policy.old_message_max_tokens, policy.old_tool_result_max_tokens
    return Limit(*[int((most or MOST_TOKENS) * bytes_per_token) for most in (message, result)])


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


def measure_shortened(size: Size, message: Message, limit: Limit) -> int:
    """What a message costs with its limits: what is not plain text stays."""
    most = limit.result if message.role is TOOL else limit.message
    if size.total <= most:
        return size.total
    return most if most > size.fixed else size.fixed
