"""The decision about one request: pins, shortcuts, a strategy or a small model, and staying where the cache is warm."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec
from msgspec.structs import replace

from dragoman.conversation.conversation import Conversation
from dragoman.conversation.failures import Failure, FailureKind
from dragoman.engine.routing.cache_prices import CacheHabits, expect_price
from dragoman.engine.routing.candidates import Candidate, Decision, LeftOut
from dragoman.engine.routing.needs import capable, needs_of
from dragoman.engine.routing.router_model import PROMPT, parse_choice, question
from dragoman.engine.routing.strategies import Strategy, by_closeness, order_candidates
from dragoman.errors import NoHealthyModel

MODELS_PER_REQUEST = 3


class RoutePolicy(msgspec.Struct, frozen=True, kw_only=True):
    """How a route chooses."""

    strategy: Strategy = Strategy.ORDER
    default: str = ""
    """Taken if a router model cannot tell."""
    prompt: str = PROMPT
    context_messages: int = 6
    caches: CacheHabits = CacheHabits()
    """What is assumed of providers' caches."""


class LastUse(msgspec.Struct, frozen=True):
    """The model that served the session last, and how many seconds ago."""

    model: str
    seconds: float


class RouterQuestion(msgspec.Struct, frozen=True):
    """Ask the router model this, and give `answered` its text, or why there is none."""

    body: dict[str, object]


class Routing:
    """One decision. `settle` gives it, or the question for the router model."""

    def __init__(
        self,
        conversation: Conversation,
        candidates: Sequence[Candidate],
        policy: RoutePolicy,
        *,
        pinned: str = "",
        last: LastUse | None = None,
        chance: float = 0.0,
    ) -> None:
        self._conversation = conversation
        self._policy = policy
        self._pinned = pinned
        self._last = last
        self._chance = chance
        self._needs = needs_of(conversation)
        healthy = tuple(one for one in candidates if one.healthy)
        self._resting = tuple(
            LeftOut(one.name, "is left alone after failures") for one in candidates if not one.healthy
        )
        able, self._unable = capable(healthy, self._needs)
        room, self._full = _with_room(able, pinned)
        self._able = tuple(self._price(one) for one in room)
        self._all = tuple(candidates)

    def _price(self, candidate: Candidate) -> Candidate:
        price = expect_price(candidate, self._is_warm(candidate), self._policy.caches)
        return candidate if price == candidate.price else replace(candidate, price=price)

    @property
    def _left_out(self) -> tuple[LeftOut, ...]:
        return (*self._resting, *self._unable, *self._full)

    def settle(self) -> Decision | RouterQuestion:
        """Raises NoHealthyModel."""
        if not self._able:
            names = ", ".join(one.name for one in self._all)
            raise NoHealthyModel(f"No healthy models available: {names}", hint="see /v1/health-status")
        pinned = self._find(self._pinned)
        if pinned is not None:
            return self._decide(pinned, "it made the calls that are answered here", "the turn is pinned")
        if len(self._able) == 1:
            return self._decide(self._able[0], "the only one that can answer", "there is one candidate")
        if self._policy.strategy is not Strategy.MODEL:
            return self._by_strategy()
        warm = self._warm()
        if warm is not None and not self._higher(warm):
            return self._decide(warm, "its cache is warm, and none is rated higher", "the cache is warm")
        return RouterQuestion(
            question(self._conversation, self._able, self._policy.prompt, self._policy.context_messages)
        )

    def answered(self, text: str | Failure) -> Decision:
        """The decision with the router model's answer, or without one."""
        answer = None if isinstance(text, Failure) else parse_choice(text, self._able)
        chosen = None if answer is None else self._find(answer.model)
        if answer is None or chosen is None:
            why = _silence(text) if isinstance(text, Failure) else "the router model named no candidate"
            return self._decide(self._find(self._policy.default) or self._able[0], f"{why}: the default is taken")
        return self._unless_warm(chosen, answer.reasoning or "chosen by the router model")

    def _by_strategy(self) -> Decision:
        found, reason = order_candidates(self._able, self._policy.strategy, self._needs, self._chance)
        if self._policy.strategy is Strategy.WEIGHTED:
            return self._decide(found[0], reason, others=found[1:])
        return self._unless_warm(found[0], reason, found[1:])

    def _unless_warm(self, chosen: Candidate, reason: str, others: Sequence[Candidate] = ()) -> Decision:
        """While a cache is warm the session leaves its model only for one that is rated strictly higher."""
        warm = self._warm()
        if warm is None or warm is chosen or _is_higher(chosen, warm):
            return self._decide(chosen, reason, others=others)
        return self._decide(warm, f"its cache is warm; otherwise {chosen.name}: {reason}")

    def _warm(self) -> Candidate | None:
        """The session's model, if its provider still holds the conversation."""
        return next((one for one in self._able if self._is_warm(one)), None)

    def _is_warm(self, candidate: Candidate) -> bool:
        last = self._last
        if last is None or last.model not in (candidate.name, candidate.target):
            return False
        return last.seconds < candidate.cache_minutes * 60 - self._policy.caches.buffer_seconds

    def _higher(self, warm: Candidate) -> bool:
        return any(_is_higher(one, warm) for one in self._able)

    def _find(self, name: str) -> Candidate | None:
        return next((one for one in self._able if name and name in (one.name, one.target)), None)

    def _decide(self, chosen: Candidate, reason: str, skipped: str = "", others: Sequence[Candidate] = ()) -> Decision:
        rest = tuple(others) or by_closeness(chosen, [one for one in self._able if one is not chosen])
        names = tuple(one.name for one in (chosen, *rest))[:MODELS_PER_REQUEST]
        return Decision(names, reason, self._left_out, skipped)


def _silence(failure: Failure) -> str:
    """Why the router model said nothing."""
    if failure.kind is FailureKind.TIMEOUT:
        return "the router model did not answer in time"
    if failure.kind is FailureKind.QUOTA:
        return "there is no budget left for the router model"
    status = f" {failure.status}" if failure.status else ""
    return f"the router model failed ({failure.kind}{status})"


def _with_room(able: tuple[Candidate, ...], pinned: str) -> tuple[tuple[Candidate, ...], tuple[LeftOut, ...]]:
    """Those that can be sent something now. A pinned turn waits for its model, and if all are full, all are left."""
    room = tuple(one for one in able if not one.full or pinned in (one.name, one.target))
    if not room:
        return able, ()
    return room, tuple(LeftOut(one.name, "has reached its limits") for one in able if one not in room)


def _is_higher(one: Candidate, other: Candidate) -> bool:
    return one.score is not None and other.score is not None and one.score > other.score
