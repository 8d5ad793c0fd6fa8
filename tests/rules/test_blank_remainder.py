"""`blank-remainder`: messages of which only blank text is left."""

from __future__ import annotations

from typing import Any

import pytest
from tests.rules.runs import CHAT, facts, leaves_alone, run, sent

from dragoman.rules.media.blank_remainder import blank_remainder

REFUSES = facts(empty_assistant="refuses", empty_user="refuses", blank_text="refuses")

REPAIRS = {
    "the assistant's goes": ("user: Hi\nassistant:\nuser: Hm", "user: Hi\nuser: Hm", ("/messages/1", "nothing", False)),
    "the user's gets a placeholder": (
        "user: \\u0020\nassistant: Hm",
        "user: (empty)\nassistant: Hm",
        ("/messages/0", "nothing", True),
    ),
}


@pytest.mark.parametrize("name", REPAIRS)
def test_repairs(name: str) -> None:
    before, after, change = REPAIRS[name]
    done = run(blank_remainder, before, REFUSES)
    assert done.script == after
    assert done.changes == [change]


UNTOUCHED = {
    "words": ("user: Hi\nassistant: Hello", REFUSES),
    "blank text beside thinking": ("user: Hi\n~ Hm\nassistant: \\u0020", REFUSES),
    "a target that takes it": (
        "user: Hi\nassistant:",
        facts(
            **dict.fromkeys(("empty_user", "empty_assistant", "empty_system", "empty_beside", "blank_text"), "accepts")
        ),
    ),
}


test_untouched = leaves_alone(blank_remainder, UNTOUCHED)


def test_adapt_after_the_thinking_beside_it_had_to_go() -> None:
    detail: dict[str, Any] = {"type": "reasoning.text", "text": "Hm", "signature": "c2lnbmVk"}
    messages = [
        {"role": "user", "content": "Hi"},
        {"role": "assistant", "content": " \n", "reasoning_details": [detail]},
        {"role": "user", "content": "More"},
    ]
    done = sent({"messages": messages, "max_tokens": 9}, "anthropic/claude-sonnet-4-5", source=CHAT)
    assert [turn["content"] for turn in done.json["messages"]] == ["Hi", "More"]
    assert [change[0] for change in done.changes] == ["foreign-reasoning", "blank-remainder"]
    assert done.changes[1] == ("blank-remainder", "/messages/1", "nothing", False)


def test_thinking_alone_is_no_content_if_the_rest_had_to_go() -> None:
    """xAI refuses a message without content, and thinking is a field of its own there."""
    listing = {"type": "mcp_tool_listing", "mcp_server_name": "s", "tools": []}
    turn = [{"type": "thinking", "thinking": "Hm.", "signature": "x"}, listing]
    messages = [{"role": "user", "content": "Hi"}, {"role": "assistant", "content": turn}]
    asked = {"max_tokens": 9, "messages": [*messages, {"role": "user", "content": "So?"}]}
    done = sent(asked, "xai/grok-4", source="anthropic")
    assert done.json["messages"] == [{"role": "user", "content": "Hi\n\nSo?"}]
    assert ("blank-remainder", "/messages/1", "metadata", False) in done.changes
    assert run(blank_remainder, {"messages": asked["messages"]}, facts(), source="anthropic").untouched
