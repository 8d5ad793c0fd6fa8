"""Probe the emulators of other dialects than Chat knowing nothing: what is found is what they do."""

from __future__ import annotations

from functools import cache
from statistics import median
from typing import Any

import msgspec
import pytest
from tests.probe.emulated import Probed, asking, probe

from dragoman.emulators.catalogue import provider
from dragoman.engine.library.adapt import adapt
from dragoman.probe.asked_dialects import find_asked_dialect, list_asked
from dragoman.probe.check import Agreement, compare_facts
from dragoman.probe.findings import facts_found
from dragoman.probe.inquiry import Inquiry
from dragoman.probe.question import Question, Verdict
from dragoman.probe.request_form import member_paths
from dragoman.profiles.profile import Profile, Profiles, merge

PROFILES = Profiles()
CASES = (
    "anthropic/claude-sonnet-4-5", "anthropic/claude-opus-5", "anthropic/claude-3-5-haiku",
    "openai-responses/gpt-4o-mini", "openai-responses/gpt-5.2", "openai-responses/o3",
    "gemini/gemini-2.5-flash", "gemini/gemini-3-pro-preview", "gemini/gemini-2.0-flash", "vertex/gemini-2.5-flash",
    "ollama/qwen3:8b", "ollama/gemma3:4b", "cohere/command-a-03-2025",
)  # fmt: skip
MOST = 60
"""Requests that a probe of any of these may need."""

CAREFUL = {
    "part_fields": "the profile has it under `unknown_fields`, which is refused",
    "no_parts": "the profile is careful",
    "first_turn": "the profile is careful: some models of this provider refuse it",
    "choice_without_tools": "the profile is careful",
    "format_with_tools": "the emulator does not know which models refuse it",
    "repeated_result": "the profile is careful",
    "duplicate_ids_in_turn": "the profile is careful",
    "tool_name_length": "the emulator does not look at names",
    "tool_name_pattern": "the emulator does not look at names",
    "odd_call_id": "the profile says it by the pattern, which is empty",
    "message_name": "the dialect has no such field, and the server ignores it",
    "thinking": "the emulator does not know which models think",
    "thinking_form": "a model that does not think says so in the words of one that thinks otherwise",
    "settings.temperature.max": "a model that refuses the setting refuses high values too",
    "settings.temperature.support": "the profile says that it is refused while the model thinks, as it always does",
    "settings.top_p.support": "the profile says that it is refused while the model thinks, as it always does",
    "settings.top_logprobs.support": "the profile says that it is refused while the model thinks, as it always does",
}
"""Where a profile says something else than its emulator does, and why."""


def asker(case: str, **options: Any) -> Any:
    name, _, model = case.partition("/")
    return asking(provider(name, **options), model)


def dialect_of(case: str) -> Any:
    return find_asked_dialect(PROFILES.target(case).dialect)


@cache
def probed(case: str) -> Probed:
    return probe(asker(case), Inquiry(dialect_of(case)))


def facts_of(case: str, found: Probed) -> dict[str, Any]:
    return facts_found(found.inquiry.findings, dialect_of(case).questions)


def alone(case: str, question: Question) -> dict[str, Any]:
    """The request that asks one question, with the token limit of the control."""
    form, control = dialect_of(case).form, probed(case).requests[0]
    body = form.body([question])
    limited = not form.limit_paths.isdisjoint(member_paths(body))
    limit = {} if limited else next(one for one in form.limits if merge(form.body(()), one) == control.body)
    return merge(body, limit)


@pytest.mark.sampled(4)
@pytest.mark.parametrize("case", CASES)
def test_each_verdict_is_that_of_the_question_asked_alone(case: str) -> None:
    by_id, ask = {question.id: question for question in dialect_of(case).questions}, asker(case)
    wrong = []
    for finding in probed(case).inquiry.findings:
        refusal = ask(alone(case, by_id[finding.question]))
        if (refusal is None) is (finding.verdict is Verdict.REFUSED):
            wrong.append((finding, refusal))
    assert wrong == []


@pytest.mark.parametrize("case", CASES)
def test_nothing_is_left_open(case: str) -> None:
    found = probed(case)
    assert (found.inquiry.open, found.inquiry.skipped, found.inquiry.stopped) == ((), {}, "")
    assert len(found.requests) <= MOST


def test_few_requests_are_needed() -> None:
    assert median(len(probed(case).requests) for case in CASES) <= 42


@pytest.mark.parametrize("case", CASES)
def test_the_profile_agrees_with_what_is_found(case: str) -> None:
    compared = compare_facts(PROFILES.target(case).facts, facts_of(case, probed(case)))
    other = [one for one in compared if one.agreement is Agreement.OTHER and one.fact not in CAREFUL]
    assert other == []


MODELS: dict[tuple[str, str], dict[str, Any]] = {
    ("anthropic/claude-sonnet-4-5", "anthropic/claude-opus-5"): {
        "system_place": "before-answer", "empty_assistant": "accepts", "no_parts": "accepts", "last_turn": "user",
        "repeated_last": None, "trailing_space": None, "thinking_form": None, "no_user": None,
        "settings": {
            "temperature": {"max": 1, "support": "refuses"}, "top_p": {"support": "refuses"},
            "top_k": {"support": "refuses"},
        },
    },
    ("gemini/gemini-2.5-flash", "gemini/gemini-3-pro-preview"): {"call_signature": "refuses", "thinking_form": "level"},
    ("openai-responses/gpt-4o-mini", "openai-responses/gpt-5.2"): {
        "thinking": "accepts", "thinking_off": "accepts", "settings": {"verbosity": {"support": "accepts"}},
    },
}  # fmt: skip
"""Two models of one emulator, and the facts that differ. None: the question is not asked, or its answer says nothing.
Of the settings only those that differ are named."""


@pytest.mark.parametrize("pair", list(MODELS), ids=lambda pair: pair[1])
def test_a_model_changes_the_facts_that_it_is_about(pair: tuple[str, str]) -> None:
    before, after = (facts_of(case, probed(case)) for case in pair)
    assert changed(before, after) == MODELS[pair]


def changed(before: dict[str, Any], after: dict[str, Any]) -> dict[str, Any]:
    found = {fact: after.get(fact) for fact in before.keys() | after.keys() if before.get(fact) != after.get(fact)}
    settings = found.pop("settings", None)
    if settings is not None:
        found["settings"] = {name: one for name, one in settings.items() if before["settings"].get(name) != one}
    return found


TOGGLED: dict[tuple[str, str], dict[str, Any]] = {
    ("anthropic/claude-sonnet-4-5", "cache_control"): {"cache_hints": "refuses"},
    ("anthropic/claude-sonnet-4-5", '"is_error"'): {"result_error": "refuses"},
    ("openai-responses/gpt-5.2", '"type":"reasoning"'): {"reasoning_text": "refuses"},
    ("openai-responses/gpt-5.2", '"custom"'): {"custom_tools": "refuses"},
    ("gemini/gemini-2.5-flash", "parametersJsonSchema.*defs"): {
        "schema_form": "gemini-proto", "schema_as": "parameters",
    },
    ("gemini/gemini-2.5-flash", '"thought":true'): {"reasoning_text": "refuses"},
    ("ollama/qwen3:8b", '"images"'): {"media": {"image": {"inline": "refuses"}}},
    ("ollama/qwen3:8b", '"role":"(user|assistant)".*"role":"system"'): {"system_place": "opening", "late_system": None},
    ("cohere/command-a-03-2025", '"image_url"'): {"media": {"image": {"inline": "refuses"}}},
    ("cohere/command-a-03-2025", '"tool_choice":"REQUIRED"'): {"tool_choices": ["none"]},
}  # fmt: skip
"""An emulator that refuses this besides, in words that nobody knows, and the facts that change with it."""


@pytest.mark.parametrize("toggle", list(TOGGLED), ids=lambda one: f"{one[0]}-{one[1]}")
def test_a_further_refusal_changes_the_facts_that_it_is_about(toggle: tuple[str, str]) -> None:
    case, pattern = toggle
    found = probe(asker(case, refuses=[pattern]), Inquiry(dialect_of(case)))
    assert changed(facts_of(case, probed(case)), facts_of(case, found)) == TOGGLED[toggle]


LIKE = {name: name for name in list_asked()} | {"anthropic": "anthropic-compatible-strict", "openai-chat": "openai"}
WIDER = {
    "annotations", "calls-apart", "several-texts", "thinking-off",
}  # fmt: skip
"""Questions whose fact decides nothing about a request as small as theirs."""


@pytest.mark.parametrize("name", list_asked())
def test_a_question_asks_for_what_its_fact_decides(name: str) -> None:
    """Its request is changed if the fact says that it is refused, unless another fact has it changed anyway."""
    idle = [
        question.id
        for question in find_asked_dialect(name).questions
        if question.settles and question.id not in WIDER and not repaired(name, question)
    ]
    assert idle == [], "no rule changes the request: name the fact in `lacks` of the dialect's questions, or in WIDER"


def repaired(name: str, question: Question) -> bool:
    asked = find_asked_dialect(name)
    facts = question.outcome(Verdict.REFUSED).facts
    profiles = PROFILES.extended({"house": Profile(name="house", like=LIKE[name], dialect=name, facts=facts)})
    body = merge(asked.form.limits[0], asked.form.body([question]))
    raw = msgspec.json.encode(body if asked.dialect.model_in_path else {"model": "m", **body})
    return bool(adapt(raw, source=name, target="house/m", profiles=profiles).changes)


@pytest.mark.parametrize("name", list_asked())
@pytest.mark.parametrize("verdict", [Verdict.ACCEPTED, Verdict.REFUSED])
def test_every_verdict_gives_facts_that_a_profile_may_state(name: str, verdict: Verdict) -> None:
    questions = find_asked_dialect(name).questions
    for question in questions:
        outcome = question.outcome(verdict)
        facts = merge(outcome.facts, {fact: list(words) for fact, words in outcome.adds.items()})
        house = Profile(name="house", like=LIKE[name], dialect=name, facts=facts)
        PROFILES.extended({"house": house}).target("house/m")
