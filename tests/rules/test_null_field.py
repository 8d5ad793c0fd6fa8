"""`null-field`: fields that hold nothing."""

from __future__ import annotations

from typing import Any

import pytest
from tests.rules.runs import Run, facts, run, sent

from dragoman.rules.clean.null_field import null_field

HI: dict[str, Any] = {"role": "user", "content": "Hi"}
CALL: dict[str, Any] = {"id": "c", "type": "function", "function": {"name": "f", "arguments": "{}"}}
RESULT: dict[str, Any] = {"role": "tool", "tool_call_id": "c", "content": "ok"}
STRICT = facts(unknown_fields="refuses")
LENIENT = facts(unknown_fields="accepts")


def through(known: Any, *messages: dict[str, Any]) -> Run:
    return run(null_field, {"messages": list(messages)}, known)


@pytest.mark.parametrize("nothing", [None, []])
def test_an_empty_field_of_a_message_is_left_out(nothing: Any) -> None:
    done = through(STRICT, HI, {**HI, "parsed": nothing, "kept": 1})
    assert done.json["messages"] == [HI, {**HI, "kept": 1}]
    assert done.changes == [("/messages/1", "nothing", False)]
    assert done.did == ["left out `parsed`, which held nothing"]
    assert done.conversation.messages[0] is done.ask.conversation.messages[0]


def test_every_empty_field_is_named() -> None:
    done = through(STRICT, {**HI, "parsed": None, "audio": None})
    assert done.did == ["left out `audio`, `parsed`, which held nothing"]
    assert done.json["messages"] == [HI]


def test_an_empty_field_of_a_call_is_left_out() -> None:
    calls = {"role": "assistant", "content": "x", "tool_calls": [{**CALL, "index": None}]}
    done = through(STRICT, HI, calls, RESULT)
    assert done.json["messages"] == [HI, {**calls, "tool_calls": [CALL]}, RESULT]
    assert done.changes == [("/messages/1/tool_calls/0", "nothing", False)]


def test_an_empty_field_inside_a_result_is_left_out() -> None:
    text = {"type": "text", "text": "ok"}
    asked = {"role": "assistant", "content": "x", "tool_calls": [CALL]}
    done = through(STRICT, HI, asked, {**RESULT, "content": [{**text, "image_url": None}, text]})
    assert done.json["messages"][2] == {**RESULT, "content": [text, text]}
    assert done.changes == [("/messages/2", "nothing", False)]


def test_a_part_is_stricter_than_its_message_if_the_facts_say_so() -> None:
    text = {"type": "text", "text": "Hi"}
    said = {"role": "user", "content": [{**text, "image_url": None}, text], "parsed": None}
    calls = {"role": "assistant", "content": "x", "tool_calls": [{**CALL, "index": None}]}
    done = through(facts(unknown_fields="accepts", part_fields="refuses"), said, calls, RESULT)
    assert done.json["messages"] == [{**said, "content": [text, text]}, calls, RESULT]
    assert done.changes == [("/messages/0/content/0", "nothing", False)]


@pytest.mark.parametrize("allowed", [{"user": ["parsed"]}, {"*": ["parsed"]}])
def test_a_field_that_the_target_takes_may_be_null(allowed: dict[str, list[str]]) -> None:
    assert through(facts(unknown_fields="refuses", message_fields=allowed), {**HI, "parsed": None}).untouched
    assert not through(
        facts(unknown_fields="refuses", message_fields={"tool": ["parsed"]}), {**HI, "parsed": None}
    ).untouched


def test_a_field_of_a_call_is_not_null_if_calls_take_it() -> None:
    asked = {"role": "assistant", "content": "x", "tool_calls": [{**CALL, "index": None}]}
    done = through(facts(unknown_fields="refuses", message_fields={"calls": ["index"]}), asked, RESULT)
    assert done.did == ["left out `index`, which held nothing"]


@pytest.mark.parametrize("nothing", [[], None])
def test_an_empty_list_of_calls_is_refused_by_itself(nothing: Any) -> None:
    said = {"role": "assistant", "content": "Hello", "tool_calls": nothing, "parsed": None}
    done = through(facts(unknown_fields="accepts", empty_calls="refuses"), HI, said)
    assert done.json["messages"][1] == {"role": "assistant", "content": "Hello", "parsed": None}
    assert done.changes == [("/messages/1", "nothing", False)]


UNTOUCHED = {
    "a target that ignores unknown fields": (LENIENT, {**HI, "parsed": None}),
    "a field that holds something": (STRICT, {**HI, "parsed": 1}),
    "no further fields": (STRICT, HI),
    "an empty list of calls if it is taken": (LENIENT, {"role": "assistant", "content": "x", "tool_calls": []}),
}


@pytest.mark.parametrize("name", UNTOUCHED)
def test_untouched(name: str) -> None:
    assert through(*UNTOUCHED[name]).untouched


def test_the_fields_of_another_dialect_are_no_news() -> None:
    done = sent(
        {"messages": [{**HI, "refusal": None}], "max_tokens": 9}, "anthropic/claude-opus-4-8", source="openai-chat"
    )
    assert done.json["messages"] == [HI]
    assert done.changes == []


@pytest.mark.parametrize(
    "target", ["groq/llama-3.3-70b-versatile", "openai-compatible-strict/x", "mistral/mistral-large-latest"]
)
@pytest.mark.parametrize("field", ["tool_calls", "tool_call_id", "name", "refusal"])
def test_null_members_of_a_message_for_strict_providers(target: str, field: str) -> None:
    done = sent({"messages": [{**HI, field: None}]}, target)
    assert done.json["messages"] == [HI]
    assert done.changes == [("null-field", "/messages/0", "nothing", False)]
    assert sent({"messages": [{**HI, field: None}]}, "together/some-model").json["messages"] == [{**HI, field: None}]


def test_an_empty_list_of_calls_by_provider() -> None:
    messages = [HI, {"role": "assistant", "content": "Hello", "tool_calls": []}, HI]
    done = sent({"messages": messages}, "openai/gpt-4o")
    assert done.json["messages"] == [HI, {"role": "assistant", "content": "Hello"}, HI]
    assert done.changes == [("null-field", "/messages/1", "nothing", False)]
    assert sent({"messages": messages}, "mistral/mistral-large-latest").json["messages"] == messages


def test_a_gemini_content_without_its_role() -> None:
    content = {"parts": [{"text": "Hi"}]}
    done = sent({"contents": [content]}, "vertex/gemini-2.5-flash")
    assert done.json["contents"] == [{"role": "user", **content}]
    assert done.changes == [("null-field", "/contents/0", "nothing", False)]
    assert sent({"contents": [content]}, "gemini/gemini-2.5-flash").json["contents"] == [content]
