"""LazyRouter: Gemini proxies, tool schemas, parameters."""

from __future__ import annotations

import pytest
from tests.acceptance.asking import CLAUDE, PROXY, answered, ask, called, roles, says, sent

IMAGE = {"type": "image_url", "image_url": {"url": "data:image/png;base64,iVBORw0KGgo="}}
SCHEMA = {
    "type": "object",
    "properties": {"default": {"type": "string", "default": "x"}},
    "additionalProperties": False,
}
FUNCTION = {"name": "look", "description": "d", "parameters": SCHEMA}


def test_C5_thinking_fields_are_dropped() -> None:
    adapted = sent(ask(says("user", "a"), says("assistant", "b", reasoning_content="t"), says("user", "c")), PROXY)
    assert "reasoning_content" not in adapted.body.decode()
    assert adapted.changes


def test_C7_assistant_blocks_are_flattened() -> None:
    blocks = [{"type": "text", "text": "1"}, {"type": "text", "text": "2"}]
    adapted = sent(ask(says("user", "a"), says("assistant", blocks), says("user", "b")), PROXY)
    assert adapted.json["messages"][1]["content"] == "1\n2"


def test_C8_developer_becomes_system() -> None:
    assert roles(sent(ask(says("developer", "d"), says("user", "a")), PROXY))[0] == "system"


def test_C9_user_turns_are_not_flattened() -> None:
    parts = [{"type": "text", "text": "a"}, IMAGE]
    assert sent(ask(says("user", parts)), PROXY).json["messages"][0]["content"] == parts


def test_C10_arguments_become_text_that_keeps_its_letters() -> None:
    request = ask(says("user", "a"), called(arguments='{"city":"Köln"}'), answered())
    assert "Köln" in sent(request, PROXY).body.decode()


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
