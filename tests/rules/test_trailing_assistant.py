"""`trailing-assistant`: a conversation that ends with the assistant."""

from __future__ import annotations

from typing import Any

import pytest
from tests.rules.runs import CHAT, facts, leaves_alone, run, sent

from dragoman.rules.turns.trailing_assistant import trailing_assistant

USER = facts(last_turn="user")


@pytest.mark.parametrize("last", ["assistant: A", "~ Hm", "call f(a) {}"])
def test_a_user_turn_is_appended(last: str) -> None:
    done = run(trailing_assistant, f"user: Hi\n{last}", USER)
    assert done.script == f"user: Hi\n{last}\nuser: Please continue."
    assert done.changes == [("/messages/1", "nothing", True)]
    assert done.conversation.messages[:2] == done.ask.conversation.messages


def test_the_words_can_be_configured() -> None:
    done = run(trailing_assistant, "user: Hi\nassistant: A", USER, texts={"trailing_user": "Go."})
    assert done.script == "user: Hi\nassistant: A\nuser: Go."


PREFILL: dict[str, Any] = {
    "messages": [{"role": "user", "content": "Hi"}, {"role": "assistant", "content": "A", "prefix": True}]
}
UNTOUCHED: dict[str, tuple[Any, Any]] = {
    "a user turn at the end": ("user: Hi\nassistant: A\nuser: B", USER),
    "results at the end": ("user: Hi\ncall f(a) {}\nresult a: 1", USER),
    "a turn marked as a prefill": (PREFILL, USER),
    "a target that continues it": ("user: Hi\nassistant: A", facts(last_turn="any")),
}


test_untouched = leaves_alone(trailing_assistant, UNTOUCHED)


@pytest.mark.parametrize("fields", ["", ' {"audio": {"id": "a"}}'])
def test_a_turn_without_words_is_one_where_empty_turns_stay(fields: str) -> None:
    assert not run(trailing_assistant, f"user: Hi\nassistant: []{fields}", USER).untouched


def test_an_empty_turn_of_the_model_is_no_last_one_for_perplexity() -> None:
    messages = [{"role": "user", "content": "Hi"}, {"role": "assistant", "content": []}]
    done = sent({"messages": messages}, "perplexity/sonar", source=CHAT)
    assert done.json["messages"] == [*messages, {"role": "user", "content": "Please continue."}]


def test_adapt_for_real_providers() -> None:
    messages = [{"role": "user", "content": "Hi"}, {"role": "assistant", "content": "A"}]
    done = sent({"messages": messages, "max_tokens": 9}, "anthropic/claude-opus-4-8", source=CHAT)
    assert done.json["messages"] == [*messages, {"role": "user", "content": "Please continue."}]
    assert done.changes == [("trailing-assistant", "/messages/1", "nothing", True)]
    assert sent({"messages": messages, "max_tokens": 9}, "anthropic/claude-sonnet-4-5").changes == []


PAUSED: list[dict[str, Any]] = [
    {"type": "text", "text": "I look."},
    {"type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search", "input": {"query": "sky"}},
]


def test_a_turn_that_the_provider_paused_is_sent_back_as_it_is() -> None:
    search = [{"type": "web_search_20250305", "name": "web_search"}]
    messages = [{"role": "user", "content": "Hi"}, {"role": "assistant", "content": PAUSED}]
    body = {"messages": messages, "max_tokens": 9, "tools": search}
    done = sent(body, "anthropic/claude-opus-4-8", source="anthropic")
    assert done.json["messages"] == messages
    assert done.changes == []


def test_another_vendor_cannot_go_on_with_a_paused_turn() -> None:
    messages = [{"role": "user", "content": "Hi"}, {"role": "assistant", "content": PAUSED}]
    done = sent({"messages": messages, "max_tokens": 9}, "mistral/mistral-large-latest", source="anthropic")
    assert done.json["messages"][-1] == {"role": "user", "content": "Please continue."}
