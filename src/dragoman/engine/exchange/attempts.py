"""What to do after a failure: a pure function over what has happened.

Retry, correct a fact, compile with care, take the next key, fall back to the next target, or give up. Nothing here
waits, sends or knows the time.
"""

from __future__ import annotations

import msgspec

from dragoman.conversation.failures import Failure, FailureKind
from dragoman.engine.exchange.lessons import Learnt
from dragoman.wire.error_wording import FORM_SENTENCE, cut_matched_part

Kind = FailureKind

KEY_BOUND = frozenset({Kind.AUTH, Kind.RATE_LIMIT, Kind.QUOTA, Kind.PERMISSION})
"""Failures that another key may not have."""
MODEL_AT_FAULT = "tool_use_failed"
"""Groq answers 400 with this code to a call that its own model got wrong: the request is good."""


class RetryPolicy(msgspec.Struct, frozen=True):
    """How often the same body is sent to one target, and how long to wait in between."""

    attempts: int = 3
    """Sends of one body at most."""
    base: float = 1.0
    """Seconds before the second send."""
    factor: float = 2.0
    """Each wait is so many times the one before."""
    cap: float = 30.0
    """No wait is longer, in seconds."""
    jitter: bool = True
    """Whether waits are shortened at random, so that clients do not come back together."""
    linear: bool = False
    """Whether each wait is one `base` longer than the one before."""
    client_retries: bool = False
    """Whether the client repeats what may pass (429, 5xx) itself, so nothing is repeated here."""


class History(msgspec.Struct):
    """What has been tried on the current target, and what is left."""

    tries: int = 0
    """Sends of the same body."""
    corrections: int = 0
    """The lessons applied."""
    keys_left: int = 0
    targets_left: int = 0
    total: int = 0
    """Every send of the request."""
    reserved: bool = False
    """Whether other targets are named for just this kind of failure."""
    careful: bool = False
    """Whether the body that failed was compiled with care."""
    cared: bool = False
    """Whether that was tried, here or on an earlier target."""
    renewable: bool = False
    """Whether the sender can fetch newer credentials, and has not done so yet."""
    as_caller: bool = False
    """Whether the caller's own credential was sent, which only the caller can renew."""


class Retry(msgspec.Struct, frozen=True):
    """Send the same body again after `delay` seconds."""

    delay: float


class Correct(msgspec.Struct, frozen=True):
    """Compile again with a fact corrected, and send at once."""

    learnt: Learnt


class CompileWithCare(msgspec.Struct, frozen=True):
    """Compile again with every doubt taken as a refusal, and send at once if that changes the body."""


class RestoreRefusal(msgspec.Struct, frozen=True):
    """The careful body failed too: decide about the refusal that led to it."""


class NextKey(msgspec.Struct, frozen=True):
    """Send the same body with the next key of the pool, at once."""


class Renew(msgspec.Struct, frozen=True):
    """Send the same body with newer credentials, at once."""


class FallBack(msgspec.Struct, frozen=True):
    """Take the next target."""


class GiveUp(msgspec.Struct, frozen=True):
    """Tell the client."""


Decision = Retry | Correct | CompileWithCare | RestoreRefusal | NextKey | Renew | FallBack | GiveUp

MAX_CORRECTIONS = 8
MAX_TOTAL = 24
_SPREAD = 0.1


def next_step(
    history: History,
    failure: Failure,
    policy: RetryPolicy,
    chance: float,
    learnt: Learnt | None,
    *,
    recognised: bool = False,
) -> Decision:
    """Decide. `chance` is a number from 0 to 1 that the caller drew; `learnt` is what the refusal teaches, if anything;
    `recognised`: its words are those of a lesson, even if there is nothing left to learn from them."""
    if failure.kind is Kind.ANSWER_TOO_LARGE:
        return GiveUp()  # the answer was paid for, and the next one would be as large
    if history.total >= MAX_TOTAL:
        return RestoreRefusal() if history.careful else GiveUp()
    if learnt is not None and history.corrections < MAX_CORRECTIONS:
        return Correct(learnt)
    if failure.kind is Kind.AUTH and history.as_caller:
        return GiveUp()  # the caller renews its login when it is told
    if failure.kind in KEY_BOUND and history.keys_left:
        return NextKey()
    if failure.kind is Kind.AUTH and history.renewable:
        return Renew()
    if history.reserved and not history.careful:
        return FallBack()
    doubtful = not history.cared and not history.careful and not (recognised and history.targets_left)
    if doubtful and _names_form(failure):
        return CompileWithCare()
    if _is_worth_retrying(failure) and history.tries < policy.attempts:
        delay = _delay(history.tries, failure, policy, chance)
        if (failure.retry_after or 0.0) <= policy.cap:
            return Retry(delay)
    if history.careful:
        return RestoreRefusal()
    if doubtful and _leaves_doubt(failure, policy):
        return CompileWithCare()
    if history.targets_left and (failure.kind is not Kind.BAD_REQUEST or recognised):
        return FallBack()  # a bad request is one for all, unless a lesson knows it as this target's
    return GiveUp()


def _is_worth_retrying(failure: Failure) -> bool:
    return failure.retryable or failure.code == MODEL_AT_FAULT


def _names_form(failure: Failure) -> bool:
    """Whether a server that broke says what in the request it broke on. It would break on the same body again."""
    named = failure.kind is Kind.SERVER and failure.status == 500
    return named and FORM_SENTENCE.search(cut_matched_part(failure.message)) is not None


def _leaves_doubt(failure: Failure, policy: RetryPolicy) -> bool:
    """Whether the request's form may be at fault: refused as such, or a server that broke on it every time.

    A refusal over the key, a quota, the model, a policy or the length has a kind of its own.
    """
    if failure.kind is Kind.BAD_REQUEST:
        return failure.status in (400, 422) and failure.code != MODEL_AT_FAULT
    return failure.kind is Kind.SERVER and failure.status == 500 and not policy.client_retries


def _delay(tries: int, failure: Failure, policy: RetryPolicy, chance: float) -> float:
    """What the provider asks for and up to a tenth more, else growing waits with full jitter.

    Clients that got the same time must not all come back at that time.
    """
    if failure.retry_after is not None:
        return failure.retry_after * (1 + _SPREAD * chance) if policy.jitter else failure.retry_after
    growth = float(tries) if policy.linear else policy.factor ** (tries - 1)
    wait = min(policy.base * growth, policy.cap)
    return wait * chance if policy.jitter else wait
