"""The emulated Cohere API: what it refuses, in which words, and Cohere's SDK talking to it."""

from __future__ import annotations

from typing import Any

import cohere
import orjson
import pytest
from cohere.core.api_error import ApiError
from tests.corpus import exchanges, recorded_in

from dragoman.emulators.catalogue import provider
from dragoman.emulators.provider import ErrorResponse
from dragoman.testing import emulator

JUDGE = provider("cohere")
USER = {"role": "user", "content": "Hi"}
CALL = {"id": "c1", "type": "function", "function": {"name": "look", "arguments": "{}"}}
CALLS = {"role": "assistant", "tool_plan": "I look.", "tool_calls": [CALL]}
RESULT = {"role": "tool", "tool_call_id": "c1", "content": "rain"}
SCHEMA = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}
TOOL = {"type": "function", "function": {"name": "look", "parameters": SCHEMA}}


def judged(body: Any) -> ErrorResponse | None:
    call = JUDGE.parse_request("POST", "/v2/chat", {}, {}, orjson.dumps(body))
    return call if isinstance(call, ErrorResponse) else JUDGE.judge(call)


def asked(*messages: Any, **more: Any) -> dict[str, Any]:
    return {"model": "command-a-03-2025", "messages": list(messages), **more}


def formed(schema: Any) -> dict[str, Any]:
    return asked(USER, response_format={"type": "json_object", "json_schema": schema})


REFUSED: list[tuple[Any, int, str]] = [
    ({"messages": [USER]}, 400, "a model parameter is required"),
    (asked({**USER, "name": "Ann"}), 422, "unknown field: parameter 'name' is not a valid field."),
    (asked(USER, top_p=0.5), 422, "unknown field: parameter 'top_p'"),
    (asked(USER, {**CALLS, "tool_calls": [{**CALL, "index": 0}]}, RESULT), 422, "parameter 'index'"),
    (asked(USER, tools=[{**TOOL, "function": {**TOOL["function"], "strict": True}}]), 422, "parameter 'strict'"),
    (asked(), 400, "at least 1 message"),
    (asked({"role": "user", "content": ""}), 400, "message must not be empty in a turn"),
    (asked({"role": "developer", "content": "x"}), 400, "must be one of: system, user, assistant, tool"),
    (asked(USER, CALLS), 400, "did not have response messages: c1"),
    (asked(USER, CALLS, USER, RESULT), 400, "did not have response messages: c1"),
    (asked(USER, RESULT), 400, "tool call id not found in previous tool calls"),
    (asked(USER, CALLS, RESULT, RESULT), 400, "cannot have duplicate tool ids"),
    (asked(USER, {**CALLS, "tool_calls": [CALL, CALL]}, RESULT), 400, "cannot have duplicate tool ids"),
    (asked(USER, tools=[{"type": "function", "function": {"name": "a-b", "parameters": {}}}]), 400, "name: 'a-b'"),
    (asked(USER, tools=[{"type": "function", "function": {"name": "a"}}]), 400, "parameters is required"),
    (asked(USER, tools=[TOOL], tool_choice="auto"), 400, "must be one of: REQUIRED, NONE"),
    (asked(USER, temperature=2.5), 400, "temperature must be between 0 and 2.0 inclusive."),
    (asked(USER, p=1), 400, "p must be between"),
    (asked(USER, k=501), 400, "k must be between"),
    (asked(USER, frequency_penalty=-0.5), 400, "frequency_penalty must be between"),
    (asked(USER, frequency_penalty=0.5, presence_penalty=0.5), 400, "cannot specify both"),
    (asked(USER, stop_sequences=list("abcdef")), 400, "at most 5"),
    (asked(USER, thinking={"type": "enabled", "token_budget": 0}), 400, "positive integer"),
    (asked(USER, documents=[{"id": "a", "data": "x"}, {"id": "a", "data": "y"}]), 400, "must be unique"),
    (asked(USER, tools=[TOOL], response_format={"type": "json_object"}), 400, "not supported with tools"),
    (asked(USER, response_format={"type": "json_schema", "json_schema": SCHEMA}), 400, "one of: text, json_object"),
    (formed({"type": "array"}), 400, "schema must be an object"),
    (formed({"type": "object", "properties": {"a": {"type": "string"}}}), 400, "at least one required"),
    (formed({**SCHEMA, "required": ["city", "b"]}), 400, "required field b not found in properties"),
    (formed({**SCHEMA, "properties": {"city": {"title": "City"}}}), 400, "property city must have a type"),
    (formed({**SCHEMA, "properties": {"city": {"type": "string", "minLength": 2}}}), 400, "minLength"),
    (asked({"role": "user", "content": 5}), 400, "invalid type"),
]


@pytest.mark.parametrize(("body", "status", "sentence"), REFUSED)
def test_it_refuses_in_coheres_words(body: Any, status: int, sentence: str) -> None:
    error = judged(body)
    assert error is not None
    assert error.status == status
    assert sentence in error.body["message"]


@pytest.mark.parametrize(
    "body",
    [
        asked(USER),
        asked({"role": "system", "content": "Brief."}, USER, CALLS, RESULT, tools=[TOOL], tool_choice="NONE"),
        asked(USER, {**CALLS, "content": [], "citations": [], "tool_plan": None}, RESULT),
        asked(USER, documents=["x", {"id": "a", "data": {"text": "y"}}], citation_options={"mode": "OFF"}),
        formed(SCHEMA),
    ],
)
def test_it_accepts_what_cohere_accepts(body: Any) -> None:
    assert judged(body) is None


def test_every_recorded_success_is_accepted() -> None:
    count = 0
    for exchange in recorded_in("cohere"):
        request = exchange["request"]
        if request is None or not isinstance(request["body"], dict) or exchange["response"]["status"] >= 300:
            continue
        assert judged(request["body"]) is None, exchange["id"]
        count += 1
    assert count > 50


def test_recorded_refusals_are_told_alike() -> None:
    """An unknown model and a bad key: the status, and the provider's own sentence."""
    found = {}
    for exchange in exchanges("errors.jsonl"):
        if exchange["dialect"] == "cohere-chat":
            found[exchange["response"]["status"]] = exchange
    assert found.keys() == {401, 404}
    only = provider("cohere", models=["command-a-03-2025"])
    call = only.parse_request("POST", "/v2/chat", {}, {}, orjson.dumps(found[404]["request"]["body"]))
    assert not isinstance(call, ErrorResponse)
    error = only.judge(call)
    assert error is not None
    assert (error.status, error.body["message"]) == (404, found[404]["response"]["body"]["message"])


THINKS: dict[str, Any] = {
    "reasoning": "Paris and Zürich… 🎉",
    "text": "Let me look.",
    "calls": [{"name": "look", "arguments": {"city": "Paris"}}, {"name": "look", "arguments": {}}],
}


@pytest.mark.parametrize("cut", [0, 1, 5])
def test_the_sdk_reads_its_streams(cut: int) -> None:
    messages: Any = [USER]
    tools: Any = [TOOL]
    with emulator("cohere", script=[THINKS, THINKS], write_size=cut) as server:
        client = cohere.ClientV2(base_url=server.base_url, api_key="any")
        asks: Any = {"model": "command-a-reasoning-08-2025", "messages": messages, "tools": tools}
        whole = client.chat(**asks).message
        events: list[Any] = list(client.chat_stream(**asks))
    assert whole.content is not None
    assert whole.tool_calls is not None
    assert [block.type for block in whole.content] == ["thinking"]
    assert (whole.tool_plan, len(whole.tool_calls)) == ("Let me look.", 2)
    plan = "".join(event.delta.message.tool_plan for event in events if event.type == "tool-plan-delta")
    assert plan == "Let me look."
    assert events[-1].type == "message-end"
    starts = [event.delta.message.tool_calls.function.name for event in events if event.type == "tool-call-start"]
    assert starts == ["look", "look"]


def test_the_sdk_raises_what_the_emulator_refuses() -> None:
    with emulator("cohere") as server:
        client = cohere.ClientV2(base_url=server.base_url, api_key="any")
        with pytest.raises(ApiError) as refused:
            client.chat(model="command-a-03-2025", messages=[{"role": "user", "content": ""}])
    assert refused.value.status_code == 400
    assert refused.value.body["message"].endswith("message must not be empty in a turn")
