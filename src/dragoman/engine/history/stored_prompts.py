"""Prompts that a provider keeps under a name, and takes money for by the hour: whether that pays, and who uses them.

A provider that finds a repeated beginning by itself takes nothing for it, and promises nothing. So it is looked at how
much a session reads unaided, by the provider's own counts. If that is so little that the turns ahead pay for sending
the prompt once more and for the hours, it is stored. The session alone uses it, as long as it goes on as it was stored.
Nothing of a prompt is kept here but digests.
"""

from __future__ import annotations

from array import array
from collections import OrderedDict
from collections.abc import Callable, Sequence
from hashlib import blake2b

import msgspec
from msgspec.structs import replace

from dragoman.conversation.changes import Change, Loss
from dragoman.conversation.conversation import Ask
from dragoman.conversation.replies import Usage
from dragoman.dialects.contracts.stored_prompts import PromptPieces, StoredPromptForm
from dragoman.dialects.registry import dialect
from dragoman.engine.compile.compiled_request import CompiledRequest
from dragoman.engine.exchange.destination import Destination
from dragoman.engine.routing.sessions import find_session
from dragoman.profiles.prices import PER_MILLION, TokenPrice

STORED_PROMPT = "stored-prompt"
LEAST_TOKENS = 4_096
"""No provider is known to want more."""
LEAST_REPEATS = 2
"""So many turns in a row must have sent again what the turn before sent: one miss is no habit."""
TURNS_AHEAD = 10
"""How many turns a session is expected to go on."""
SHORTEST, LONGEST = 300.0, 3_600.0
"""For how many seconds a prompt is stored, before it is renewed."""
MOST_STORED = 64
MOST_SESSIONS = 1_024
MOST_REFUSALS = 3
"""A destination that refuses so many in a row is not asked again."""

SessionId = tuple[str, str, int, str]
"""Caller, session, its first words, destination."""


class StoredPrompt(msgspec.Struct, frozen=True, gc=False):
    """What lies at the provider."""

    name: str
    destination: Destination
    """Where it lies."""
    path: str
    """That of the request that it was stored for."""
    key: int
    """The number of the key that it belongs to."""
    digest: bytes
    count: int
    """The turns that it holds, beside tools and system texts."""
    tokens: int
    seconds: float
    """For how long it is stored without being renewed."""


class PromptUse(msgspec.Struct, gc=False):
    """A request that could use a stored prompt."""

    session: SessionId
    form: StoredPromptForm
    path: str
    pieces: PromptPieces
    sizes: Sequence[int]
    """The bytes of the head and of each turn."""
    marks: array[int]
    """Digests of the same."""
    model: str
    """The one that the client asked for."""
    stored: StoredPrompt | None = None
    """The one that it used."""
    has_left: bool = False
    """Its session has a stored prompt, and this request does not begin so."""
    was_refused: bool = False
    """With the stored one, and it was sent whole then."""

    def lose(self) -> None:
        """The stored one cannot be used."""
        self.stored, self.was_refused = None, True


class StoreOrder(msgspec.Struct, frozen=True, gc=False):
    """Store the beginning of a request."""

    use: PromptUse
    count: int
    seconds: float


class RenewOrder(msgspec.Struct, frozen=True, gc=False):
    stored: StoredPrompt


class DeleteOrder(msgspec.Struct, frozen=True, gc=False):
    stored: StoredPrompt


Order = StoreOrder | RenewOrder | DeleteOrder


class _PromptSession(msgspec.Struct, gc=False):
    at: float
    """Its last turn."""
    marks: array[int]
    gap: float = 0.0
    """Seconds between turns."""
    repeats: int = 0
    """Turns in a row that went on as the one before ended."""
    read: float = 0.0
    """Tokens that such a turn reads from the cache, on average."""
    unaided: float = 0.0
    """The same before anything was stored."""
    balance: float = 0.0
    """What stored prompts have saved this session, less what they cost."""
    stored: StoredPrompt | None = None
    until: float = 0.0
    is_storing: bool = False
    is_refused: bool = False


def pays(tokens: float, read: float, gap: float, seconds: float, price: TokenPrice) -> bool:
    """Whether storing so many tokens is cheaper, over the turns ahead, than going on: reading `read` of them a turn.

    Stored: they are sent once more, kept until the last turn and `seconds` beyond, and read on every turn.
    """
    if price.stored is None or price.cached is None:
        return False
    saving = TURNS_AHEAD * (tokens - read) * (price.input - price.cached)
    return saving > tokens * (price.input + price.stored * (TURNS_AHEAD * gap + seconds) / 3_600)


def price_of_storing(tokens: int, seconds: float, price: TokenPrice) -> float:
    """What it costs to keep tokens for so long."""
    return tokens * (price.stored or 0.0) * seconds / 3_600 * PER_MILLION


class StoredPromptBook:
    """The sessions whose prompts may be stored, and what is."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._sessions: OrderedDict[SessionId, _PromptSession] = OrderedDict()
        self._refusals: dict[str, int] = {}

    def __len__(self) -> int:
        return len([one for one in self._sessions.values() if one.stored is not None])

    def look_up(self, caller: str, ask: Ask, request: CompiledRequest, destination: str, key: int) -> PromptUse | None:
        """How a request stands to what is stored for its session, at a destination and for one of its keys; None if it
        cannot be stored."""
        form = dialect(request.dialect).stored_prompts
        pieces = form.split(request.body) if form is not None else None
        session, words = find_session(ask)
        if form is None or pieces is None or not session:
            return None
        head = b"".join([b"%b:%b" % (name.encode(), raw) for name, raw in pieces.head.items()])
        raws = [head, *[bytes(one) for one in pieces.items]]
        identity = (caller, session, words, destination)
        marks = array("q", [hash(one) for one in raws])
        use = PromptUse(
            identity, form, request.path, pieces, sizes=[len(one) for one in raws], marks=marks, model=ask.model or ""
        )
        known = self._sessions.get(identity)
        stored = known.stored if known is not None and known.until > self._clock() else None
        if stored is None:
            return use
        if len(pieces.items) <= stored.count or digest_prompt(pieces, stored.count) != stored.digest:
            use.has_left = True
        elif stored.key == key:
            use.stored = stored
        return use

    def note(self, use: PromptUse, usage: Usage, destination: Destination) -> list[Order]:
        """What is to be done after an answered request."""
        now, price = self._clock(), destination.price
        known = self._sessions.get(use.session)
        if known is None or price is None or price.cached is None:
            self._sessions[use.session] = _PromptSession(now, use.marks)
            return self._bound()
        self._sessions.move_to_end(use.session)
        orders: list[Order] = []
        shared = _count_shared(known.marks, use.marks)
        gap = now - known.at
        if known.stored is not None and (use.has_left or use.was_refused or known.until <= now):
            if use.has_left:
                orders.append(DeleteOrder(known.stored))
            known.stored, known.repeats, known.read = None, 0, known.unaided
            known.is_refused = known.is_refused or use.was_refused or known.balance < 0
        known.at, known.marks, goes_on = now, use.marks, shared == len(known.marks)
        if known.stored is not None and use.stored is None:
            return orders  # it lies with another key
        known.gap = (known.gap + gap) / 2 if known.repeats else gap
        known.repeats = known.repeats + 1 if goes_on else 0
        known.read += (usage.cached - known.read) / max(known.repeats, 1)
        if known.stored is None:
            known.unaided = known.read
        else:
            known.balance += (known.stored.tokens - known.unaided) * (price.input - price.cached) * PER_MILLION
            if known.until - now < known.stored.seconds / 2:
                known.until = now + known.stored.seconds
                known.balance -= price_of_storing(known.stored.tokens, known.stored.seconds, price)
                orders.append(RenewOrder(known.stored))
        if known.repeats >= LEAST_REPEATS and (order := self._plan(known, use, shared, usage, price)) is not None:
            orders.append(order)
        return orders

    def _plan(
        self, known: _PromptSession, use: PromptUse, shared: int, usage: Usage, price: TokenPrice
    ) -> StoreOrder | None:
        if known.is_storing or known.is_refused or self._refusals.get(use.session[3], 0) >= MOST_REFUSALS:
            return None
        count = max([end for end in use.pieces.ends if end < shared], default=-1)
        if count < 0 or (known.stored is not None and count <= known.stored.count):
            return None
        tokens = usage.input * sum(use.sizes[: count + 1]) / sum(use.sizes)
        seconds = min(max(3 * known.gap, SHORTEST), LONGEST)
        read = max(known.read, usage.cached)  # a turn that was found is no reason
        if tokens < LEAST_TOKENS or known.gap > seconds / 2 or not pays(tokens, read, known.gap, seconds, price):
            return None
        known.is_storing = True
        return StoreOrder(use, count, seconds)

    def made(self, order: StoreOrder, stored: StoredPrompt, price: TokenPrice) -> list[Order]:
        """A prompt is stored. What it replaces is deleted."""
        known = self._sessions.get(order.use.session)
        if known is None:
            return [DeleteOrder(stored)]
        orders: list[Order] = [] if known.stored is None else [DeleteOrder(known.stored)]
        known.stored, known.until, known.is_storing = stored, self._clock() + stored.seconds, False
        known.read = max(known.read, float(stored.tokens))
        known.balance -= price.cost(Usage(stored.tokens)) + price_of_storing(stored.tokens, stored.seconds, price)
        self._refusals.pop(order.use.session[3], None)
        return orders + self._bound()

    def refused(self, order: StoreOrder) -> None:
        """It could not be stored: this session is not tried again."""
        name = order.use.session[3]
        self._refusals[name] = self._refusals.get(name, 0) + 1
        if (known := self._sessions.get(order.use.session)) is not None:
            known.is_storing, known.is_refused = False, True

    def drop(self, caller: str | None = None) -> list[StoredPrompt]:
        """Forget the sessions of a caller, or of all; what was stored for them and is to be deleted."""
        names = [name for name in self._sessions if caller is None or name[0] == caller]
        gone = [self._sessions.pop(name) for name in names]
        return [one.stored for one in gone if one.stored is not None and one.until > self._clock()]

    def _bound(self) -> list[Order]:
        orders: list[Order] = []
        while len(self._sessions) > MOST_SESSIONS or len(self) > MOST_STORED:
            stored = self._sessions.popitem(last=False)[1].stored
            orders += [] if stored is None else [DeleteOrder(stored)]
        return orders


def digest_prompt(pieces: PromptPieces, count: int) -> bytes:
    """A digest of the head and of so many turns."""
    made = blake2b(digest_size=16)
    for name, raw in pieces.head.items():
        made.update(b"%b\0%b\0" % (name.encode(), raw))
    for item in pieces.items[:count]:
        made.update(b"%b\0" % item)
    return made.digest()


def with_stored(request: CompiledRequest, form: StoredPromptForm, stored: StoredPrompt) -> CompiledRequest:
    """The request without what is stored, and with its name."""
    turns = f"{stored.count} turns" if stored.count else "no turn"
    did = f"sent {stored.tokens:,} tokens by the name of a cache that was made for the session, with {turns} of it"
    change = Change(STORED_PROMPT, "", did, str(Loss.NOTHING), "added")
    body = form.use(request.body, stored.name, stored.count)
    return replace(request, body=body, changes=(*request.changes, change))


def _count_shared(old: Sequence[int], new: Sequence[int]) -> int:
    """How many of the head and the turns are the same."""
    pairs = enumerate(zip(old, new, strict=False))
    return next((at for at, (was, is_now) in pairs if was != is_now), min(len(old), len(new)))
