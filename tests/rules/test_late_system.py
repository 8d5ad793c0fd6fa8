"""`late-system`: a system message after the first turn."""

from __future__ import annotations

from typing import Any

import pytest
from tests.rules.runs import CHAT, facts, leaves_alone, run, sent

from dragoman.errors import RepairRefused
from dragoman.profiles.facts import Facts
from dragoman.rules.place.late_system import late_system

OPENING = facts(system_place="opening")
AFTER_USER = facts(system_place="after-user")
BEFORE_ANSWER = facts(system_place="before-answer")
TALK = "system: S\nuser: Hi\nsystem: L\nassistant: Hello"

AS_USER: dict[str, tuple[Facts, str, str, list[str]]] = {
    "if only the opening is allowed": (
        OPENING,
        TALK,
        "system: S\nuser: Hi\nuser: [System] L\nassistant: Hello",
        ["/messages/2"],
    ),
    "if there is only a field": (
        facts(system_place="top-level"),
        TALK,
        "system: S\nuser: Hi\nuser: [System] L\nassistant: Hello",
        ["/messages/2"],
    ),
    "if it is taken and not heeded": (
        facts(late_system="refuses"),
        TALK,
        "system: S\nuser: Hi\nuser: [System] L\nassistant: Hello",
        ["/messages/2"],
    ),
    "a developer's, and a run of them": (
        OPENING,
        "user: Hi\nassistant: A\ndeveloper (bob): L\nsystem: M\nuser: B",
        "user: Hi\nassistant: A\nuser (bob): [System] L\nuser: [System] M\nuser: B",
        ["/messages/2", "/messages/3"],
    ),
    "after the assistant, if it must follow the user": (
        AFTER_USER,
        "user: Hi\nassistant: A\nsystem: L\nuser: B",
        "user: Hi\nassistant: A\nuser: [System] L\nuser: B",
        ["/messages/2"],
    ),
    "before the user, if it must precede the answer": (
        BEFORE_ANSWER,
        "user: Hi\nsystem: L\nuser: B",
        "user: Hi\nuser: [System] L\nuser: B",
        ["/messages/1"],
    ),
    "after the assistant's words, if it must follow the user": (
        BEFORE_ANSWER,
        "user: Hi\nassistant: A\nsystem: L\nassistant: B",
        "user: Hi\nassistant: A\nuser: [System] L\nassistant: B",
        ["/messages/2"],
    ),
    "without words": (
        OPENING,
        "user: Hi\nsystem: []",
        "user: Hi\nuser: [System]\\u0020",
        ["/messages/1"],
    ),
}


@pytest.mark.parametrize("name", AS_USER)
def test_by_default_it_becomes_a_user_turn_where_it_stands(name: str) -> None:
    known, before, after, places = AS_USER[name]
    done = run(late_system, before, known)
    assert done.script == after
    assert done.changes == [(at, "authority", False) for at in places]
    assert done.conversation.messages[0] is done.ask.conversation.messages[0]
    assert run(late_system, before, known, choice="user").script == after


def test_the_tag_can_be_configured() -> None:
    done = run(late_system, "user: Hi\nsystem: L", OPENING, texts={"system_prefix": "# "})
    assert done.script == "user: Hi\nuser: # L"


def test_the_choice_opening_moves_it_to_the_other_system_messages() -> None:
    done = run(late_system, "system: S\nuser: Hi\nsystem: L\nuser: B\ndeveloper: M", OPENING, choice="opening")
    assert done.script == "system: S\nsystem: L\ndeveloper: M\nuser: Hi\nuser: B"
    assert done.changes == [("/messages/2", "order", False), ("/messages/4", "order", False)]


def test_the_choice_opening_without_any_other_system_message() -> None:
    assert run(late_system, "user: Hi\nsystem: L", OPENING, choice="opening").script == "system: L\nuser: Hi"


UNTOUCHED: dict[str, tuple[str, Facts, str | None]] = {
    "none that is late": ("system: S\nsystem: T\nuser: Hi", OPENING, None),
    "a target that takes it anywhere": (TALK, facts(system_place="anywhere"), None),
    "after the user, if that is enough": ("user: Hi\nsystem: L\nuser: B", AFTER_USER, None),
    "between the user and the answer": ("user: Hi\nsystem: L\nassistant: A", BEFORE_ANSWER, None),
    "at the end": ("user: Hi\nsystem: L", BEFORE_ANSWER, None),
    "after results": ("user: Hi\ncall f(a) {}\nresult a: 1\nsystem: L", BEFORE_ANSWER, None),
    "keep": (TALK, OPENING, "keep"),
}


test_untouched = leaves_alone(late_system, UNTOUCHED)


def test_after_a_block_of_the_providers_own_tools() -> None:
    block = '[part {"is":"Opaque","kind":"k","json":1,"origin":{"is":"Origin","dialect":"openai-chat"}}]'
    said = f"user: Hi\nassistant: A\n+ {block}\nsystem: L\nassistant: B"
    assert run(late_system, said, facts(system_place="before-answer", paired_blocks=["k"])).untouched
    assert not run(late_system, said, BEFORE_ANSWER).untouched
    assert not run(late_system, f"user: Hi\nassistant: {block}\n+ A\nsystem: L\nassistant: B", BEFORE_ANSWER).untouched


MESSAGES: list[dict[str, Any]] = [
    {"role": "user", "content": "Hi"},
    {"role": "assistant", "content": "A"},
    {"role": "system", "content": "L"},
    {"role": "user", "content": "B"},
]
BODY: dict[str, Any] = {"messages": MESSAGES, "max_tokens": 9}


def test_A6_A9_B2_adapt_chooses_by_the_profile() -> None:
    moved = sent(BODY, "anthropic/claude-sonnet-4-5", source=CHAT)
    assert moved.json["system"] == "L"
    assert [turn["content"] for turn in moved.json["messages"]] == ["Hi", "A", "B"]
    assert moved.changes == [("late-system", "/messages/2", "order", False)]
    in_place = sent(BODY, "gemini/gemini-2.5-flash", source=CHAT)
    assert "systemInstruction" not in in_place.json
    assert [(turn["role"], turn["parts"][0]["text"]) for turn in in_place.json["contents"]] == [
        ("user", "Hi"),
        ("model", "A"),
        ("user", "[System] L"),
        ("user", "B"),
    ]
    assert in_place.changes == [("late-system", "/messages/2", "authority", False)]
    assert sent(BODY, "openai/gpt-4o").changes == []


def test_A10_adapt_with_the_callers_choice() -> None:
    chosen = sent(BODY, "anthropic/claude-sonnet-4-5", source=CHAT, rules={"late-system": "user"})
    assert [turn["content"] for turn in chosen.json["messages"]] == ["Hi", "A", "[System] L", "B"]
    with pytest.raises(RepairRefused, match="late-system is needed for anthropic/claude-sonnet-4-5 and is set to fail"):
        sent(BODY, "anthropic/claude-sonnet-4-5", source=CHAT, rules={"late-system": "fail"})
    with pytest.raises(RepairRefused, match="loses authority"):
        sent(BODY, "gemini/gemini-2.5-flash", source=CHAT, max_loss="metadata")
