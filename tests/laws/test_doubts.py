"""Doubt is settled by the provider, once: for every fact that a profile leaves open.

An emulator that refuses what the fact is about, in words that nobody has heard before, refuses the request as it came.
The careful one is accepted at the second attempt, whole and streamed, and from then on the first attempt is.
(K19)
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterator
from typing import Any

import msgspec
import orjson
import pytest
from tests.by_dialect import ByDialect
from tests.corpus import FULL
from tests.engine.test_exchange import Driver
from tests.judges import JUDGES, served_path
from tests.shapes.asked_doubts import doubt_case
from tests.shapes.doubts import CASES, HI, DoubtCase
from tests.targets import TARGETS, split

from dragoman.dialects import registry
from dragoman.dialects.dialect import AnswerContext
from dragoman.emulators.catalogue import provider
from dragoman.emulators.emulated_api import FURTHER_WORDS as WORDS
from dragoman.emulators.emulator_core import EmulatorCore
from dragoman.engine.exchange.destination import Destination, TargetRoute
from dragoman.engine.exchange.exchange import Exchange
from dragoman.engine.exchange.steps import Answered, GaveUp, Send, Streaming
from dragoman.engine.library.adapt import adapt, choose, read
from dragoman.engine.library.policy import Policy
from dragoman.profiles.facts import Facts, Stance
from dragoman.profiles.profile import Layer, patch_target

# Facts that a dialect has no words for: no request can depend on them there.
MOOT = ByDialect(
    "MOOT of tests/laws/test_doubts.py, the facts that it has no words for",
    {
        "bedrock": {"odd_choice", "odd_reasoning_field", "odd_thinking_field", "past_signature", "prefill_mark"},
        "anthropic": {"odd_choice", "odd_reasoning_field", "odd_thinking_field", "past_signature", "prefill_mark"},
        "gemini": {"no_user_parts", "odd_choice", "odd_reasoning_field", "odd_thinking_field", "prefill_mark"},
        "openai-responses": {
            "odd_reasoning_field",
            "odd_thinking_field",
            "past_signature",
            "prefill_mark",
            "reasoning_text",
        },
        "openai-chat": set[str](),
        "cohere": {"odd_choice", "odd_thinking_field", "past_signature", "prefill_mark"},
        "ollama": {
            "above_output_limit",
            "mistyped_media",
            "odd_choice",
            "odd_thinking_field",
            "past_signature",
            "prefill_mark",
        },
    },
)
# Facts that another fact of the target makes idle: no form of ids to be odd against, no thinking, no field of its own,
# no limit that is known, no last turn of the model's (Llama's on Bedrock gets one of the user).
# `stream_usage` guides what the gateway asks for itself; an odd choice is kept as it is in Responses.
IDLE: dict[str, set[str]] = {
    "bedrock": {"above_output_limit", "trailing_space"},
    "anthropic": {"above_output_limit"},
    "gemini": {"above_output_limit", "past_signature"},
    "openai-responses": {"above_output_limit", "odd_choice"},
    "openai-chat": {
        "above_output_limit",
        "forced_choice_thinking",
        "odd_call_id",
        "odd_reasoning_field",
        "odd_thinking_field",
        "past_signature",
        "stream_usage",
    },
    "cohere": {"above_output_limit"},
}


class DoubtfulFact(msgspec.Struct, frozen=True):
    """A fact that a target's profile leaves open, with the request that depends on it."""

    target: str
    dialect: str
    name: str
    case: DoubtCase


def doubtful_names(facts: Facts) -> Iterator[str]:
    """`empty_user`, `media.image.url`, `settings.seed.support`: every fact that is unknown."""
    for name in facts.__struct_fields__:
        if getattr(facts, name) is Stance.UNKNOWN:
            yield name
    for table in ("media", "settings"):
        for entry, value in getattr(facts, table).items():
            yield from (
                f"{table}.{entry}.{field}"
                for field in value.__struct_fields__
                if getattr(value, field) is Stance.UNKNOWN
            )


def doubts() -> Iterator[DoubtfulFact]:
    for target in TARGETS:
        chosen = choose(target)
        for name in doubtful_names(chosen.facts):
            case = doubt_case(target, chosen.dialect, name) if name not in MOOT[chosen.dialect] else None
            if case is not None:
                yield DoubtfulFact(target, chosen.dialect, name, case)


def shows(case: DoubtCase, body: bytes) -> bool:
    """Whether the body shows what the fact is about."""
    return re.search(case.pattern, orjson.dumps(orjson.loads(body)).decode(), re.DOTALL) is not None


def test_every_open_fact_has_a_case() -> None:
    open_facts = {(choose(target).dialect, name) for target in TARGETS for name in doubtful_names(choose(target).facts)}
    known = {(fact.dialect, fact.name) for fact in doubts()}
    moot = {(dialect, name) for dialect, names in MOOT.items() for name in names}
    assert open_facts - known - moot == set(), "write a DoubtCase into tests/shapes/doubts.py, or name the fact in MOOT"


class Settled(msgspec.Struct, frozen=True):
    """How a request ended: the number of sends, its end, and what was learnt."""

    sends: int
    end: Any
    learnt: Any


def _streamed(body: dict[str, Any], dialect: str, stream: bool) -> dict[str, Any]:
    """The body of a request for a stream. Some paths ask for it; Ollama's clients ask for none."""
    if dialect == "ollama":
        return {**body, "stream": stream}
    return {**body, "stream": stream} if stream and not registry.dialect(dialect).model_in_path else body


def carried_out(fact: DoubtfulFact, stream: bool, target: Any = None, body: Any = None) -> Settled:
    """One request of a client in the target's dialect, to an emulator that refuses what the fact is about."""
    chosen = target or choose(fact.target)
    destination = Destination(name=fact.target, provider=chosen.profile.name, target=chosen)
    ask = read(
        orjson.dumps(_streamed(body or fact.case.body, fact.dialect, stream)), source=fact.dialect, stream=stream
    )
    asked = Exchange(ask, TargetRoute((destination,)), AnswerContext(model="m", id="req_1"))
    name, model = split(fact.target)
    emulator, options = JUDGES[name]
    core = EmulatorCore(provider(emulator, **{**options, "strict": False, "refuses": [fact.case.pattern]}))

    def answer(send: Send[Destination]) -> tuple[int, bytes]:
        path, query = served_path(core.provider, send.request.path, model)
        planned = core.respond("POST", path, query, dict(send.request.headers), send.request.body)
        return planned.status, b"".join(planned.frames) if planned.frames is not None else planned.body

    driver = Driver(asked, answer)
    end = driver.run()
    return Settled(len(driver.sent()), end, asked.learnt)


def sampled_doubts() -> list[DoubtfulFact]:
    """All of them in the full run; else every fact of a dialect once, on a target that changes from fact to fact."""
    if FULL:
        return list(doubts())
    by_name: dict[tuple[str, str], list[DoubtfulFact]] = defaultdict(list)
    for fact in doubts():
        if shows(fact.case, sent_faithfully(fact)) and not is_idle(fact):
            by_name[fact.dialect, fact.name].append(fact)
    return [found[number % len(found)] for number, found in enumerate(by_name.values())]


def sent_faithfully(fact: DoubtfulFact) -> bytes:
    return adapt(orjson.dumps(fact.case.body), source=fact.dialect, target=fact.target).body


def is_idle(fact: DoubtfulFact) -> bool:
    """Whether even care leaves the body as it is."""
    careful = adapt(
        orjson.dumps(fact.case.body), source=fact.dialect, target=fact.target, policy=Policy(doubt="careful")
    )
    return shows(fact.case, careful.body)


@pytest.mark.slow
def test_every_open_fact_is_settled_at_the_second_attempt_and_then_known(
    capsys: pytest.CaptureFixture[str],
) -> None:
    counted: Counter[str] = Counter()
    idle: dict[str, set[str]] = {dialect: set() for dialect in CASES}
    wrong: list[tuple[str, str, str]] = []
    for fact in sampled_doubts():
        if not shows(fact.case, sent_faithfully(fact)):
            counted["repaired anyway, by another fact"] += 1
            continue
        if is_idle(fact):
            idle[fact.dialect].add(fact.name)
            counted["idle, by another fact"] += 1
            continue
        counted["settled"] += 1
        wrong += [(fact.target, fact.name, reason) for reason in _unsettled(fact)]
    with capsys.disabled():
        print(f"\nopen facts: {dict(counted)}")
    assert wrong == []
    unknown = {dialect: names - IDLE.get(dialect, set()) for dialect, names in idle.items()}
    assert unknown == {dialect: set() for dialect in CASES}, "another fact may make them idle: name them in IDLE"
    assert counted["settled"] >= 110


def _unsettled(fact: DoubtfulFact) -> Iterator[str]:
    """What went wrong with one fact, whole or streamed."""
    for stream, end in ((False, Answered), (True, Streaming)):
        if fact.case.body.get("stream") and not stream:
            continue  # the fact is about streams alone
        first = carried_out(fact, stream)
        if first.sends != 2 or not isinstance(first.end, end):
            yield f"{'streamed' if stream else 'whole'}: {first.sends} sends, {type(first.end).__name__}"
            continue
        (learnt,) = first.learnt
        known = patch_target(choose(fact.target), Layer("lessons", learnt.facts))
        again = carried_out(fact, stream, known)
        if again.sends != 1 or not isinstance(again.end, end):
            yield f"from then on: {again.sends} sends, {type(again.end).__name__}"


HOPELESS = DoubtCase({}, r"^\{")
"""A pattern that every body matches."""


@pytest.mark.parametrize(
    ("target", "name"),
    [
        ("together/some-model", "empty_user"),
        ("together/some-model", "unknown_fields"),
        ("anthropic/claude-sonnet-4-5", "unknown_settings"),
        ("gemini/gemini-2.5-flash", "blank_text"),
        ("openai-responses/gpt-5", "unknown_settings"),
    ],
)
@pytest.mark.parametrize("stream", [False, True])
def test_a_refusal_that_care_does_not_cure_costs_one_call_and_keeps_the_first_words(
    target: str, name: str, stream: bool
) -> None:
    dialect = choose(target).dialect
    case = doubt_case(target, dialect, name)
    assert case is not None
    done = carried_out(DoubtfulFact(target, dialect, name, HOPELESS), stream, body=case.body)
    assert done.sends == 2
    assert isinstance(done.end, GaveUp)
    assert (done.end.failure.message, done.learnt) == (WORDS, ())


@pytest.mark.parametrize("stream", [False, True])
def test_a_refusal_that_leaves_no_doubt_costs_no_call(stream: bool) -> None:
    fact = DoubtfulFact("openai/gpt-4o", "openai-chat", "", HOPELESS)
    done = carried_out(fact, stream, body={"model": "m", "messages": [HI]})
    assert (done.sends, done.end.failure.message) == (1, WORDS)
