"""`text-beside-calls`: words and calls in one turn."""

from __future__ import annotations

import pytest
from tests.rules.runs import CHAT, facts, leaves_alone, run, sent

from dragoman.rules.shape.text_beside_calls import text_beside_calls

REFUSES = facts(text_beside_calls="refuses")
TALK = "user: Hi\nassistant: One moment.\ncall f(a) {}\ncall f(b) {}\nresult a: 1\nresult b: 2"


def test_words_become_a_turn_of_their_own() -> None:
    done = run(text_beside_calls, TALK, REFUSES)
    assert done.script == (
        "user: Hi\nassistant: One moment.\nuser: Please continue.\ncall f(a) {}\ncall f(b) {}\nresult a: 1\nresult b: 2"
    )
    assert done.changes == [("/messages/1", "order", True)]
    assert done.did == ["parted its words from its calls"]


def test_words_after_a_call_and_thinking() -> None:
    blocks = [
        {"type": "thinking", "thinking": "Hm.", "signature": "c2lnbmF0dXJlIG9mIHRoZSBtb2RlbA=="},
        {"type": "tool_use", "id": "a", "name": "f", "input": {}},
        {"type": "text", "text": "Soon."},
    ]
    result = {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "a", "content": "1"}]}
    talk = {"messages": [{"role": "user", "content": "Hi"}, {"role": "assistant", "content": blocks}, result]}
    done = run(text_beside_calls, talk, facts("anthropic", text_beside_calls="refuses"), source="anthropic")
    said = done.json["messages"]
    assert [message["role"] for message in said] == ["user", "assistant", "user", "assistant", "user"]
    assert said[1]["content"] == [blocks[2]]
    assert said[3]["content"] == blocks[:2]


@pytest.mark.parametrize("blank", [" ", "\n\n"])
def test_white_space_gets_no_turn(blank: str) -> None:
    call = {"id": "a", "type": "function", "function": {"name": "f", "arguments": "{}"}}
    calling = {"role": "assistant", "content": blank, "tool_calls": [call]}
    talk = {
        "messages": [{"role": "user", "content": "Hi"}, calling, {"role": "tool", "tool_call_id": "a", "content": "1"}]
    }
    done = run(text_beside_calls, talk, REFUSES)
    assert done.script == "user: Hi\ncall f(a) {}\nresult a: 1"
    assert done.changes == [("/messages/1", "nothing", False)]
    assert done.did == ["left out white space beside its calls"]


def test_every_turn_and_configured_words() -> None:
    done = run(
        text_beside_calls,
        f"{TALK}\nassistant: Again.\ncall f(c) {{}}\nresult c: 3",
        REFUSES,
        texts={"trailing_user": "Go on."},
    )
    assert done.script.count("user: Go on.") == 2
    assert done.changes == [("/messages/1", "order", True), ("/messages/3", "order", True)]


UNTOUCHED = {
    "calls alone": ("user: Hi\ncall f(a) {}\nresult a: 1", REFUSES),
    "words alone": ("user: Hi\nassistant: One moment.\nuser: And?", REFUSES),
    "thinking beside calls": ("user: Hi\nthink: Hm.\ncall f(a) {}\nresult a: 1", REFUSES),
    "a target that takes it": (TALK, facts(text_beside_calls="accepts")),
}


test_untouched = leaves_alone(text_beside_calls, UNTOUCHED)


def test_adapt_for_real_providers() -> None:
    call = {"id": "a", "type": "function", "function": {"name": "f", "arguments": "{}"}}
    messages = [
        {"role": "user", "content": "Hi"},
        {"role": "assistant", "content": "x", "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "a", "content": "1"},
    ]
    tools = [{"type": "function", "function": {"name": "f", "parameters": {"type": "object", "properties": {}}}}]
    done = sent({"messages": messages, "tools": tools}, "bedrock/meta.llama3-3-70b-instruct-v1:0", source=CHAT)
    assert [list(block) for message in done.json["messages"] for block in message["content"]] == [
        ["text"],
        ["text"],
        ["text"],
        ["toolUse"],
        ["toolResult"],
    ]
    assert done.changes == [("text-beside-calls", "/messages/1", "order", True)]
    assert sent({"messages": messages, "tools": tools}, "bedrock/us.amazon.nova-lite-v1:0", source=CHAT).changes == []
