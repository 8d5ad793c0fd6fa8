"""`missing-result`: a call that has no result."""

from __future__ import annotations

import pytest
from tests.rules.runs import facts, leaves_alone, run, sent

from dragoman.conversation.parts import Result
from dragoman.rules.pair.missing_result import missing_result

REFUSES = facts(missing_result="refuses")
MADE_UP = "[no result was recorded for this call]"

REPAIRS = {
    "at the end": ("user: Hi\ncall f(a) {}", f"user: Hi\ncall f(a) {{}}\nresult a: {MADE_UP}", [0]),
    "before another turn": (
        "user: Hi\ncall f(a) {}\nuser: Hm",
        f"user: Hi\ncall f(a) {{}}\nresult a: {MADE_UP}\nuser: Hm",
        [0],
    ),
    "beside one that is answered": (
        "user: Hi\ncall f(a) {}\ncall f(b) {}\nresult b: 2\nuser: Hm",
        f"user: Hi\ncall f(a) {{}}\ncall f(b) {{}}\nresult b: 2\nresult a: {MADE_UP}\nuser: Hm",
        [0],
    ),
    "two of one turn": (
        "user: Hi\ncall f(a) {}\ncall f(b) {}\nuser: Hm",
        f"user: Hi\ncall f(a) {{}}\ncall f(b) {{}}\nresult a: {MADE_UP}\nresult b: {MADE_UP}\nuser: Hm",
        [0, 1],
    ),
    "before words and a call": (
        "user: Hi\nassistant: One\ncall f(a) {}\n\nassistant: Two",
        f"user: Hi\nassistant: One\ncall f(a) {{}}\nresult a: {MADE_UP}\nassistant: Two",
        [0],
    ),
}


@pytest.mark.parametrize("name", REPAIRS)
def test_repairs(name: str) -> None:
    before, after, calls = REPAIRS[name]
    done = run(missing_result, before, REFUSES)
    assert done.script == after
    assert done.changes == [(f"/messages/1/tool_calls/{index}", "nothing", True) for index in calls]
    assert done.did[0] == "made up a result for the call of f"
    assert done.conversation.messages[1] is done.ask.conversation.messages[1]


UNTOUCHED = {
    "every call answered": ("user: Hi\ncall f(a) {}\nresult a: 1", REFUSES),
    "answered later": ("user: Hi\ncall f(a) {}\nuser: Hm\nresult a: 1", REFUSES),
    "a target that takes it": ("user: Hi\ncall f(a) {}", facts(missing_result="accepts")),
}


test_untouched = leaves_alone(missing_result, UNTOUCHED)


def test_the_words_can_be_configured() -> None:
    done = run(missing_result, "user: Hi\ncall f(a) {}", REFUSES, texts={"missing_tool_result": "gone"})
    assert done.script == "user: Hi\ncall f(a) {}\nresult a: gone"


def test_the_result_of_a_custom_call_is_a_custom_one() -> None:
    done = run(missing_result, 'user: Hi\ncall f(a) !custom "ls"', REFUSES)
    (made,) = done.conversation.messages[2].parts
    assert isinstance(made, Result)
    assert made.custom


def test_an_old_call_has_no_id_to_answer() -> None:
    messages = [
        {"role": "user", "content": "Hi"},
        {"role": "assistant", "content": None, "function_call": {"name": "f", "arguments": "{}"}},
        {"role": "user", "content": "Hm"},
    ]
    assert run(missing_result, {"messages": messages}, REFUSES).untouched
    assert sent({"messages": messages}, "openai/gpt-4o").json["messages"] == messages
    told = sent({"messages": messages}, "anthropic/claude-opus-4-8", source="openai-chat")
    assert ("missing-result", "/messages/1/function_call", "nothing", True) in told.changes


def test_adapt_for_a_real_provider() -> None:
    call = {"id": "a", "type": "function", "function": {"name": "f", "arguments": "{}"}}
    asked = {"role": "assistant", "content": "x", "tool_calls": [call]}
    messages = [{"role": "user", "content": "Hi"}, asked, {"role": "user", "content": "Hm"}]
    done = sent({"messages": messages}, "openai/gpt-4o")
    made = {"role": "tool", "tool_call_id": "a", "content": MADE_UP}
    assert done.json["messages"] == [*messages[:2], made, messages[2]]
    assert done.changes == [("missing-result", "/messages/1/tool_calls/0", "nothing", True)]
