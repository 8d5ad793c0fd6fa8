"""What clients of OpenAI's two APIs write of their own making: it is sent as it is meant, and reported."""

from __future__ import annotations

from typing import Any

import orjson
import pytest
from tests.judges import judge
from tests.targets import split

from dragoman.engine.library.adapt import AdaptedRequest, adapt

Wire = dict[str, Any]
HI: Wire = {"role": "user", "content": "Hi"}
CALL: Wire = {"type": "function_call", "call_id": "c1", "name": "look", "arguments": "{}"}
OUTPUT: Wire = {"type": "function_call_output", "call_id": "c1", "output": "a lake"}
SCHEMA: Wire = {"type": "object", "properties": {}, "additionalProperties": False, "required": []}
RESPONSES = "openai-responses/gpt-5.1"


def sent(body: Wire, target: str) -> AdaptedRequest:
    """What is sent for a request of Chat or Responses: the target's judge takes it, and nothing is left to change."""
    done = adapt(body, target=target)
    name, model = split(target)
    assert judge(name, model, done.path, done.headers, done.body) is None
    assert adapt(done.body, source=done.dialect, target=target).changes == ()
    return done


def reported(done: AdaptedRequest) -> list[tuple[str, str]]:
    return [(change.rule, change.at) for change in done.changes if change.kind == "repair"]


def items(*given: Wire, **more: Any) -> Wire:
    return {"model": "m", "input": [HI, *given], **more}


def asked(*messages: Wire, **more: Any) -> Wire:
    return {"model": "m", "messages": [HI, *messages], **more}


@pytest.mark.parametrize("call", [CALL, {**CALL, "type": "custom_tool_call", "input": "x"}])
def test_a_namespace_of_null_is_none(call: Wire) -> None:
    given = {key: value for key, value in call.items() if key != "arguments"} if "input" in call else call
    output = {**OUTPUT, "type": given["type"] + "_output"}
    done = sent(items({**given, "namespace": None}, output), RESPONSES)
    assert done.json["input"][1:] == [given, output]
    assert reported(done) == [("off-schema", "/input/1/namespace")]


def test_responses_has_no_name_on_a_message() -> None:
    done = sent(items({**HI, "name": "bob"}), RESPONSES)
    assert b"bob" not in done.body
    assert reported(done) == [("stray-field", "/input/1")]


@pytest.mark.parametrize("named", [{"name": "place"}, {}])
def test_a_format_in_the_form_of_chat(named: Wire) -> None:
    form = {"type": "json_schema", "json_schema": {**named, "schema": SCHEMA, "strict": True}}
    done = sent(items(text={"format": form}), RESPONSES)
    written = {"type": "json_schema", "name": named.get("name", "response"), "schema": SCHEMA, "strict": True}
    assert done.json["text"] == {"format": written}
    assert reported(done) == [("off-schema", "/text")]


def test_members_of_the_other_api() -> None:
    done = sent(items(verbosity="low", modalities=["text"], prediction={"type": "content", "content": "x"}), RESPONSES)
    assert done.json["text"] == {"verbosity": "low"}
    assert reported(done) == [
        ("off-schema", "/verbosity"),
        ("foreign-field", "/modalities"),
        ("foreign-field", "/prediction"),
    ]
    assert orjson.loads(sent(asked(max_tool_calls=3), "openai/gpt-4o").body).keys() == {"model", "messages"}
