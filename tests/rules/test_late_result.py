"""`late-result`: results that do not stand right after their calls, or in another order."""

from __future__ import annotations

import pytest
from tests.judges import judge
from tests.rules.runs import facts, leaves_alone, run, sent

from dragoman.engine.library.adapt import adapt
from dragoman.profiles.facts import Facts
from dragoman.rules.pair.late_result import late_result

LATE = facts(late_result="refuses", result_order="accepts")
ORDER = facts(late_result="accepts", result_order="refuses")
APART = facts(late_result="refuses", result_order="accepts", calls_apart="accepts")
WORDLESS = facts(late_result="refuses", result_order="accepts", calls_apart="accepts", text_after_call="refuses")

REPAIRS: dict[str, tuple[Facts, str, str, list[str]]] = {
    "after a user turn": (
        LATE,
        "user: Hi\ncall f(a) {}\nuser: Hm\nresult a: 1\nassistant: Well",
        "user: Hi\ncall f(a) {}\nresult a: 1\nuser: Hm\nassistant: Well",
        ["/messages/3"],
    ),
    "one of two": (
        LATE,
        "user: Hi\ncall f(a) {}\ncall f(b) {}\nresult b: 2\nuser: Hm\nresult a: 1",
        "user: Hi\ncall f(a) {}\ncall f(b) {}\nresult a: 1\nresult b: 2\nuser: Hm",
        ["/messages/4"],
    ),
    "beside a result of another turn": (
        LATE,
        "user: Hi\ncall f(a) {}\nuser: Hm\ncall f(b) {}\nresult a: 1\nresult b: 2",
        "user: Hi\ncall f(a) {}\nresult a: 1\nuser: Hm\ncall f(b) {}\nresult b: 2",
        ["/messages/4"],
    ),
    "calls of one turn in two messages": (
        LATE,
        "user: Hi\ncall f(a) {}\n\ncall f(b) {}\nresult a: 1\nresult b: 2",
        "user: Hi\ncall f(a) {}\nresult a: 1\ncall f(b) {}\nresult b: 2",
        ["/messages/3"],
    ),
    "in another order": (
        ORDER,
        "user: Hi\ncall f(a) {}\ncall f(b) {}\nresult b: 2\nresult a: 1",
        "user: Hi\ncall f(a) {}\ncall f(b) {}\nresult a: 1\nresult b: 2",
        ["/messages/3", "/messages/2"],
    ),
    "in another order, over two messages": (
        facts(late_result="refuses", result_order="refuses", calls_apart="accepts"),
        "user: Hi\ncall f(a) {}\n\ncall f(b) {}\nresult b: 2\nresult a: 1",
        "user: Hi\ncall f(a) {}\n\ncall f(b) {}\nresult a: 1\nresult b: 2",
        ["/messages/4", "/messages/3"],
    ),
    "of a call that words of the next message follow": (
        WORDLESS,
        "user: Hi\ncall f(a) {}\n\nassistant: And\ncall f(b) {}\nresult a: 1\nresult b: 2",
        "user: Hi\ncall f(a) {}\nresult a: 1\nassistant: And\ncall f(b) {}\nresult b: 2",
        ["/messages/3"],
    ),
    "of calls in two messages that words of the third follow": (
        WORDLESS,
        "user: Hi\ncall f(a) {}\n\ncall f(b) {}\n\nassistant: And\ncall f(c) {}\nresult a: 1\nresult b: 2\nresult c: 3",
        "user: Hi\ncall f(a) {}\n\ncall f(b) {}\nresult a: 1\nresult b: 2\nassistant: And\ncall f(c) {}\nresult c: 3",
        ["/messages/4", "/messages/5"],
    ),
}


@pytest.mark.parametrize("name", REPAIRS)
def test_repairs(name: str) -> None:
    known, before, after, places = REPAIRS[name]
    done = run(late_result, before, known)
    assert done.script == after
    assert done.changes == [(at, "order", False) for at in places]
    assert done.conversation.messages[0] is done.ask.conversation.messages[0]


UNTOUCHED: dict[str, tuple[str, Facts]] = {
    "right after the call": ("user: Hi\ncall f(a) {}\nresult a: 1\nuser: Hm", LATE),
    "another order if it does not matter": ("call f(a) {}\ncall f(b) {}\nresult b: 2\nresult a: 1", LATE),
    "a late one if it does not matter": ("call f(a) {}\nuser: Hm\nresult a: 1", ORDER),
    "calls in two messages that count as one turn": ("call f(a) {}\n\ncall f(b) {}\nresult a: 1\nresult b: 2", APART),
    "a result without its call": ("user: Hi\nresult a: 1", LATE),
    "a call without its result": ("call f(a) {}\nuser: Hm", LATE),
}


test_untouched = leaves_alone(late_result, UNTOUCHED)


CALL = {"id": "a", "type": "function", "function": {"name": "f", "arguments": "{}"}}


@pytest.mark.parametrize("target", ["openai/gpt-4o", "minimax/some-model"])
def test_adapt_for_real_providers(target: str) -> None:
    hi = {"role": "user", "content": "Hi"}
    asked = {"role": "assistant", "content": "x", "tool_calls": [CALL]}
    answer = {"role": "tool", "tool_call_id": "a", "content": "1"}
    done = sent({"messages": [hi, asked, hi, answer]}, target)
    assert done.json["messages"] == [hi, asked, answer, hi]
    assert done.changes == [("late-result", "/messages/3", "order", False)]


@pytest.mark.parametrize("target", ["openai/gpt-4o", "anthropic/claude-sonnet-4-5", "cohere/command-a-03-2025"])
def test_a_result_in_a_turn_of_the_models_own(target: str) -> None:
    call = {"functionCall": {"name": "look", "args": {}}}
    response = {"functionResponse": {"name": "look", "response": {"output": "12 degrees"}}}
    turns = [("user", {"text": "Hi"}), ("model", call), ("model", response), ("user", {"text": "And?"})]
    body = {"contents": [{"role": role, "parts": [part]} for role, part in turns]}
    tools = [{"functionDeclarations": [{"name": "look"}]}]
    adapted = adapt({**body, "tools": tools}, source="gemini", target=target)
    profile, _, model = target.partition("/")
    assert judge(profile, model, adapted.path, adapted.headers, adapted.body) is None
    assert b"12 degrees" in adapted.body
    assert ("late-result", "/contents/2/parts/0") in [(change.rule, change.at) for change in adapted.changes]
