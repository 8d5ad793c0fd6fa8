"""`leading-assistant`: a conversation that does not open with the user."""

from __future__ import annotations

import pytest
from tests.rules.runs import CHAT, facts, run, sent

from dragoman.rules.turns.leading_assistant import leading_assistant

USER = facts(first_turn="user")

REPAIRS = {
    "words": ("assistant: A\nuser: B", "user: [autonomous processing]\nassistant: A\nuser: B", "/messages/0"),
    "after system messages": (
        "system: S\ndeveloper: T\nassistant: A",
        "system: S\ndeveloper: T\nuser: [autonomous processing]\nassistant: A",
        "/messages/2",
    ),
    "a call": (
        "system: S\ncall f(a) {}\nresult a: 1",
        "system: S\nuser: [autonomous processing]\ncall f(a) {}\nresult a: 1",
        "/messages/1",
    ),
}


@pytest.mark.parametrize("name", REPAIRS)
def test_a_user_turn_is_put_before_it(name: str) -> None:
    before, after, at = REPAIRS[name]
    done = run(leading_assistant, before, USER)
    assert done.script == after
    assert done.changes == [(at, "nothing", True)]


def test_the_words_can_be_configured() -> None:
    done = run(leading_assistant, "assistant: A", USER, texts={"leading_user": "Go."})
    assert done.script == "user: Go.\nassistant: A"


UNTOUCHED = {
    "a user turn first": ("system: S\nuser: Hi\nassistant: A", USER),
    "nothing but system messages": ("system: S", USER),
    "a target that takes any first turn": ("assistant: A", facts(first_turn="any")),
}


@pytest.mark.parametrize("name", UNTOUCHED)
def test_A4_untouched(name: str) -> None:
    assert run(leading_assistant, *UNTOUCHED[name]).untouched


def test_A3_adapt_for_real_providers() -> None:
    messages = [{"role": "assistant", "content": "A"}, {"role": "user", "content": "B"}]
    done = sent({"messages": messages}, "gemini/gemini-2.5-flash", source=CHAT)
    assert [(turn["role"], turn["parts"][0]["text"]) for turn in done.json["contents"]] == [
        ("user", "[autonomous processing]"),
        ("model", "A"),
        ("user", "B"),
    ]
    assert done.changes == [("leading-assistant", "/messages/0", "nothing", True)]
    opened = [{"role": "system", "content": "S"}, *messages]
    routed = sent({"messages": opened}, "openrouter/google/gemini-2.5-flash")
    assert routed.json["messages"] == [opened[0], {"role": "user", "content": "[autonomous processing]"}, *messages]
    assert sent({"messages": messages}, "openai/gpt-4o").changes == []
