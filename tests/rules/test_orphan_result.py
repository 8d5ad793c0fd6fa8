"""`orphan-result`: a result whose call is not there."""

from __future__ import annotations

from typing import Any

import pytest
from tests.rules.runs import facts, leaves_alone, run, sent

from dragoman.rules.pair.orphan_result import orphan_result

REFUSES = facts(orphan_result="refuses")

REPAIRS = {
    "alone": ("user: Hi\nresult a: 1\nassistant: Well", "user: Hi\nuser: [tool_result id=a]\\n1\nassistant: Well"),
    "beside one that has its call": (
        "user: Hi\ncall f(a) {}\nresult b: 2\nresult a: 1",
        "user: Hi\ncall f(a) {}\nresult a: 1\nuser: [tool_result id=b]\\n2",
    ),
    "before its call": (
        "user: Hi\nresult a: 1\ncall f(a) {}",
        "user: Hi\nuser: [tool_result id=a]\\n1\ncall f(a) {}",
    ),
    "without any content": ("user: Hi\nresult a: []", "user: Hi\nuser: [tool_result id=a]\\n"),
}


@pytest.mark.parametrize("name", REPAIRS)
def test_repairs(name: str) -> None:
    before, after = REPAIRS[name]
    done = run(orphan_result, before, REFUSES)
    assert done.script == after
    assert [(loses, adds) for _, loses, adds in done.changes] == [("metadata", False)]
    assert done.conversation.messages[0] is done.ask.conversation.messages[0]


def test_the_header_names_the_tool_if_it_is_known() -> None:
    known = facts("gemini", orphan_result="refuses")
    content = {
        "role": "user",
        "parts": [{"functionResponse": {"name": "look", "id": "a", "response": {"output": "1"}}}],
    }
    done = run(orphan_result, {"contents": [content]}, known, source="gemini")
    assert done.script == "user: [tool_result name=look id=a]\\n1"
    assert done.changes == [("/contents/0/parts/0", "metadata", False)]


UNTOUCHED: dict[str, tuple[Any, Any]] = {
    "a result after its call": ("call f(a) {}\nresult a: 1", REFUSES),
    "a second result": ("call f(a) {}\nresult a: 1\nresult a: 2", REFUSES),
    "a target that takes it": ("user: Hi\nresult a: 1", facts(orphan_result="accepts")),
}


test_untouched = leaves_alone(orphan_result, UNTOUCHED)


@pytest.mark.parametrize("held", [{"previous_response_id": "resp_1"}, {"conversation": "conv_1"}])
def test_the_call_may_be_with_its_provider(held: dict[str, str]) -> None:
    known = facts("openai-responses", orphan_result="refuses")
    body = {"input": [{"type": "function_call_output", "call_id": "a", "output": "1"}]}
    assert run(orphan_result, {**body, **held}, known, source="openai-responses").untouched
    assert not run(orphan_result, body, known, source="openai-responses").untouched


def test_the_call_may_be_an_item_that_its_provider_stores() -> None:
    given = [{"type": "item_reference", "id": "fc_1"}, {"type": "function_call_output", "call_id": "a", "output": "1"}]
    known = facts("openai-responses", orphan_result="refuses")
    assert run(orphan_result, {"input": given}, known, source="openai-responses").untouched
    assert not run(orphan_result, {"input": given}, REFUSES, source="openai-responses").untouched


def test_A16_adapt_for_a_real_provider() -> None:
    messages = [{"role": "user", "content": "Hi"}, {"role": "tool", "tool_call_id": "a", "content": "1"}]
    done = sent({"messages": messages}, "openai/gpt-4o")
    assert done.json["messages"] == [messages[0], {"role": "user", "content": "[tool_result id=a]\n1"}]
    assert done.changes == [("orphan-result", "/messages/1", "metadata", False)]


def test_blocks_of_a_result_are_told_in_words_since_some_stand_in_results_alone() -> None:
    found = {"type": "search_result", "source": "s", "title": "t", "content": [{"type": "text", "text": "rain"}]}
    picture = {"type": "image", "source": {"type": "url", "url": "https://example.com/a.png"}}
    inside = [{"type": "text", "text": "1"}, {"type": "tool_reference", "tool_name": "f"}, found, picture]
    asked = {
        "max_tokens": 9,
        "messages": [{"role": "user", "content": [{"type": "tool_result", "tool_use_id": "a", "content": inside}]}],
    }
    done = sent(asked, "anthropic/claude-sonnet-4-5", source="anthropic")
    words = "[tool_result id=a]\n1\n[tool_reference]\nf\n[search_result]\nsource: s\ntitle: t\ntext: rain"
    assert done.json["messages"] == [{"role": "user", "content": [{"type": "text", "text": words}, picture]}]
