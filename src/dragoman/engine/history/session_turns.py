"""What each session sent last, as digests: whether the provider's cache still serves it, and why not.

A turn sends again what the turn before sent, and the provider reads it from its cache unless something before the end
has changed. A change of ours that does this is found before the request is sent, and says in the report what it
costs. What the provider really read is known with its answer.
"""

from __future__ import annotations

import re
from array import array
from bisect import bisect_left
from collections import OrderedDict
from collections.abc import Callable, Sequence
from itertools import compress, zip_longest
from operator import attrgetter, is_, is_not

import msgspec
from msgspec.structs import replace

from dragoman.conversation.changes import Change
from dragoman.conversation.conversation import Ask, KnownBeginning
from dragoman.conversation.messages import Message
from dragoman.conversation.replies import Usage
from dragoman.engine.answer.provider_changes import CacheDiagnosis
from dragoman.engine.compile.cache_members import CacheQuestionAsked
from dragoman.engine.compile.compiled_request import CompiledRequest
from dragoman.engine.exchange.destination import Destination
from dragoman.engine.history.prompt_digests import digest_each, digest_messages, digest_tools
from dragoman.engine.history.sent_prompts import KEPT_SECONDS
from dragoman.engine.history.sizes import count_fixed_bytes, estimate_bytes_per_token, size_of
from dragoman.engine.routing.sessions import find_session
from dragoman.profiles.facts import CachePlace, CacheQuestionForm, Facts, Stance
from dragoman.profiles.prices import PER_MILLION, TokenPrice
from dragoman.profiles.profile import Target
from dragoman.rules.cache_hints import OPTIONS_FIELD

MOST_SESSIONS = 8_192
MOST_DIGESTS = 1_000_000
"""Of all sessions together, eight bytes each."""
LEAST_TOKENS = 1_024
"""A prompt that is shorter is cached by nobody, and fewer tokens that are sent again are no news."""
_SHARE = 0.05
"""Providers count in steps, and of a prompt that was found they may read so much less."""
_TURN = re.compile(r"/(?:messages|contents|input)/(\d+)(?=/|$)")
_LOOKED_AT_EVERY = 8
"""Of turns in a row that read nothing, one in so many is compared with the turn before."""
_TURNS_AHEAD = 10
"""How many turns a session is expected to go on."""
_LASTING = _CHANGED, _NOT_FOUND, _NO_HINT = (
    "the client changed message",
    "the provider did not find it in its cache",
    "no cache hint was set",
)
"""Reasons that a session often has turn after turn."""
_BY_CLIENT = "the client changed"
_BREAKS = "; breaks the cache"
_DIAGNOSTICS = "diagnostics"
_AS_SENT: tuple[int, ...] = ()
_place_of = attrgetter("at")
_NO_CHANGES: frozenset[int] = frozenset()


class TurnDigests(msgspec.Struct, frozen=True, gc=False):
    """The digests of a large request, made where it was compiled: beside the event loop."""

    request: CompiledRequest
    messages: array[int]
    shape: tuple[int, ...]
    changes: frozenset[int]


def digest_turn(request: CompiledRequest) -> TurnDigests:
    """All digests that a turn leaves."""
    asked = request.ask.conversation
    messages = digest_messages(asked, request.ask.known)
    if is_sent_as_it_came(request):
        return TurnDigests(request, messages, _AS_SENT, _NO_CHANGES)
    changes = frozenset([_digest_change(one) for one in request.changes])
    return TurnDigests(request, messages, shape_of(request), changes)


class SentTurn(msgspec.Struct, gc=False):
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
    changes: frozenset[int] = _NO_CHANGES
    """Digests of the changes, if messages or tools were sent otherwise than they came."""
    has_read: bool = False
    """Whether the session has ever read from a cache."""
    misses: int = 0
    """How many turns in a row, this one the last, did not read what was in the cache."""
    why: str = ""
    """Why the last one did not."""
    answer: str = ""
    """The provider's id of its answer, if it can compare with that."""
    compared: str = ""
    """The same of the turn before a miss that nobody can explain."""

    @property
    def weight(self) -> int:
        """What it takes, in digests of eight bytes. A number of a tuple takes five of them, and one of a set nine."""
        return len(self.messages) + 5 * len(self.shape) + 9 * len(self.changes)

    def update(self, request: CompiledRequest, usage: Usage, now: float, made: TurnDigests | None = None) -> None:
        """All but the messages and the target, as a request was sent and answered."""
        tools = request.ask.conversation.tools
        self.at = now
        self.tokens = usage.cached + usage.cache_written if caches_by_hints(request.facts) else usage.input
        self.has_read = self.has_read or usage.cached > 0
        self.tools = self.sent_tools = digest_tools(tools) if tools else b""
        if is_sent_as_it_came(request):
            self.shape, self.changes = _AS_SENT, _NO_CHANGES
            return
        sent = request.conversation
        self.sent_tools = digest_tools(sent.tools) if sent.tools else b""
        if made is not None:
            self.shape, self.changes = made.shape, made.changes
            return
        self.shape = shape_of(request)
        self.changes = frozenset([_digest_change(one) for one in request.changes])


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


class CacheOutcome(msgspec.Struct, frozen=True, gc=False):
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


NO_USE = CacheOutcome()


class SessionTurns:
    """The last turns of sessions, by caller. The oldest go first."""

    def __init__(self, clock: Callable[[], float], most: int = MOST_SESSIONS, digests: int = MOST_DIGESTS) -> None:
        self._clock = clock
        self._most = most
        self._most_digests = digests
        self._weight = 0
        self._turns: OrderedDict[tuple[str, str, int], SentTurn] = OrderedDict()

    def __len__(self) -> int:
        return len(self._turns)

    def find(self, caller: str, ask: Ask) -> SentTurn | None:
        """The turn before this one, if its prompt may still be in the cache."""
        turn = self._turns.get((caller, *find_session(ask)))
        return turn if turn is not None and self._clock() - turn.at < KEPT_SECONDS else None

    def note(
        self,
        caller: str,
        request: CompiledRequest,
        usage: Usage,
        destination: Destination,
        *,
        made: TurnDigests | None = None,
        diagnosis: CacheDiagnosis | None = None,
    ) -> CacheOutcome:
        """What an answered request made of the cache. From now on it is the last turn of its session. `made`: its
        digests, if it is a large one. `diagnosis`: what the provider says of it."""
        price = destination.price
        saved = price.saving(usage) if price is not None and (usage.cached or usage.cache_written) else 0.0
        session, words = find_session(request.ask)
        if not session:
            return CacheOutcome(saved=saved)
        asked, remembered = request.ask.conversation, request.ask.known
        key = (caller, session, words)
        turn = self._turns.get(key)
        if turn is None:
            messages = digest_messages(asked, remembered) if made is None else made.messages
            turn = self._turns[key] = SentTurn(destination.name, 0.0, 0, messages, b"", b"")
            turn.update(request, usage, self._clock(), made)
            turn.answer = diagnosis.id if diagnosis is not None else ""
            self._bound(turn.weight)
            return CacheOutcome(session, saved=saved)
        self._turns.move_to_end(key)
        least = max(LEAST_TOKENS, request.facts.cache_minimum)
        resent = _count_resent(turn, usage, price, least) if turn.tokens - usage.cached >= LEAST_TOKENS else 0
        before = replace(turn) if resent else turn
        known, weight, turn.target = len(turn.messages), turn.weight, destination.name
        if made is not None:
            turn.messages = made.messages
        elif known != len(asked.messages):
            # Only new messages are digested: if an older one has changed, the cache is not read, and all are.
            new = digest_each(asked.messages[known:])
            turn.messages = turn.messages + new if new else digest_messages(asked, remembered)
        turn.update(request, usage, self._clock(), made)
        if turn.weight != weight:
            self._bound(turn.weight - weight)
        last, turn.answer = turn.answer, diagnosis.id if diagnosis is not None else ""
        if not resent:
            turn.misses = 0
            return CacheOutcome(session, 0, saved)
        why = _explain_miss(before, turn, request, made)
        if why.startswith(_BY_CLIENT) and not turn.tokens:
            turn.tokens = usage.input  # nothing is written for a client that changes its opening every time
        turn.compared = turn.compared or last if why == _NOT_FOUND else ""
        resent = resent if why else 0
        if why and diagnosis is not None and diagnosis.why:
            why = f"{why}; the provider says: {diagnosis.why}"
        return CacheOutcome(session, resent, saved, price_of(resent, price) or 0.0, why)

    def _bound(self, more: int) -> None:
        self._weight += more
        while len(self._turns) > self._most or self._weight > self._most_digests:
            self._weight -= self._turns.popitem(last=False)[1].weight


def _explain_miss(before: SentTurn, turn: SentTurn, request: CompiledRequest, made: TurnDigests | None) -> str:
    """Why a turn did not read what was in the cache. A session that never does is not looked at on every turn."""
    is_like = before.target == turn.target and before.tools == turn.tools and not turn.shape and not turn.changes
    if not before.misses % _LOOKED_AT_EVERY or not is_like:
        if made is None:
            turn.messages = digest_messages(request.ask.conversation, request.ask.known)
        turn.why = explain(before, turn, request)
        turn.misses = before.misses if turn.why.startswith(_LASTING) else -1
    turn.misses += 1
    return turn.why


def find_question(before: SentTurn | None, ask: Ask, target: Target, name: str) -> CacheQuestionAsked | None:
    """What the provider is asked about its cache, as it wants to be asked; None if there is nothing to compare."""
    known, form = before if before is not None and before.target == name else None, target.facts.cache_question
    if form is CacheQuestionForm.DIAGNOSTICS:
        previous = msgspec.json.encode(known.answer or None) if known is not None else b"null"
        beta = target.profile.beta
        named = (beta.header, beta.fields.get(_DIAGNOSTICS, "")) if beta is not None else ("", "")
        return CacheQuestionAsked(_DIAGNOSTICS, b'{"previous_message_id":%b}' % previous, named)
    is_stored = target.profile.dialect == ask.dialect and ask.conversation.settings.store is not False
    if known is None or not known.compared or not is_stored:
        return None
    return CacheQuestionAsked(OPTIONS_FIELD, b'{"comparison_response_id":%b}' % msgspec.json.encode(known.compared))


def caches_by_hints(facts: Facts) -> bool:
    """Whether the provider caches only what a hint marks."""
    return facts.cache_hints is Stance.ACCEPTS and facts.cache_place is not CachePlace.NONE


def is_worth_leaving(turn: SentTurn, there: Destination, first: Destination) -> bool:
    """Whether a session that was sent elsewhere goes back to the first choice, though its cache is left behind: if
    reading there costs so much more that some turns pay for writing the prompt anew."""
    here, other = there.price, first.price
    if here is None or other is None or here.cached is None or other.cached is None or turn.tokens < LEAST_TOKENS:
        return True
    return (other.input if other.written is None else other.written) <= _TURNS_AHEAD * (here.cached - other.cached)


def price_of(tokens: int, price: TokenPrice | None) -> float | None:
    """What tokens cost more that are sent again instead of read from the cache."""
    if price is None or price.cached is None:
        return None
    return tokens * price.resending * PER_MILLION


def _count_resent(before: SentTurn, usage: Usage, price: TokenPrice | None, least: int) -> int:
    """Tokens that were in the cache and were not read from it. `least`: the shortest prompt that the provider keeps."""
    had = min(before.tokens, usage.input)
    missed = had - usage.cached
    if had < least or missed < max(LEAST_TOKENS, _SHARE * had):
        return 0
    is_cheaper = price is not None and price.cached is not None
    return missed if is_cheaper or before.has_read or usage.cached else 0


def is_sent_as_it_came(request: CompiledRequest) -> bool:
    """Whether tools and messages are the client's, as far as providers compare them: hints do not count."""
    asked, sent = request.ask.conversation, request.conversation
    if sent.messages is asked.messages and sent.tools is asked.tools:
        return True
    beside = request.changes_beside
    for change in request.changes:
        if change.kind != "added":
            beside -= 1
            if beside < 0:
                return False
    return True


class _SentShape(msgspec.Struct, frozen=True):
    """What was sent on the turn before."""

    asked: tuple[Message, ...]
    sent: tuple[Message, ...]
    shape: tuple[int, ...]


def shape_of(request: CompiledRequest) -> tuple[int, ...]:
    """The messages that are sent: those of the client's by their place, all others by what they say."""
    asked, sent, known = request.ask.conversation.messages, request.conversation.messages, request.ask.known
    if sent is asked:
        return _AS_SENT
    if known is None:
        return _make_shape(asked, sent)
    before: _SentShape | None = known.made.get(_SentShape)
    if before is not None and before.asked is asked and before.sent is sent:
        return before.shape
    begin, end = (0, 0) if before is None else _find_same(before, asked, sent, known)
    if before is None or begin == end:
        shape = _make_shape(asked, sent)
    else:
        lowest = min([one.at for one in sent[end:] if one.at >= 0], default=known.item)
        first = bisect_left(asked, lowest, known.opening, key=_place_of)
        new = _make_shape(asked[: known.opening] + asked[first:], sent[:begin] + sent[end:])
        shape = new[:begin] + before.shape[begin:end] + new[begin:]
    known.keep(_SentShape, _SentShape(asked, sent, shape), 24 * len(shape))
    return shape


def _find_same(
    before: _SentShape, asked: tuple[Message, ...], sent: tuple[Message, ...], known: KnownBeginning
) -> tuple[int, int]:
    """From where and up to where the messages are sent as on the turn before, of those that were made of known ones of
    the list."""
    begin, end = 0, len(sent)
    while end and not 0 <= sent[end - 1].at < known.item:
        end -= 1
    while begin < end and sent[begin].at < 0:
        begin += 1
    end = max(begin, min(end, len(before.sent)))
    count = known.count  # if one message of the list is the same object, so are all before it
    if not 0 < count <= len(before.asked) or before.asked[count - 1] is not asked[count - 1]:
        return 0, 0
    now, then = sent[begin:end], before.sent[begin:end]
    if all(map(is_, now, then)):  # nearly always, and it costs two thirds of looking for the first that is another
        return begin, end
    return begin, next(compress(range(begin, end), map(is_not, now, then)), end)


def _make_shape(asked: tuple[Message, ...], sent: tuple[Message, ...]) -> tuple[int, ...]:
    own = {id(message) for message in asked}
    shape = [message.at if id(message) in own else None for message in sent]
    if None not in shape:
        return tuple([at for at in shape if at is not None])
    # A message that says what the client's says there, such as one with a hint, has its place; any other its digest.
    same = own.intersection([id(message) for message in sent])
    gone = [one for one in asked if id(one) not in same]
    made = [one for one, at in zip(sent, shape, strict=True) if at is None]
    words = set(zip([one.at for one in gone], digest_each(gone), strict=True))
    found = zip(made, digest_each(made), strict=True)
    places = iter([one.at if (one.at, says) in words else says for one, says in found])
    return tuple([next(places) if at is None else at for at in shape])


def find_break(before: SentTurn, request: CompiledRequest, destination: Destination) -> BrokenCache | None:
    """Where a request is sent otherwise than the turn before, because of how it was changed; None if that costs nothing
    worth telling."""
    sent = request.conversation
    if before.target != destination.name:
        return None
    after = _first_difference(before, request)
    if after is None:
        return None
    sizes = [count_fixed_bytes(sent), *[size_of(message).total for message in sent.messages]]
    scale = estimate_bytes_per_token(sent.messages, request.facts.model)
    lost = int(min(before.tokens, sum(sizes) / scale) - sum(sizes[: after + 1]) / scale)
    return BrokenCache(after, lost, price_of(lost, destination.price)) if lost >= LEAST_TOKENS else None


def _first_difference(before: SentTurn, request: CompiledRequest) -> int | None:
    """How many messages are sent as they were; None if all are, -1 if the client's tools are sent otherwise."""
    asked, sent = request.ask.conversation, request.conversation
    tools = digest_tools(asked.tools) if asked.tools else b""
    if tools == before.tools and (digest_tools(sent.tools) if sent.tools else b"") != before.sent_tools:
        return -1
    was, shape = before.shape, shape_of(request)
    if was == shape[: len(was)] and (was or not shape):
        return None
    was = was or tuple([message.at for message in asked.messages[: len(before.messages)]])
    shape = shape or tuple([message.at for message in asked.messages])
    return next((at for at, (old, new) in enumerate(zip(was, shape, strict=False)) if old != new), None)


def count_shared_tokens(before: SentTurn, request: CompiledRequest) -> int:
    """About how many tokens of a request its provider can read, of what it was sent the turn before."""
    asked, sent = request.ask.conversation, request.conversation
    ours = _first_difference(before, request)
    theirs = _first_change(before.messages, digest_messages(asked, request.ask.known))
    if before.tools != (digest_tools(asked.tools) if asked.tools else b"") or ours == -1:
        return 0
    same = min(len(before.messages) if one is None else one for one in (ours, theirs))
    size = count_fixed_bytes(sent) + sum([size_of(message).total for message in sent.messages[:same]])
    return min(before.tokens, int(size / estimate_bytes_per_token(sent.messages, request.facts.model)))


def blame(before: SentTurn, broken: BrokenCache, request: CompiledRequest) -> tuple[Change, ...]:
    """The changes of a request. The one that breaks the cache says so."""
    fresh = [
        at
        for at, one in enumerate(request.changes)
        if one.kind != "added" and _digest_change(one) not in before.changes
    ]
    if not fresh:
        return request.changes
    if broken.after >= 0:  # a setting changes no message
        fresh = [at for at in fresh if _turn_of(request.changes[at]) >= 0] or fresh
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


def explain(before: SentTurn, now: SentTurn, request: CompiledRequest) -> str:
    """Why a prompt that was in the cache was sent again; empty if it is another conversation that begins alike."""
    changed, opening = _first_change(before.messages, now.messages), request.ask.conversation.opening
    if changed is not None and opening <= changed <= opening + 1:
        return ""
    if before.target != now.target:
        return f"{now.target} answered, and {before.target} the turn before"
    if before.tools != now.tools:
        return "the client changed its tools"
    if changed is not None and changed < opening:
        return f"{_CHANGED} {changed + 1}, a system text"
    blamed = next((one for one in request.changes if _BREAKS in one.did), None)
    if blamed is not None:
        did, _, where = blamed.did.partition(_BREAKS)
        return f"{blamed.rule} at {blamed.at} ({did}) changed what comes{where.partition(':')[0]}"
    if changed is not None:
        return f"{_CHANGED} {changed + 1}"
    if before.shape != now.shape[: len(before.shape)] or before.sent_tools != now.sent_tools:
        return "it was changed in another way than the turn before"
    if now.at - before.at >= KEPT_SECONDS:
        return f"{(now.at - before.at) / 60:.0f} minutes had passed since the turn before"
    if caches_by_hints(request.facts) and not now.tokens:
        return _NO_HINT
    return _NOT_FOUND


def _first_change(old: Sequence[int], new: Sequence[int]) -> int | None:
    """The first of the old messages that is another one now, or is not there."""
    if old == new[: len(old)]:
        return None
    return next((at for at, (was, is_now) in enumerate(zip_longest(old, new[: len(old)])) if was != is_now), None)
