"""What models behind Bedrock's Converse are sent, if the client speaks another dialect."""

from __future__ import annotations

import json
from typing import Any

import pytest
from tests.judges import judge

from dragoman.engine.library.adapt import adapt

CLAUDE = "us.anthropic.claude-sonnet-4-5-20250929-v1:0"
NOVA = "us.amazon.nova-lite-v1:0"
LLAMA = "meta.llama3-3-70b-instruct-v1:0"
KIMI = "moonshot.kimi-k2-thinking"
TOOL = {"type": "function", "function": {"name": "look", "parameters": {"type": "object", "properties": {}}}}


def call(identity: str) -> dict[str, Any]:
    called = {"id": identity, "type": "function", "function": {"name": "look", "arguments": "{}"}}
    return {"role": "assistant", "tool_calls": [called]}


def converse(model: str, messages: list[dict[str, Any]], **settings: Any) -> dict[str, Any]:
    adapted = adapt({"model": "m", "messages": messages, "tools": [TOOL], **settings}, target=f"bedrock/{model}")
    assert judge("bedrock", model, adapted.path, adapted.headers, adapted.body) is None
    written: dict[str, Any] = json.loads(adapted.body)
    return written


@pytest.mark.parametrize("model", [CLAUDE, NOVA])
def test_calls_of_two_messages_stand_in_the_turn_before_their_results(model: str) -> None:
    results = [{"role": "tool", "tool_call_id": one, "content": "found"} for one in ("a", "b")]
    turns = converse(model, [{"role": "user", "content": "Hi"}, call("a"), call("b"), *results])["messages"]
    assert [turn["role"] for turn in turns] == ["user", "assistant", "user"]
    assert [block["toolUse"]["toolUseId"] for block in turns[1]["content"]] == ["a", "b"]


def test_two_user_turns_are_one_for_claude() -> None:
    written = converse(CLAUDE, [{"role": "user", "content": "Hi"}, {"role": "user", "content": "there"}])
    assert [[block["text"] for block in turn["content"]] for turn in written["messages"]] == [["Hi\n\nthere"]]


def test_two_user_turns_of_a_client_of_its_own_stay() -> None:
    turns = [{"role": "user", "content": [{"text": text}]} for text in ("Hi", "there")]
    adapted = adapt({"messages": turns}, source="bedrock", target=f"bedrock/{CLAUDE}")
    assert json.loads(adapted.body)["messages"] == turns


@pytest.mark.parametrize("model", [LLAMA, KIMI])
def test_a_certain_tool_cannot_be_chosen_outside_claude_and_nova(model: str) -> None:
    choice = {"type": "function", "function": {"name": "look"}}
    written = converse(model, [{"role": "user", "content": "Hi"}], tool_choice=choice)
    assert written["toolConfig"]["toolChoice"] == {"auto": {}}


@pytest.mark.parametrize(("model", "status"), [(CLAUDE, "error"), (KIMI, None)])
def test_an_error_is_said_in_words_to_models_that_are_not_known_to_read_its_mark(
    model: str, status: str | None
) -> None:
    asked = {"type": "tool_use", "id": "a", "name": "look", "input": {}}
    failed = {"type": "tool_result", "tool_use_id": "a", "content": "gone", "is_error": True}
    turns = [("user", "Hi"), ("assistant", [asked]), ("user", [failed])]
    tools = [{"name": "look", "input_schema": {"type": "object"}}]
    messages = [{"role": role, "content": content} for role, content in turns]
    adapted = adapt(
        {"model": "m", "max_tokens": 9, "messages": messages, "tools": tools},
        source="anthropic",
        target=f"bedrock/{model}",
    )
    (result,) = [block["toolResult"] for block in json.loads(adapted.body)["messages"][2]["content"]]
    assert result.get("status") == status
    assert result["content"] == [{"text": "gone" if status else "[error] gone"}]
