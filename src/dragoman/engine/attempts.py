"""What to do after a failure: a pure function over what has happened.

Retry, correct a fact, take the next key, fall back to the next target, or give up. Nothing here waits, sends or knows
the time.
"""

from __future__ import annotations

import msgspec

from dragoman.conversation.failures import Failure, FailureKind
from dragoman.engine.lessons import Learnt

Kind = FailureKind

PASSING = frozenset({Kind.RATE_LIMIT, Kind.OVERLOADED, Kind.TIMEOUT, Kind.NETWORK, Kind.SERVER, Kind.BROKEN_STREAM})
"""Failures that may be gone on the next try."""
KEY_BOUND = frozenset({Kind.AUTH, Kind.RATE_LIMIT, Kind.QUOTA, Kind.PERMISSION})
"""Failures that another key may not have."""
FINAL = frozenset({Kind.BAD_REQUEST, Kind.TOO_LARGE})
"""Failures that lie in the request: another target would be asked the same thing in vain, unless it is told to."""


class Policy(msgspec.Struct, frozen=True):
    """How often and how long to wait, for one target. `linear`: each wait is one `base` longer than the one before."""

    attempts: int = 3
    base: float = 1.0
    factor: float = 2.0
    cap: float = 30.0
    jitter: bool = True
    linear: bool = False


class History(msgspec.Struct):
    """What has been tried on the current target, and what is left. `reserved`: other targets are named for just this
    kind of failure."""

    tries: int = 0
    lessons: int = 0
    keys_left: int = 0
    targets_left: int = 0
    total: int = 0
    reserved: bool = False


class Retry(msgspec.Struct, frozen=True):
    """The same again after `delay` seconds."""

    delay: float


class Correct(msgspec.Struct, frozen=True):
    """Compile again with a fact corrected, at once."""

    learnt: Learnt


class NextKey(msgspec.Struct, frozen=True):
    """The same with the next key of the pool, at once."""


class FallBack(msgspec.Struct, frozen=True):
    """The next target."""


class GiveUp(msgspec.Struct, frozen=True):
    """Tell the client."""


Step = Retry | Correct | NextKey | FallBack | GiveUp

MAX_LESSONS = 6
MAX_TOTAL = 24


def next_step(history: History, failure: Failure, policy: Policy, chance: float, learnt: Learnt | None) -> Step:
    """Decide. `chance` is a number from 0 to 1 that the caller drew; `learnt` what the refusal teaches, if anything."""
    if history.total >= MAX_TOTAL:
        return GiveUp()
    if learnt is not None and history.lessons < MAX_LESSONS:
        return Correct(learnt)
    if failure.kind in KEY_BOUND and history.keys_left:
        return NextKey()
    if history.reserved:
        return FallBack()
    if _worth_retrying(failure) and history.tries < policy.attempts:
        delay = _delay(history.tries, failure, policy, chance)
        if delay <= policy.cap:
            return Retry(delay)
    if history.targets_left and failure.kind not in FINAL:
        return FallBack()
    return GiveUp()


def _worth_retrying(failure: Failure) -> bool:
    if failure.kind in PASSING:
        return True
    # The model, not the request, was at fault: Groq answers 400 to a call its own model got wrong.
    return failure.code == "tool_use_failed"


def _delay(tries: int, failure: Failure, policy: Policy, chance: float) -> float:
    """What the provider asks for, else growing waits with full jitter."""
    if failure.retry_after is not None:
        return failure.retry_after
    growth = float(tries) if policy.linear else policy.factor ** (tries - 1)
    wait = min(policy.base * growth, policy.cap)
    return wait * chance if policy.jitter else wait
