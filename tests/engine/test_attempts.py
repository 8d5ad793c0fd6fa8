"""What is done after a failure: every decision as a row of a table (D10, K19)."""

from __future__ import annotations

import pytest

from dragoman.conversation.failures import Failure, FailureKind
from dragoman.engine.exchange.attempts import (
    MAX_CORRECTIONS,
    MAX_TOTAL,
    CompileWithCare,
    Correct,
    Decision,
    FallBack,
    GiveUp,
    History,
    NextKey,
    Renew,
    RestoreRefusal,
    Retry,
    RetryPolicy,
    next_step,
)
from dragoman.engine.exchange.lessons import Learnt

Kind = FailureKind
LEARNT = Learnt("tool-wrapper", {"tool_wrapper": "function_declarations"})
PLAIN = RetryPolicy(jitter=False)


def failed(kind: FailureKind, **more: float | str) -> Failure:
    return Failure(kind, "it failed", **more)  # type: ignore[arg-type]


BROKE_ON_FORM = Failure(Kind.SERVER, "TypeError: 'NoneType' object is not iterable", 500)
_LAST = History(tries=3, targets_left=1)
_CAREFUL = History(tries=1, careful=True, cared=True, targets_left=1)

DECISIONS: list[tuple[str, History, Failure, Learnt | None, Decision]] = [
    ("the first passing failure waits the base", History(tries=1), failed(Kind.SERVER), None, Retry(1.0)),
    ("the second twice as long", History(tries=2), failed(Kind.SERVER), None, Retry(2.0)),
    ("the third is the last", History(tries=3), failed(Kind.SERVER), None, GiveUp()),
    (
        "what the provider asks for comes first",
        History(tries=1),
        failed(Kind.RATE_LIMIT, retry_after=7),
        None,
        Retry(7),
    ),
    ("also if it asks for nothing", History(tries=2), failed(Kind.RATE_LIMIT, retry_after=0), None, Retry(0)),
    ("too long a wait is none", History(tries=1), failed(Kind.RATE_LIMIT, retry_after=31), None, GiveUp()),
    ("nor one that is in vain", History(tries=1), failed(Kind.OVERLOADED, is_final=True), None, GiveUp()),
    (
        "but another target's chance",
        History(tries=1, targets_left=1),
        failed(Kind.RATE_LIMIT, retry_after=31),
        None,
        FallBack(),
    ),
    ("a stream that broke may come whole", History(tries=1), failed(Kind.BROKEN_STREAM), None, Retry(1.0)),
    ("a timeout may pass", History(tries=1), failed(Kind.TIMEOUT), None, Retry(1.0)),
    ("an unreachable host may come back", History(tries=1), failed(Kind.NETWORK), None, Retry(1.0)),
    ("a bad request stays bad", History(tries=1), failed(Kind.BAD_REQUEST), None, GiveUp()),
    ("elsewhere too", History(tries=1, targets_left=2), failed(Kind.BAD_REQUEST), None, GiveUp()),
    ("what is too large here may fit elsewhere", History(targets_left=1), failed(Kind.TOO_LARGE), None, FallBack()),
    ("and is not sent here again", History(tries=1), failed(Kind.TOO_LARGE), None, GiveUp()),
    (
        "refused without a reason we know",
        History(tries=1),
        failed(Kind.BAD_REQUEST, status=400),
        None,
        CompileWithCare(),
    ),
    ("in these words too", History(tries=1), failed(Kind.BAD_REQUEST, status=422), None, CompileWithCare()),
    ("before other targets", History(tries=1, targets_left=1), failed(Kind.SERVER, status=500), None, Retry(1)),
    ("a server breaks on it each time", History(tries=3), failed(Kind.SERVER, status=500), None, CompileWithCare()),
    ("unless it says what it broke on", History(tries=1), BROKE_ON_FORM, None, CompileWithCare()),
    ("which is tried again after care", History(tries=1, cared=True), BROKE_ON_FORM, None, Retry(1)),
    ("care comes before other targets", _LAST, failed(Kind.SERVER, status=500), None, CompileWithCare()),
    ("another status says nothing", History(tries=3), failed(Kind.SERVER, status=502), None, GiveUp()),
    ("a conflict is no matter of form", History(tries=1), failed(Kind.BAD_REQUEST, status=409), None, GiveUp()),
    ("care is taken once", History(tries=1, cared=True), failed(Kind.BAD_REQUEST, status=400), None, GiveUp()),
    ("and did not help", _CAREFUL, failed(Kind.BAD_REQUEST, status=400), None, RestoreRefusal()),
    ("but what it teaches may", _CAREFUL, failed(Kind.BAD_REQUEST, status=400), LEARNT, Correct(LEARNT)),
    ("a careful body may pass later", _CAREFUL, failed(Kind.OVERLOADED, status=503), None, Retry(1)),
    ("but not for ever", History(tries=3, careful=True), failed(Kind.OVERLOADED), None, RestoreRefusal()),
    (
        "not even elsewhere",
        History(tries=3, careful=True, reserved=True),
        failed(Kind.RATE_LIMIT),
        None,
        RestoreRefusal(),
    ),
    ("nor without end", History(careful=True, total=MAX_TOTAL), failed(Kind.SERVER), None, RestoreRefusal()),
    (
        "a call that the model got wrong",
        History(tries=1),
        failed(Kind.BAD_REQUEST, code="tool_use_failed"),
        None,
        Retry(1),
    ),
    ("a refused key has no second try", History(tries=1), failed(Kind.AUTH), None, GiveUp()),
    ("another key of the pool has", History(tries=1, keys_left=1), failed(Kind.AUTH), None, NextKey()),
    ("a limit is the key's", History(tries=1, keys_left=1), failed(Kind.RATE_LIMIT), None, NextKey()),
    ("a server's fault is not", History(tries=1, keys_left=1), failed(Kind.SERVER), None, Retry(1.0)),
    ("a spent quota does not come back", History(tries=1), failed(Kind.QUOTA), None, GiveUp()),
    ("it falls back", History(tries=1, targets_left=1), failed(Kind.QUOTA), None, FallBack()),
    ("after the last retry too", History(tries=3, targets_left=1), failed(Kind.SERVER), None, FallBack()),
    ("too long for this one", History(tries=1, targets_left=1), failed(Kind.CONTEXT_LENGTH), None, FallBack()),
    ("too long for all", History(tries=1), failed(Kind.CONTEXT_LENGTH), None, GiveUp()),
    (
        "a target for just this needs no waiting",
        History(tries=1, reserved=True),
        failed(Kind.RATE_LIMIT, retry_after=1),
        None,
        FallBack(),
    ),
    ("a lesson is tried at once", History(tries=1), failed(Kind.BAD_REQUEST), LEARNT, Correct(LEARNT)),
    ("before another key", History(tries=1, keys_left=1), failed(Kind.AUTH), LEARNT, Correct(LEARNT)),
    ("but not for ever", History(tries=1, corrections=MAX_CORRECTIONS), failed(Kind.BAD_REQUEST), LEARNT, GiveUp()),
    ("and nothing is", History(tries=1, total=MAX_TOTAL), failed(Kind.SERVER), LEARNT, GiveUp()),
]


@pytest.mark.parametrize(
    ("history", "failure", "learnt", "step"), [row[1:] for row in DECISIONS], ids=[r[0] for r in DECISIONS]
)
def test_the_next_step(history: History, failure: Failure, learnt: Learnt | None, step: Decision) -> None:
    assert next_step(history, failure, PLAIN, 0.5, learnt) == step


NEVER = [
    failed(Kind.AUTH, status=401),
    failed(Kind.QUOTA, status=402),
    failed(Kind.PERMISSION, status=403),
    failed(Kind.NOT_FOUND, status=404),
    failed(Kind.TIMEOUT, status=408),
    failed(Kind.TOO_LARGE, status=413),
    failed(Kind.RATE_LIMIT, status=429),
    failed(Kind.CONTEXT_LENGTH, status=400),
    failed(Kind.CONTENT_FILTER, status=400),
    failed(Kind.QUOTA, status=400),
    failed(Kind.NOT_FOUND, status=400),
    failed(Kind.AUTH, status=400),
    failed(Kind.BAD_REQUEST, status=400, code="tool_use_failed"),
]


@pytest.mark.parametrize("failure", NEVER, ids=[f"{one.kind} {one.status}" for one in NEVER])
def test_care_is_not_taken_over_keys_quotas_models_policies_and_lengths(failure: Failure) -> None:
    assert not isinstance(next_step(History(tries=3), failure, PLAIN, 0.5, None), CompileWithCare)


def test_a_refusal_that_a_lesson_knows_goes_to_another_target_first() -> None:
    """If there is none, care is the last thing that may help."""
    failure = failed(Kind.BAD_REQUEST, status=400)
    assert next_step(History(tries=1, targets_left=1), failure, PLAIN, 0.5, None, recognised=True) == FallBack()
    assert next_step(History(tries=1), failure, PLAIN, 0.5, None, recognised=True) == CompileWithCare()
    assert next_step(History(tries=1, cared=True), failure, PLAIN, 0.5, None, recognised=True) == GiveUp()


def test_nor_over_a_500_that_the_client_repeats_itself() -> None:
    failure = failed(Kind.SERVER, status=500)
    assert next_step(History(tries=1), failure, RetryPolicy(attempts=1, client_retries=True), 0.5, None) == GiveUp()


@pytest.mark.parametrize(("chance", "delay"), [(0.0, 0.0), (0.25, 0.5), (1.0, 2.0)])
def test_jitter_is_a_part_of_the_wait(chance: float, delay: float) -> None:
    assert next_step(History(tries=2), failed(Kind.SERVER), RetryPolicy(), chance, None) == Retry(delay)


def test_jitter_does_not_shorten_what_the_provider_asks_for() -> None:
    assert next_step(History(tries=1), failed(Kind.RATE_LIMIT, retry_after=4), RetryPolicy(), 0.0, None) == Retry(4)


@pytest.mark.parametrize(("chance", "delay"), [(0.0, 30.0), (0.5, 31.5), (1.0, 33.0)])
def test_those_who_were_told_the_same_moment_do_not_come_back_at_it(chance: float, delay: float) -> None:
    """30 seconds are the longest wait; what is added to them does not make the provider's wish too long."""
    assert next_step(History(tries=1), failed(Kind.RATE_LIMIT, retry_after=30), RetryPolicy(), chance, None) == Retry(
        delay
    )
    steady = RetryPolicy(jitter=False)
    assert next_step(History(tries=1), failed(Kind.RATE_LIMIT, retry_after=30), steady, chance, None) == Retry(30)


def test_E14_waits_double_up_to_the_cap() -> None:
    policy = RetryPolicy(attempts=20, jitter=False)
    waits = [next_step(History(tries=n), failed(Kind.RATE_LIMIT), policy, 0.0, None) for n in range(1, 8)]
    assert waits == [Retry(1), Retry(2), Retry(4), Retry(8), Retry(16), Retry(30), Retry(30)]


def test_B13_the_defaults() -> None:
    assert RetryPolicy() == RetryPolicy(attempts=3, base=1.0, factor=2.0, cap=30.0, jitter=True)


def test_A22_waits_can_grow_by_the_same_each_time() -> None:
    policy = RetryPolicy(attempts=9, base=1.0, cap=4.0, jitter=False, linear=True)
    waits = [next_step(History(tries=n), failed(Kind.SERVER), policy, 0.0, None) for n in range(1, 6)]
    assert waits == [Retry(1), Retry(2), Retry(3), Retry(4), Retry(4)]


def test_A22_four_attempts_can_be_asked_for() -> None:
    policy = RetryPolicy(attempts=4, base=1.0, factor=1.0, jitter=False)
    steps = [next_step(History(tries=n), failed(Kind.TIMEOUT), policy, 0.0, None) for n in range(1, 5)]
    assert steps == [Retry(1), Retry(1), Retry(1), GiveUp()]


def test_newer_credentials_are_asked_for_once_and_only_if_the_sender_has_some() -> None:
    refused = Failure(FailureKind.AUTH, "The security token included in the request is expired", 403)
    policy = RetryPolicy()
    assert next_step(History(tries=1, renewable=True), refused, policy, 0.0, None) == Renew()
    assert next_step(History(tries=1), refused, policy, 0.0, None) == GiveUp()
    for kind in (FailureKind.PERMISSION, FailureKind.RATE_LIMIT, FailureKind.QUOTA):
        assert next_step(History(tries=1, renewable=True), Failure(kind, "no", 403), policy, 0.0, None) != Renew()
