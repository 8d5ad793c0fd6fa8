"""`json-word`: JSON is asked for, and no message says the word."""

from __future__ import annotations

from typing import Any

import pytest
from tests.rules.runs import facts, leaves_alone, run, sent

from dragoman.rules.turns.json_word import json_word

REFUSES = facts(json_word="refuses")
HI: dict[str, Any] = {"role": "user", "content": "Hi"}
JSON: dict[str, Any] = {"response_format": {"type": "json_object"}}


def test_a_user_turn_that_says_it_is_appended() -> None:
    done = run(json_word, {"messages": [HI, {"role": "assistant", "content": "A"}], **JSON}, REFUSES)
    assert done.json["messages"][:2] == [HI, {"role": "assistant", "content": "A"}]
    assert done.json["messages"][2:] == [{"role": "user", "content": "Answer in JSON."}]
    assert done.json["response_format"] == JSON["response_format"]
    assert done.changes == [("/messages/1", "nothing", True)]


def test_the_words_can_be_configured() -> None:
    done = run(json_word, {"messages": [HI], **JSON}, REFUSES, texts={"json_word": "json!"})
    assert done.json["messages"][1] == {"role": "user", "content": "json!"}


SCHEMA = {"response_format": {"type": "json_schema", "json_schema": {"name": "x", "schema": {"type": "object"}}}}
CALL = {"id": "a", "type": "function", "function": {"name": "to_json", "arguments": "{}"}}
ARGUMENTS = {"id": "a", "type": "function", "function": {"name": "f", "arguments": '{"as":"json"}'}}
RESULT = {"role": "tool", "tool_call_id": "a", "content": "Json it is"}
SAID: dict[str, list[dict[str, Any]]] = {
    "a user's text": [{"role": "user", "content": "Give me JSON."}],
    "a system text": [{"role": "system", "content": "as json"}, HI],
    "the name of a tool that was called": [HI, {"role": "assistant", "content": "x", "tool_calls": [CALL]}],
    "arguments": [HI, {"role": "assistant", "content": "x", "tool_calls": [ARGUMENTS]}],
    "a result": [HI, RESULT],
}


@pytest.mark.parametrize("name", SAID)
def test_the_word_may_be_anywhere(name: str) -> None:
    assert run(json_word, {"messages": SAID[name], **JSON}, REFUSES).untouched


def test_the_last_result_says_it_where_no_user_may_follow_results() -> None:
    wants_bridge = facts(json_word="refuses", user_after_tool="refuses", list_content="refuses")
    call = {"id": "a", "type": "function", "function": {"name": "f", "arguments": "{}"}}
    result = {"role": "tool", "tool_call_id": "a", "content": "12 degrees"}
    messages = [HI, {"role": "assistant", "content": "x", "tool_calls": [call]}, result]
    done = run(json_word, {"messages": messages, **JSON}, wants_bridge)
    told = {**result, "content": [{"type": "text", "text": text} for text in ("12 degrees", "Answer in JSON.")]}
    assert done.json["messages"] == [*messages[:2], told]
    assert done.changes == [("/messages/2", "nothing", True)]
    behind = run(json_word, {"messages": [*messages, HI], **JSON}, wants_bridge)
    assert behind.json["messages"] == [*messages, HI, {"role": "user", "content": "Answer in JSON."}]


UNTOUCHED = {
    "text": ({"messages": [HI], "response_format": {"type": "text"}}, REFUSES),
    "no format": ({"messages": [HI], "temperature": 1}, REFUSES),
    "a schema": ({"messages": [HI], **SCHEMA}, REFUSES),
    "a target that does not look": ({"messages": [HI], **JSON}, facts(json_word="accepts")),
}


test_untouched = leaves_alone(json_word, UNTOUCHED)


def test_adapt_for_real_providers() -> None:
    done = sent({"messages": [HI], **JSON}, "openai/gpt-4o")
    assert done.json["messages"] == [HI, {"role": "user", "content": "Answer in JSON."}]
    assert done.changes == [("json-word", "/messages/0", "nothing", True)]
    assert sent({"messages": [HI], **JSON}, "together/some-model").changes == []
