"""`error-mark`: a result that is marked as an error."""

from __future__ import annotations

from typing import Any

import pytest
from tests.rules.runs import facts, leaves_alone, run, sent

from dragoman.rules.media.error_mark import error_mark

REFUSES = facts(result_error="refuses")


def test_the_words_say_it() -> None:
    done = run(error_mark, "call f(a) {}\ncall f(b) {}\nresult a: ok\nresult b !error: gone\n| away", REFUSES)
    assert done.script == "call f(a) {}\ncall f(b) {}\nresult a: ok\nresult b: [error] gone\n| away"
    assert done.changes == [("/messages/2", "metadata", False)]
    before, after = done.ask.conversation.messages[1].parts, done.conversation.messages[1].parts
    assert after[0] is before[0]


@pytest.mark.parametrize("content", ["[]", "[image https://a/b.png]"])
def test_a_result_without_words_gets_some(content: str) -> None:
    done = run(error_mark, f"call f(a) {{}}\nresult a !error: {content}", REFUSES)
    first = done.conversation.messages[1].parts[0].parts[0]  # type: ignore[attr-defined]
    assert first.text == "[error] "
    assert len(done.conversation.messages[1].parts[0].parts) == (1 if content == "[]" else 2)  # type: ignore[attr-defined]


UNTOUCHED = {
    "no error": ("call f(a) {}\nresult a: ok", REFUSES),
    "a dialect that has the mark": ("call f(a) {}\nresult a !error: gone", facts(result_error="accepts")),
}


test_untouched = leaves_alone(error_mark, UNTOUCHED)


def test_adapt_for_real_providers() -> None:
    messages: list[dict[str, Any]] = [
        {"role": "user", "content": "Hi"},
        {"role": "assistant", "content": [{"type": "tool_use", "id": "a", "name": "f", "input": {}}]},
        {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "a", "content": "gone", "is_error": True}]},
    ]
    done = sent({"messages": messages, "max_tokens": 9}, "openai/gpt-4o", source="anthropic")
    assert done.json["messages"][2] == {"role": "tool", "tool_call_id": "a", "content": "[error] gone"}
    assert done.changes == [("error-mark", "/messages/2/content/0", "metadata", False)]
    assert sent({"messages": messages, "max_tokens": 9}, "anthropic/claude-opus-4-8").changes == []
