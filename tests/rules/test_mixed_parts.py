"""`mixed-parts`: text after a call in one turn."""

from __future__ import annotations

from typing import Any

import pytest
from tests.rules.runs import facts, leaves_alone, run, sent

from dragoman.rules.shape.mixed_parts import mixed_parts

REFUSES = facts(mixed_parts="refuses")

REPAIRS = {
    "text after a call": ("call f(a) {}\n+ A\ncall f(b) {}\n+ B", "assistant: A\n+ B\ncall f(a) {}\ncall f(b) {}"),
    "thinking after text": ("assistant: A\n+ ~ Hm\ncall f(a) {}", "~ Hm\nassistant: A\ncall f(a) {}"),
    "thinking after a call": ("~ Hm\nassistant: A\ncall f(a) {}\n+ ~ Oh", "~ Hm\n~ Oh\nassistant: A\ncall f(a) {}"),
}


@pytest.mark.parametrize("name", REPAIRS)
def test_thinking_comes_first_then_text_then_calls(name: str) -> None:
    before, after = REPAIRS[name]
    done = run(mixed_parts, f"user: Hi\n\n{before}", REFUSES)
    assert done.script == f"user: Hi\n{after}"
    assert done.changes == [("/messages/1", "order", False)]
    assert done.conversation.messages[0] is done.ask.conversation.messages[0]


IN_ORDER = facts("anthropic", text_after_call="refuses")


def test_where_the_order_says_something_only_the_text_behind_a_call_moves() -> None:
    before = "~ Hm\nassistant: A\n+ ~ Oh\ncall f(a) {}\n+ ~ Ah\ncall f(b) {}\n+ B"
    done = run(mixed_parts, f"user: Hi\n\n{before}", IN_ORDER, source="anthropic")
    kinds = [type(part).__name__ for part in done.conversation.messages[1].parts]
    assert kinds == ["Reasoning", "Text", "Reasoning", "Text", "Call", "Reasoning", "Call"]
    assert done.changes == [("/messages/1", "order", False)]


UNTOUCHED = {
    "thinking after a text, where only texts behind calls are refused": (
        "assistant: A\n+ ~ Hm\ncall f(a) {}",
        IN_ORDER,
    ),
    "calls after text": ("~ Hm\nassistant: A\ncall f(a) {}", REFUSES),
    "calls alone": ("call f(a) {}\ncall f(b) {}", REFUSES),
    "a target that takes any order": ("call f(a) {}\n+ A", facts(mixed_parts="accepts")),
}


test_untouched = leaves_alone(mixed_parts, UNTOUCHED)


def test_adapt_for_real_providers() -> None:
    content: list[dict[str, Any]] = [
        {"type": "tool_use", "id": "a", "name": "f", "input": {}},
        {"type": "text", "text": "A"},
    ]
    result = {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "a", "content": "1"}]}
    body = {
        "messages": [{"role": "user", "content": "Hi"}, {"role": "assistant", "content": content}, result],
        "max_tokens": 9,
    }
    done = sent(body, "openai/gpt-4o", source="anthropic")
    assert done.json["messages"][1]["content"] == "A"
    assert [call["id"] for call in done.json["messages"][1]["tool_calls"]] == ["a"]
    assert done.changes == [("mixed-parts", "/messages/1", "order", False)]
    claude = sent(body, "anthropic/claude-opus-4-8")
    assert claude.json["messages"][1]["content"] == content[::-1]
    assert claude.changes == [("mixed-parts", "/messages/1", "order", False)]
    assert sent(body, "anthropic-compatible/some-model").json["messages"] == body["messages"]
    assert sent(body, "anthropic-compatible/claude-opus-5").json["messages"][1]["content"] == content[::-1]
    call = {"type": "function_call", "call_id": "a", "name": "f", "arguments": "{}"}
    items = [{"role": "user", "content": "Hi"}, call, {"role": "assistant", "content": "A"}]
    codex = {"input": [*items, {"type": "function_call_output", "call_id": "a", "output": "1"}], "max_output_tokens": 9}
    for profile in ("anthropic-compatible", "anthropic-compatible-strict"):
        translated = sent(codex, f"{profile}/some-model", source="openai-responses")
        assert [block["type"] for block in translated.json["messages"][1]["content"]] == ["text", "tool_use"]
    bedrock = sent(body, "bedrock/us.anthropic.claude-opus-4-8", source="anthropic")
    assert [next(iter(block)) for block in bedrock.json["messages"][1]["content"]] == ["text", "toolUse"]
    assert ("mixed-parts", "/messages/1", "order", False) in bedrock.changes
    own = bedrock.json | {"messages": [dict(turn) for turn in bedrock.json["messages"]]}
    own["messages"][1]["content"] = own["messages"][1]["content"][::-1]
    assert sent(own, "bedrock/us.anthropic.claude-opus-5").changes == [("mixed-parts", "/messages/1", "order", False)]
    assert sent(own, "bedrock/us.anthropic.claude-sonnet-4-6").changes == []
