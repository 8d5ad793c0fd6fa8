"""`repeated-result`: a second result for one call."""

from __future__ import annotations

import pytest
from tests.rules.runs import facts, leaves_alone, run, sent

from dragoman.rules.pair.repeated_result import repeated_result

REFUSES = facts(repeated_result="refuses")

REPAIRS = {
    "in the same turn": (
        "user: Hi\ncall f(a) {}\ncall f(b) {}\nresult a: 1\nresult a: 2\nresult b: 3",
        "user: Hi\ncall f(a) {}\ncall f(b) {}\nresult a: 1\nresult b: 3\nuser: [tool_result id=a]\\n2",
        ["/messages/3"],
    ),
    "in a later turn": (
        "user: Hi\ncall f(a) {}\nresult a: 1\nassistant: Well\nresult a: 2\nuser: Hm",
        "user: Hi\ncall f(a) {}\nresult a: 1\nassistant: Well\nuser: [tool_result id=a]\\n2\nuser: Hm",
        ["/messages/4"],
    ),
    "twice": (
        "user: Hi\ncall f(a) {}\nresult a: 1\nresult a: 2\nresult a: 3",
        "user: Hi\ncall f(a) {}\nresult a: 1\nuser: [tool_result id=a]\\n2\n+ [tool_result id=a]\\n3",
        ["/messages/3", "/messages/4"],
    ),
    "with media": (
        "user: Hi\ncall f(a) {}\nresult a: 1\nresult a: 2\n| 3\n| [image https://a/b.png]",
        "user: Hi\ncall f(a) {}\nresult a: 1\nuser: [tool_result id=a]\\n2\\n3\n[image https://a/b.png]",
        ["/messages/3"],
    ),
}


@pytest.mark.parametrize("name", REPAIRS)
def test_repairs(name: str) -> None:
    before, after, places = REPAIRS[name]
    done = run(repeated_result, before, REFUSES)
    assert done.script == after
    assert done.changes == [(at, "metadata", False) for at in places]
    assert done.conversation.messages[:2] == done.ask.conversation.messages[:2]


UNTOUCHED = {
    "one result each": ("call f(a) {}\ncall f(b) {}\nresult a: 1\nresult b: 2", REFUSES),
    "two calls of one id": ("call f(a) {}\nresult a: 1\ncall f(a) {}\nresult a: 2", REFUSES),
    "a result whose call is not there": ("user: Hi\nresult a: 1", REFUSES),
    "a target that takes them": ("call f(a) {}\nresult a: 1\nresult a: 2", facts(repeated_result="accepts")),
}


test_untouched = leaves_alone(repeated_result, UNTOUCHED)


def test_adapt_for_a_real_provider() -> None:
    call = {"id": "a", "type": "function", "function": {"name": "f", "arguments": "{}"}}
    results = [{"role": "tool", "tool_call_id": "a", "content": text} for text in ("1", "2")]
    messages = [
        {"role": "user", "content": "Hi"},
        {"role": "assistant", "content": "x", "tool_calls": [call]},
        *results,
    ]
    done = sent({"messages": messages}, "openai/gpt-4o")
    assert done.json["messages"] == [*messages[:3], {"role": "user", "content": "[tool_result id=a]\n2"}]
    assert done.changes == [("repeated-result", "/messages/3", "metadata", False)]
