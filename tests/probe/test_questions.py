"""The questions: each has a name of its own, settles facts that there are, and is one request."""

from __future__ import annotations

import re
from pathlib import Path

import msgspec
import pytest
from tests.judges import judge
from tests.probe.emulated import asking

from dragoman.emulators.chat.stated_facts import serve_facts
from dragoman.probe.asked_dialects import find_asked_dialect, list_asked
from dragoman.probe.findings import FoundBy, ProbeFinding, evidence_of, facts_found
from dragoman.probe.question import Condition, Question, Topic, Verdict
from dragoman.probe.questions_by_dialect.message_turns import user
from dragoman.probe.request_form import fit_together
from dragoman.profiles.facts import Facts, list_questions

CHAT = find_asked_dialect()
QUESTIONS = CHAT.questions
BY_ID = {question.id: question for question in QUESTIONS}


def test_every_question_has_its_own_id() -> None:
    assert len(BY_ID) == len(QUESTIONS)


@pytest.mark.parametrize("verdict", list(Verdict))
def test_every_verdict_gives_facts_that_there_are(verdict: Verdict) -> None:
    for question in QUESTIONS:
        found = facts_found([ProbeFinding(question.id, verdict)], QUESTIONS)
        msgspec.convert(found, Facts)


WIDER = {"calls_apart": {"late_result": "refuses"}}
"""Facts without which another one decides nothing: who lets results come late takes those of calls apart."""
DECLARED_FACTS = list_questions()
DECLARED = [question for question in QUESTIONS if question.settles in DECLARED_FACTS]


@pytest.mark.parametrize("question", DECLARED, ids=lambda question: question.id)
def test_a_server_of_stated_facts_does_what_a_declaration_asks_for(question: Question) -> None:
    """It shares no code with the declarations, so they are held to each other here."""
    body, wider = CHAT.form.body([question]), WIDER.get(question.settles, {})
    assert asking(serve_facts({**wider, question.settles: "accepts"}))(body) is None
    refusal = asking(serve_facts({**wider, question.settles: "refuses"}))(body)
    assert refusal is not None, "teach emulators/chat/stated_facts.py the fact"


def test_conditions_name_earlier_questions() -> None:
    order = {question.id: place for place, question in enumerate(QUESTIONS)}
    wrong = [
        (question.id, earlier)
        for question in QUESTIONS
        for earlier in (*question.after, *(condition.question for condition in question.unless))
        if order.get(earlier, len(order)) >= order[question.id]
    ]
    assert wrong == []


def test_turns_begin_with_the_user_and_end_with_the_assistant() -> None:
    """So that the turns of several questions, one after another, are a conversation."""
    ends = {
        question.id: (question.turns[0]["role"], question.turns[-1]["role"]) for question in QUESTIONS if question.turns
    }
    assert {name for name, roles in ends.items() if roles != ("user", "assistant")} == set()


def test_call_ids_differ_between_questions() -> None:
    seen: dict[str, str] = {}
    for question in QUESTIONS:
        for message in (*question.turns, *question.closing):
            for made in message.get("tool_calls", ()):
                assert seen.setdefault(made["id"], question.id) == question.id


def test_a_later_question_refines_an_earlier_one() -> None:
    found = [ProbeFinding("late-system", Verdict.REFUSED), ProbeFinding("system-after-user", Verdict.ACCEPTED)]
    assert facts_found(found, QUESTIONS) == {"system_place": "after-user"}
    assert facts_found(found[:1], QUESTIONS) == {"system_place": "opening"}


def test_lists_collect_what_is_accepted() -> None:
    found = [
        ProbeFinding("choice-required", Verdict.REFUSED),
        ProbeFinding("choice-none", Verdict.ACCEPTED),
        ProbeFinding("choice-auto", Verdict.ACCEPTED),
    ]
    assert facts_found(found, QUESTIONS)["tool_choices"][:2] == ["none", "auto"]
    assert "required" not in facts_found(found, QUESTIONS)["tool_choices"]


def test_what_was_not_asked_is_not_refused() -> None:
    """A budget may end in the middle of a list. The words that nobody asked for stay as they are by default."""
    found = [ProbeFinding("choice-required", Verdict.REFUSED)]
    assert {*facts_found(found, QUESTIONS)["tool_choices"]} == {"auto", "none", "named", "allowed"}
    assert facts_found([ProbeFinding("system", Verdict.ACCEPTED)], QUESTIONS) == {}


def test_the_evidence_of_a_fact_begins_with_a_refusal() -> None:
    found = [
        ProbeFinding("system", Verdict.ACCEPTED),
        ProbeFinding("two-systems", Verdict.REFUSED, FoundBy.ASKED, "One system message, please.", 400),
        ProbeFinding("setting-seed", Verdict.ACCEPTED),
    ]
    assert [one.says for one in evidence_of("system_count", found, QUESTIONS)] == ["One system message, please.", ""]


def test_questions_fit_together_unless_they_need_the_same_place() -> None:
    assert fit_together(BY_ID["setting-seed"], BY_ID["setting-top-p"])
    assert not fit_together(BY_ID["stops-5"], BY_ID["stops-4"])
    assert not fit_together(BY_ID["calls"], BY_ID["setting-seed"])
    assert not fit_together(BY_ID["stream-usage"], BY_ID["setting-seed"])


def test_a_request_asks_all_its_questions() -> None:
    body = CHAT.form.body([BY_ID["empty-user"], BY_ID["parallel-calls"], BY_ID["setting-seed"]])
    assert [message["role"] for message in body["messages"]] == [
        "user", "assistant", "user", "assistant", "tool", "tool", "assistant", "user",
    ]  # fmt: skip
    assert body["seed"] == 7
    assert [tool["function"]["name"] for tool in body["tools"]] == ["lookup"]


def test_every_server_takes_the_request_without_a_question() -> None:
    body = msgspec.json.encode({"model": "gpt-4o-mini", **CHAT.form.body([]), "max_tokens": 16})
    for profile in ("openai", "mistral", "groq", "openai-compatible-strict", "strict-template", "perplexity"):
        assert judge(profile, "x", "/chat/completions", {}, body) is None, profile


def test_a_condition_without_a_verdict_leaves_the_question_open() -> None:
    assert Condition("system", Verdict.REFUSED).then is None
    question = Question(id="x", asks="x", topic=Topic.TURNS, turns=(user(),), settles="empty_user")
    assert question.names == {"empty_user"}


def test_every_fact_is_asked_for_or_listed_with_a_reason() -> None:
    """The guide says which facts cannot be seen from outside, and why. It names no others."""
    page = (Path(__file__).parents[2] / "docs" / "guide" / "probing.md").read_text("utf-8")
    table = page.partition("## What cannot be seen from outside")[2]
    rows = [line.split("|")[1] for line in table.splitlines() if line.startswith("| `")]
    listed = {name for row in rows for name in re.findall(r"`(\w+)`", row)}
    every = [question for name in list_asked() for question in find_asked_dialect(name).questions]
    asked = {name.partition(".")[0] for question in every for name in question.names}
    assert {*Facts.__struct_fields__} - asked - listed == set(), "write a question for it, or say in the guide why not"
    assert listed - {*Facts.__struct_fields__} == set()
    assert listed & asked == set()
