"""LazyRouter: Gemini proxies, tool schemas, parameters."""

from __future__ import annotations

from typing import Any

import pytest
from tests.acceptance.asking import CLAUDE, OPENAI, PROXY, answered, ask, called, says, sent

IMAGE = {"type": "image_url", "image_url": {"url": "data:image/png;base64,iVBORw0KGgo="}}
SCHEMA = {
    "type": "object",
    "properties": {"default": {"type": "string", "default": "x"}},
    "additionalProperties": False,
}
FUNCTION = {"name": "look", "description": "d", "parameters": SCHEMA}


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("provider_specific_fields", {"a": 1}),
        ("reasoning_content", "t"),
        ("thinking_content", "t"),
        ("thinking_blocks", [{"type": "thinking", "thinking": "t", "signature": "abc"}]),
    ],
)
def test_C5_thinking_fields_are_dropped(field: str, value: object) -> None:
    adapted = sent(ask(says("user", "a"), says("assistant", "b", **{field: value}), says("user", "c")), PROXY)
    assert adapted.json["messages"][1] == says("assistant", "b")
    (change,) = adapted.changes
    assert change.at.startswith("/messages/1")
    assert change.loses == "metadata"


def test_C7_assistant_blocks_are_flattened() -> None:
    blocks = [{"type": "text", "text": "1"}, {"type": "text", "text": "2"}]
    adapted = sent(ask(says("user", "a"), says("assistant", blocks), says("user", "b")), PROXY)
    assert adapted.json["messages"][1]["content"] == "1\n2"


@pytest.mark.parametrize("role", ["system", "developer"])
def test_C8_blocks_of_instructions_become_a_system_text(role: str) -> None:
    blocks = [{"type": "text", "text": "1"}, {"type": "text", "text": "2"}]
    adapted = sent(ask(says(role, blocks), says("user", "a")), PROXY)
    assert adapted.json["messages"][0] == says("system", "1\n2")


def test_C9_user_turns_are_not_flattened() -> None:
    parts = [{"type": "text", "text": "a"}, IMAGE]
    assert sent(ask(says("user", parts)), PROXY).json["messages"][0]["content"] == parts


@pytest.mark.parametrize("arguments", ['{"city":"Köln"}', {"city": "Köln"}])
def test_C10_arguments_become_text_that_keeps_its_letters(arguments: Any) -> None:
    request = ask(says("user", "a"), called(arguments=arguments), answered())
    flat = sent(request, PROXY).json["messages"][1]["content"]
    assert flat == '[tool_call name=look id=call_1]\n{"city":"Köln"}'
    (call,) = sent(request, OPENAI).json["messages"][1]["tool_calls"]
    assert call["function"]["arguments"] == '{"city":"Köln"}'


@pytest.mark.parametrize("arguments", ["{}", {}, None])
@pytest.mark.parametrize("kind", ["function", "weird"])
def test_C10_a_call_is_a_function_and_other_keys_are_removed_and_reported(arguments: Any, kind: str) -> None:
    function = {"name": "look", "arguments": arguments, "inner": 1}
    call = {"id": "call_1", "type": kind, "outer": 1, "function": function}
    adapted = sent(ask(says("user", "a"), says("assistant", None, tool_calls=[call]), answered()), OPENAI)
    wanted = {"id": "call_1", "type": "function", "function": {"name": "look", "arguments": "{}"}}
    assert adapted.json["messages"][1]["tool_calls"] == [wanted]
    assert [change.did for change in adapted.changes if change.rule == "stray-field"] == ["took out `inner`, `outer`"]


def test_C10_other_keys_of_a_call_in_a_message_of_anthropic_are_reported() -> None:
    call = {"id": "call_1", "type": "function", "outer": 1, "function": {"name": "look", "arguments": "{}", "inner": 1}}
    request = ask(says("user", "a"), says("assistant", "", tool_calls=[call]), answered(), max_tokens=9)
    changes = sent(request, CLAUDE, "anthropic").changes
    assert [change.loses for change in changes if change.at == "/messages/1/tool_calls/0"] == ["metadata"]


def test_C12_each_loss_is_listed() -> None:
    hinted = {"type": "text", "text": "b", "cache_control": {"type": "ephemeral"}}
    adapted = sent(ask(says("user", "a"), says("assistant", [hinted, IMAGE]), says("user", "c")), PROXY)
    lost = {(change.at, change.loses) for change in adapted.changes}
    assert ("/messages/1/content/0", "metadata") in lost
    assert ("/messages/1/content/1", "metadata") in lost
    assert "cache_control" not in adapted.body.decode()
    assert adapted.json["messages"][1]["content"] == "b\n[image: see the next message]"
    assert adapted.json["messages"][2]["content"] == [IMAGE, {"type": "text", "text": "c"}]


def test_C12_a_picture_that_no_user_turn_follows_is_lost_and_listed() -> None:
    adapted = sent(ask(says("user", "a"), says("assistant", [{"type": "text", "text": "b"}, IMAGE])), PROXY)
    assert ("/messages/1/content/1", "content") in {(change.at, change.loses) for change in adapted.changes}
    assert "iVBORw0KGgo" not in adapted.body.decode()


@pytest.mark.parametrize(
    "tool",
    [
        {"type": "function", "function": FUNCTION},
        FUNCTION,
        {"function_declarations": [FUNCTION]},
        {"functionDeclarations": [FUNCTION]},
    ],
)
def test_C13_four_shapes_of_tools_are_read(tool: object) -> None:
    assert sent(ask(says("user", "a"), tools=[tool]), CLAUDE).json["tools"][0]["name"] == "look"


def test_C14_tools_are_first_written_in_openais_shape() -> None:
    tools = [{"type": "function", "function": FUNCTION}]
    assert sent(ask(says("user", "a"), tools=tools), PROXY).json["tools"][0]["type"] == "function"


def test_C16_tools_stay_on_a_continuation_turn() -> None:
    tools = [{"type": "function", "function": FUNCTION}]
    assert "tools" in sent(ask(says("user", "a"), called(), answered(), tools=tools), PROXY).json


def test_C17_a_property_named_like_a_keyword_survives() -> None:
    tools = [{"type": "function", "function": FUNCTION}]
    made = sent(ask(says("user", "a"), tools=tools), CLAUDE).json["tools"][0]["input_schema"]
    assert "default" in made["properties"]
