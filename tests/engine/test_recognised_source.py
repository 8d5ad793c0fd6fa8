"""`source="auto"`: the quick look at a request finds the dialect that the thorough look finds."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from tests.corpus import recorded_in, sampled

from dragoman.conversation.dialect_names import DIALECT_NAMES
from dragoman.dialects.registry import recognise
from dragoman.engine.library.adapt import adapt, read
from dragoman.errors import DragomanError, DuplicateKey, MalformedRequest

CALLED = {"role": "assistant", "content": [{"type": "tool_use", "id": "1", "name": "f", "input": {}}]}
FUNCTION = {"type": "function", "function": {"name": "f", "arguments": "{}"}}
CALLS = {"role": "assistant", "content": None, "tool_calls": [{"id": "1", **FUNCTION}]}


def said(*contents: Any, **more: Any) -> dict[str, Any]:
    return {"messages": [{"role": "user", "content": content} for content in contents], **more}


BODIES = {
    "openai-chat": [
        said("Hi"),
        said("Hi", model="m", max_tokens=5),
        said([{"type": "text", "text": "Hi"}], model="m"),
        said([{"type": "image_url", "image_url": {"url": "https://x/y.png"}}], model="m"),
        {"messages": [{"role": "system", "content": "x"}, {"role": "user", "content": "Hi"}, CALLS], "model": "m"},
        {"messages": [{"role": "user", "content": "a tool_plan and an input_schema", "name": "tool_plan"}]},
        {"request": said("Hi", model="m")},
    ],
    "openai-responses": [{"input": "Hi"}, {"model": "m", "input": [{"role": "user", "content": "Hi"}]}],
    "anthropic": [
        said("Hi", system="x", model="m", max_tokens=5),
        said("Hi", stop_sequences=["x"], model="m", max_tokens=5),
        said("Hi", tools=[{"name": "f", "input_schema": {}}], model="m"),
        said([{"type": "image", "source": {"type": "url", "url": "https://x/y.png"}}], model="m"),
        {"messages": [{"role": "user", "content": "Hi"}, CALLED], "model": "m", "max_tokens": 5},
        {"body": said("Hi", system="x", model="m", max_tokens=5)},
    ],
    "gemini": [
        {"contents": [{"role": "user", "parts": [{"text": "Hi"}]}]},
        {"contents": [{"role": "user", "parts": [{"text": "Hi"}]}], "systemInstruction": {"parts": [{"text": "x"}]}},
    ],
    "cohere": [
        said("Hi", model="m", safety_mode="STRICT"),
        said("Hi", model="m", tool_choice="REQUIRED", tools=[{"type": "function", "function": {"name": "f"}}]),
        {"model": "m", "messages": [{"role": "user", "content": "Hi"}, {**CALLS, "tool_plan": "I call f."}]},
    ],
    "ollama": [said("Hi", model="m", options={"num_ctx": 5}), said("Hi", model="m", keep_alive="5m")],
    "bedrock": [
        said([{"text": "Hi"}]),
        said([{"text": "Hi"}], system=[{"text": "x"}]),
        said([{"text": "Hi"}], inferenceConfig={"maxTokens": 5}),
        {"messages": [{"role": "assistant", "content": [{"toolUse": {"toolUseId": "1", "name": "f", "input": {}}}]}]},
    ],
}


@pytest.mark.parametrize(("dialect", "body"), [(name, body) for name, bodies in BODIES.items() for body in bodies])
def test_a_request_is_read_in_its_own_dialect(dialect: str, body: dict[str, Any]) -> None:
    assert read(body).dialect == dialect
    assert read(body) == read(body, source=dialect)


@pytest.mark.parametrize("dialect", DIALECT_NAMES)
def test_recorded_requests_are_read_as_the_thorough_look_says(dialect: str) -> None:
    asked = [one["request"]["body"] for one in recorded_in(dialect) if one["request"] and sampled(one["id"], 7)]
    for body in filter(lambda body: isinstance(body, dict), asked):
        try:
            found = read(body)
        except DragomanError:
            continue
        assert found.wrapper is not None or found.dialect == recognise(body), body


@pytest.mark.parametrize(
    ("text", "readable"),
    [("\udcff", "\ufffd"), ("a\ud800b", "a\ufffdb"), ("\udfff\ud800", "\ufffd\ufffd")],
    ids=["low", "high", "reversed"],
)
def test_half_a_surrogate_pair_in_a_text_is_replaced_and_reported(text: str, readable: str) -> None:
    body = f'{{"model": "m", "messages": [{{"role": "user", "content": "{text}"}}]}}'
    for request in (body, {"model": "m", "messages": [{"role": "user", "content": text}]}):
        adapted = adapt(request, target="openai/gpt-4o")
        assert adapted.json["messages"][0]["content"] == readable
        assert [change.rule for change in adapted.changes] == ["unreadable-text"]


@pytest.mark.parametrize(
    ("body", "fault"),
    [
        (b"", MalformedRequest),
        (b"[]", MalformedRequest),
        (b'{"model": "m"}', MalformedRequest),
        (b'{"messages": [], "messages": []}', DuplicateKey),
        ("\udcff", MalformedRequest),
        ({"messages": [{"role": "user", "content": object()}]}, MalformedRequest),
    ],
    ids=["nothing", "list", "no messages", "twice", "no JSON", "no value of JSON"],
)
def test_what_is_no_request_is_refused(body: Any, fault: type[Exception]) -> None:
    with pytest.raises(fault):
        read(body)


def test_the_source_of_an_opened_body_is_its_text() -> None:
    body = msgspec.json.encode(said("Hi", model="m"))
    assert type(read(body).source) is bytes
