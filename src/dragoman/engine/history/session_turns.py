"""What each session sent last, as digests: whether the provider's cache still serves it, and why not.

A turn sends again what the turn before sent, and the provider reads it from its cache unless something before the end
has changed. A change of ours that does this is found before the request is sent, and says in the report what it
costs. What the provider really read is known with its answer.
"""

from __future__ import annotations

import re
from array import array
from collections import OrderedDict
from collections.abc import Callable, Iterable, Sequence
from itertools import zip_longest

import msgspec

from dragoman.conversation.changes import Change
from dragoman.conversation.conversation import Ask, Conversation
from dragoman.conversation.messages import Message
from dragoman.conversation.replies import Usage
from dragoman.engine.history.prompt_digests import digest_message, digest_tools
from dragoman.engine.history.sent_prompts import KEPT_SECONDS
from dragoman.engine.history.sizes import bytes_per_token, fixed_size, size_of
from dragoman.engine.library.adapted import AdaptedRequest
from dragoman.engine.routing.sessions import session_key
from dragoman.profiles.facts import CachePlace, Facts, Stance
from dragoman.profiles.prices import PER_MILLION, TokenPrice

MOST_SESSIONS = 8_192
MOST_DIGESTS = 1_000_000
"""Of all sessions together, eight bytes each."""
LEAST_TOKENS = 1_024
"""A prompt that is shorter is cached by nobody, and fewer tokens that are sent again are no news."""
_SHARE = 0.05
"""Providers count in steps, and of a prompt that was found they may read so much less."""
_TURN = re.compile(r"/(?:messages|contents|input)/(\d+)(?=/|$)")
_BREAKS = "; breaks the cache"
_AS_SENT: tuple[int, ...] = ()


class SentTurn(msgspec.Struct, frozen=True):
    """The last turn of a session, without a word of it."""

    target: str
    at: float
    """When it was answered."""
    tokens: int
    """The tokens of its prompt that the provider has in its cache from then on."""
    messages: array[int]
    """A digest of each of the client's messages."""
    tools: bytes
    """A digest of the client's tools."""
    sent_tools: bytes
    """A digest of the tools that were sent."""
    shape: tuple[int, ...] = _AS_SENT
    """The messages that were sent: those of the client's by their place in its request, all others by their digests.
    Empty if they were sent as they came."""
    changes: frozenset[int] = frozenset()
    """Digests of the changes, if messages or tools were sent otherwise than they came."""
    has_read: bool = False
    """Whether the session has ever read from a cache."""

    def weight(self) -> int:
        return len(self.messages) + len(self.shape) + len(self.changes)


class BrokenCache(msgspec.Struct, frozen=True):
    """What a request sends again although the provider has it, because it is written otherwise than before."""

    after: int
    """How many messages are sent as before; -1: not even the tools are."""
    tokens: int
    price: float | None
    """What that costs more; None if nobody knows."""

    def __str__(self) -> str:
        place = f"after message {self.after}" if self.after > 0 else "before the first message"
        return f"{_BREAKS[2:]} {place}: {self.tokens:,} tokens" + words_for(self.price)


def words_for(price: float | None) -> str:
    """What it costs, if that is known."""
    if price is None:
        return ""
    return f", about ${price:.2f} more" if price >= 0.1 else f", about ${price:.2g} more"


class CacheUse(msgspec.Struct, frozen=True, gc=False):
    """What one request made of the provider's cache."""

    session: str = ""
    resent: int = 0
    """Tokens that the provider had in its cache, and that it had to be sent and read once more."""
    saved: float = 0.0
    """What reading from the cache saved, less what writing to it cost."""
    lost: float = 0.0
    """What the tokens that were sent again cost more."""
    why: str = ""
    """Why they were sent again."""


NO_USE = CacheUse()


class SessionTurns:
    """The last turns of sessions, by caller. The oldest go first."""

    def __init__(self, clock: Callable[[], float], most: int = MOST_SESSIONS, digests: int = MOST_DIGESTS) -> None:
        self._clock = clock
        self._most = most
        self._most_digests = digests
        self._weight = 0
        self._turns: OrderedDict[tuple[str, str], SentTurn] = OrderedDict()

    def __len__(self) -> int:
        return len(self._turns)

    def find(self, caller: str, ask: Ask) -> SentTurn | None:
        """The turn before this one, if its prompt may still be in the cache."""
        turn = self._turns.get((caller, session_key(ask)))
        return turn if turn is not None and self._clock() - turn.at < KEPT_SECONDS else None

    def note(
        self, caller: str, request: AdaptedRequest, usage: Usage, target: str, price: TokenPrice | None
    ) -> CacheUse:
        """What an answered request made of the cache. From now on it is the last turn of its session."""
        session = session_key(request.ask)
        if not session:
            return CacheUse(saved=_saved(usage, price))
        now, key = self._clock(), (caller, session)
        before = self._turns.pop(key, None)
        if before is not None:
            self._weight -= before.weight()
        turn = _make_turn(request, usage, target, now, before)
        resent = 0 if before is None else _resent(before, usage, price)
        why = ""
        if before is not None and resent:
            turn = msgspec.structs.replace(turn, messages=digest_messages(request.ask.conversation.messages))
            why = explain(before, turn, request)
            resent = resent if why else 0
        self._turns[key] = turn
        self._weight += turn.weight()
        while len(self._turns) > self._most or self._weight > self._most_digests:
            self._weight -= self._turns.popitem(last=False)[1].weight()
        return CacheUse(session, resent, _saved(usage, price), price_of(resent, price) or 0.0, why)


def caches_by_hints(facts: Facts) -> bool:
    """Whether the provider caches only what a hint marks."""
    return facts.cache_hints is Stance.ACCEPTS and facts.cache_place is not CachePlace.NONE


def price_of(tokens: int, price: TokenPrice | None) -> float | None:
    """What tokens cost more that are sent again instead of read from the cache."""
    if price is None or price.cached is None:
        return None
    return tokens * price.resending * PER_MILLION


def _saved(usage: Usage, price: TokenPrice | None) -> float:
    if price is None or not (usage.cached or usage.cache_written):
        return 0.0
    return price.cost(Usage(usage.input, usage.output)) - price.cost(usage)


def _resent(before: SentTurn, usage: Usage, price: TokenPrice | None) -> int:
    """Tokens that were in the cache and were not read from it."""
    had = min(before.tokens, usage.input)
    missed = had - usage.cached
    if had < LEAST_TOKENS or missed < max(LEAST_TOKENS, _SHARE * had):
        return 0
    is_cheaper = price is not None and price.cached is not None
    return missed if is_cheaper or before.has_read or usage.cached else 0


def _make_turn(request: AdaptedRequest, usage: Usage, target: str, now: float, before: SentTurn | None) -> SentTurn:
    """Only messages that are new are digested: if an older one has changed, the cache is not read, and all are."""
    asked, sent = request.ask.conversation, request.conversation
    if before is not None and len(before.messages) <= len(asked.messages):
        messages = before.messages + digest_messages(asked.messages[len(before.messages) :])
    else:
        messages = digest_messages(asked.messages)
    tools = digest_tools(asked.tools) if asked.tools else b""
    has_read = usage.cached > 0 or (before is not None and before.has_read)
    held = usage.cached + usage.cache_written if caches_by_hints(request.facts) else usage.input
    if sent.messages is asked.messages and sent.tools is asked.tools:
        return SentTurn(target, now, held, messages, tools, tools, has_read=has_read)
    sent_tools = digest_tools(sent.tools) if sent.tools else b""
    changes = frozenset([_digest_change(one) for one in request.changes])
    return SentTurn(target, now, held, messages, tools, sent_tools, shape_of(asked, sent), changes, has_read)


def digest_messages(messages: Iterable[Message]) -> array[int]:
    return array("q", [digest_message(message) for message in messages])


def shape_of(asked: Conversation, sent: Conversation) -> tuple[int, ...]:
    """The messages that are sent: those of the client's by their place, all others by what they say."""
    if sent.messages is asked.messages:
        return _AS_SENT
    own = {id(message) for message in asked.messages}
    shape = [message.at if id(message) in own else None for message in sent.messages]
    if None not in shape:
        return tuple([at for at in shape if at is not None])
    same = own.intersection([id(message) for message in sent.messages])
    words = {(one.at, digest_message(one)) for one in asked.messages if id(one) not in same}
    return tuple([_place(one, words) if at is None else at for one, at in zip(sent.messages, shape, strict=True)])


def _place(message: Message, words: set[tuple[int, int]]) -> int:
    """The place of a message that says what the client's says there, such as one with a hint; else its digest."""
    said = digest_message(message)
    return message.at if (message.at, said) in words else said


def find_break(before: SentTurn, request: AdaptedRequest, target: str, price: TokenPrice | None) -> BrokenCache | None:
    """Where a request is sent otherwise than the turn before, because of how it was changed; None if that costs nothing
    worth telling."""
    asked, sent = request.ask.conversation, request.conversation
    if before.target != target:
        return None
    after = _first_difference(before, asked, sent)
    if after is None:
        return None
    sizes = [fixed_size(sent), *[size_of(message).total for message in sent.messages]]
    scale = bytes_per_token(sent.messages, request.facts.model)
    lost = int(min(before.tokens, sum(sizes) / scale) - sum(sizes[: after + 1]) / scale)
    return BrokenCache(after, lost, price_of(lost, price)) if lost >= LEAST_TOKENS else None


def _first_difference(before: SentTurn, asked: Conversation, sent: Conversation) -> int | None:
    """How many messages are sent as they were; None if all are, -1 if the client's tools are sent otherwise."""
    tools = digest_tools(asked.tools) if asked.tools else b""
    if tools == before.tools and (digest_tools(sent.tools) if sent.tools else b"") != before.sent_tools:
        return -1
    was = before.shape or [message.at for message in asked.messages[: len(before.messages)]]
    shape = shape_of(asked, sent) or [message.at for message in asked.messages]
    return next((at for at, (old, new) in enumerate(zip(was, shape, strict=False)) if old != new), None)


def blame(before: SentTurn, broken: BrokenCache, request: AdaptedRequest) -> tuple[Change, ...]:
    """The changes of a request. The one that breaks the cache says so."""
    fresh = [
        at
        for at, one in enumerate(request.changes)
        if one.kind != "added" and _digest_change(one) not in before.changes
    ]
    if not fresh:
        return request.changes
    moved = request.conversation.messages[broken.after].at if broken.after >= 0 else -1
    found = next((at for at in fresh if _turn_of(request.changes[at]) == moved), None)
    if found is None:
        found = min(fresh, key=lambda at: _turn_of(request.changes[at]))
    changes = list(request.changes)
    changes[found] = changes[found].adding(str(broken))
    return tuple(changes)


def _turn_of(change: Change) -> int:
    """The message that was changed, by its place in the client's request; -1 if it is none."""
    found = _TURN.match(change.at)
    return int(found[1]) if found is not None else -1


def _digest_change(change: Change) -> int:
    return hash((change.rule, change.at, change.did.partition(_BREAKS)[0]))


def explain(before: SentTurn, now: SentTurn, request: AdaptedRequest) -> str:
    """Why a prompt that was in the cache was sent again; empty if it is another conversation that begins alike."""
    if before.target != now.target:
        return f"{now.target} answered, and {before.target} the turn before"
    told = next((one for one in request.changes if _BREAKS in one.did), None)
    if told is not None:
        did, _, where = told.did.partition(_BREAKS)
        return f"{told.rule} at {told.at} ({did}) changed what comes{where.partition(':')[0]}"
    if before.tools != now.tools:
        return "the client changed its tools"
    changed = _first_change(before.messages, now.messages)
    opening = request.ask.conversation.opening
    if changed is not None:
        return "" if opening <= changed <= opening + 1 else f"the client changed message {changed + 1}"
    if before.shape != _shape_before(now, before) or before.sent_tools != now.sent_tools:
        return "it was changed in another way than the turn before"
    if now.at - before.at >= KEPT_SECONDS:
        return f"{(now.at - before.at) / 60:.0f} minutes had passed since the turn before"
    if caches_by_hints(request.facts) and not now.tokens:
        return "no cache hint was set"
    return "the provider did not find it in its cache"


def _shape_before(now: SentTurn, before: SentTurn) -> tuple[int, ...]:
    return now.shape[: len(before.shape)]


def _first_change(old: Sequence[int], new: Sequence[int]) -> int | None:
    """The first of the old messages that is another one now, or is not there."""
    return next((at for at, (was, is_now) in enumerate(zip_longest(old, new[: len(old)])) if was != is_now), None)
