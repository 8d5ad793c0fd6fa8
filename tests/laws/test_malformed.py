"""Laws 1 and 5 on malformed input: accepted by the judge, or a 400 or 422 that says where; and nothing is lost.

What is clearly meant is never refused, and what the conversation says is in the output, however it was wrapped.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from functools import cache
from typing import Any

import orjson
import pytest
from tests.corpus import FULL
from tests.judges import judge
from tests.shapes.chooser import seeded
from tests.shapes.malformed import MUTATIONS, Mutation, malformed
from tests.shapes.spoiled import Spoiled, spoil
from tests.shapes.wellformed import SAMPLES
from tests.targets import OWN, TARGETS, split

from dragoman.engine.library.adapt import BUILTIN, AdaptedRequest, adapt
from dragoman.engine.library.policy import Policy
from dragoman.errors import RequestError
from dragoman.profiles.facts import Stance

VALIDATING = (
    "openai/gpt-4o",
    "openai/gpt-5",
    "openai-responses/gpt-5",
    "anthropic/claude-sonnet-4-5",
    "anthropic/claude-opus-4-8",
    "gemini/gemini-2.5-flash",
    "gemini/gemini-3-pro-preview",
    "openrouter/google/gemini-2.5-flash",
    "openrouter/openai/gpt-4o",
    "openrouter/anthropic/claude-sonnet-4.5",
    "groq/llama-3.3-70b-versatile",
    "mistral/mistral-large-latest",
    "deepseek/deepseek-chat",
    "openai-compatible-strict/some-model",
)
CHOSEN = TARGETS if FULL else VALIDATING
SEEDS = range(4) if FULL else range(1)


def verdict(mutation: Mutation, target: str, seed: int) -> str:
    """ "accepted", "refused", or what is wrong."""
    asked = malformed(mutation, seeded(seed))
    try:
        adapted = accepted_at_last(orjson.dumps(asked.body), mutation.dialect, target)
    except RequestError as refused:
        if mutation.meant:
            return f"refused though it is meant: {refused}"
        return "refused" if refused.status in (400, 422) and refused.at.startswith("/") else f"no pointer: {refused}"
    if isinstance(adapted, str):
        return adapted
    lost = [word for word in asked.words if word.encode() not in adapted.body]
    return f"lost {lost}" if mutation.meant and lost else "accepted"


def accepted_at_last(body: bytes, source: str, target: str) -> AdaptedRequest | str:
    """What the judge accepts, or its refusal.

    A generic server of which nobody knows whether it checks gets the client's own bytes. If its judge refuses them,
    the request is compiled once more with care, as the exchange does (K19).
    """
    adapted = adapt(body, source=source, target=target)
    refused = refusal_of(adapted, target)
    if refused and BUILTIN.target(target).facts.off_schema is Stance.UNKNOWN:
        adapted = adapt(body, source=source, target=target, policy=Policy(doubt="careful"))
        refused = refusal_of(adapted, target)
    return refused or adapted


def refusal_of(adapted: AdaptedRequest, target: str) -> str:
    name, model = split(target)
    answer = judge(name, model, adapted.path, adapted.headers, adapted.body)
    return "" if answer is None else f"the judge refuses it: {orjson.dumps(answer.body).decode()[:160]}"


def wrong_verdicts(mutation: Mutation) -> tuple[Counter[str], list[tuple[str, str]]]:
    counted: Counter[str] = Counter()
    wrong = []
    for target in CHOSEN:
        for seed in SEEDS:
            found = verdict(mutation, target, seed)
            if found in ("accepted", "refused"):
                counted[found] += 1
            else:
                wrong.append((target, found))
    return counted, wrong


@pytest.mark.parametrize("mutation", MUTATIONS, ids=lambda one: f"{one.dialect} {one.name}")
def test_a_malformed_request_is_accepted_or_refused_with_its_place(mutation: Mutation) -> None:
    _, wrong = wrong_verdicts(mutation)
    assert wrong == []


@pytest.mark.slow
def test_few_malformed_requests_are_refused(capsys: pytest.CaptureFixture[str]) -> None:
    """The share of refusals is stated and bounded: a seventh of the mutations cannot be meant, not all are refused."""
    counted: Counter[str] = Counter()
    for mutation in MUTATIONS:
        counted += wrong_verdicts(mutation)[0]
    share = counted["refused"] / (len(MUTATIONS) * len(CHOSEN) * len(SEEDS))
    with capsys.disabled():
        print(f"\nmalformed requests: {dict(counted)}, refused {share:.1%}")
    assert share <= 0.1


def spoiled_requests(dialect: str) -> Iterator[Spoiled]:
    """Every place of the well-formed requests once with every kind of wrong value."""
    seen: set[tuple[str, str]] = set()
    for body in SAMPLES[dialect]:
        for one in spoil(body):
            if (one.kind, one.place) not in seen:
                seen.add((one.kind, one.place))
                yield one


def verdict_of_spoiled(one: Spoiled, dialect: str, target: str) -> str:
    """A key that nobody knows may belong to a newer API: it goes through, and care leaves it out (K18, K19)."""
    try:
        body = orjson.dumps(one.body)
        found = refusal_of(adapt(body, source=dialect, target=target), target)
        if found and one.kind == "unknown key":
            found = refusal_of(adapt(body, source=dialect, target=target, policy=Policy(doubt="careful")), target)
    except RequestError as refused:
        return "refused" if refused.status in (400, 422) and refused.at.startswith("/") else f"no pointer: {refused}"
    return found or "accepted"


@pytest.mark.parametrize("dialect", SAMPLES)
def test_a_request_spoiled_anywhere_is_accepted_or_refused_with_its_place(
    dialect: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """Each for one target, which changes from place to place; in the full run each for all."""
    counted: Counter[str] = Counter()
    wrong = []
    for number, one in enumerate(spoiled_requests(dialect)):
        for target in VALIDATING if FULL else (VALIDATING[number % len(VALIDATING)],):
            found = verdict_of_spoiled(one, dialect, target)
            counted[found.partition(":")[0]] += 1
            if found not in ("accepted", "refused"):
                wrong.append((one.kind, one.place, target, found))
    with capsys.disabled():
        print(f"\nspoiled {dialect} requests: {dict(counted)}")
    assert wrong == []


WRONG_SHAPES = ("number", "text for object", "list of object", "object for list", "text for list", "object for text")
WRONG_SHAPES += ("list for text", "text")
_SCHEMAS = ("chema", "parameters/", "format/")


def wrong_shapes(dialect: str) -> Iterator[tuple[Spoiled, Any]]:
    """Requests with one value of a wrong type, each with that value. Schemas are the tool's own business."""
    for one in spoiled_requests(dialect):
        wrong = one.kind in WRONG_SHAPES and type(one.was) not in (int, float)
        if wrong and not any(word in one.place for word in _SCHEMAS) and refused_by_its_own(dialect, one.body):
            yield one, value_at(one.body, one.path)


def refused_by_its_own(dialect: str, body: dict[str, Any]) -> bool:
    """Whether the emulator of the client's own dialect refuses it, so that what is sent cannot be what was written."""
    name, model = split(OWN[dialect])
    path, headers = request_line(dialect)
    named = body.get("model")
    return judge(name, named if isinstance(named, str) else model, path, headers, orjson.dumps(body)) is not None


@cache
def request_line(dialect: str) -> tuple[str, dict[str, str]]:
    adapted = adapt(orjson.dumps(SAMPLES[dialect][0]), source=dialect, target=OWN[dialect])
    return adapted.path, dict(adapted.headers)


def value_at(body: Any, path: tuple[str | int, ...]) -> Any:
    for step in path:
        body = body[step]
    return body


def is_silent(one: Spoiled, wrong: Any, dialect: str, target: str) -> bool:
    """Whether a wrong value was read otherwise than it was written, and the report does not speak of it."""
    try:
        adapted = adapt(orjson.dumps(one.body), source=dialect, target=target)
    except RequestError:
        return False
    at = "".join(f"/{step}" for step in one.path)
    told = any(change.at.startswith(at) or (change.at and at.startswith(change.at)) for change in adapted.changes)
    return not told and orjson.dumps(wrong) not in adapted.body


@pytest.mark.parametrize("dialect", OWN)
def test_a_wrong_shape_is_refused_or_reported(dialect: str) -> None:
    """Each for one target, which changes from place to place; in the full run each for all."""
    silent = []
    targets = tuple(OWN.values())
    for number, (one, wrong) in enumerate(wrong_shapes(dialect)):
        for target in targets if FULL else (targets[number % len(targets)],):
            if is_silent(one, wrong, dialect, target):
                silent.append((one.kind, one.place, target))
    assert silent == []
