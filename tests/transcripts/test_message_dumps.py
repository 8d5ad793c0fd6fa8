"""Messages of LangChain and of Vercel's AI SDK, files for batches and for fine-tuning, bare lists."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dragoman import lint
from dragoman.transcripts.catalogue import FORMATS, recognise_format
from dragoman.transcripts.transcript import TranscriptRecord

CALL = {"name": "add", "args": {"a": 1}, "id": "c1", "type": "tool_call"}
PNG = "iVBORw0KGgo="


def request(name: str, value: Any) -> dict[str, Any]:
    [found] = FORMATS[name].parse([TranscriptRecord(value)])
    return found.request


def dumped(kind: str, **fields: Any) -> list[dict[str, Any]]:
    """One message of LangChain in its three forms."""
    names = {"human": "HumanMessage", "ai": "AIMessage", "tool": "ToolMessage", "system": "SystemMessage"}
    path = ["langchain", "schema", "messages", names[kind]]
    return [
        {"type": kind, "data": {"type": kind, **fields}},
        {"lc": 1, "type": "constructor", "id": path, "kwargs": {"type": kind, **fields}},
        {"type": kind, "additional_kwargs": {}, "response_metadata": {}, **fields},
    ]


LANGCHAIN = [
    list(form)
    for form in zip(
        dumped("system", content="Be brief."),
        dumped(
            "human",
            content=[{"type": "text", "text": "Hi"}, {"type": "image", "base64": PNG, "mime_type": "image/png"}],
        ),
        dumped("ai", content=[{"type": "tool_use", "id": "c1", "name": "add", "input": {}}], tool_calls=[CALL]),
        dumped("tool", content="2", tool_call_id="c1", status="success"),
        dumped("ai", content="It is 2."),
        strict=True,
    )
]


@pytest.mark.parametrize(
    "wrap", [lambda one: one, lambda one: {"messages": one}, lambda one: {"values": {"messages": one}}]
)
@pytest.mark.parametrize("form", range(3))
def test_langchain(form: int, wrap: Any) -> None:
    value = wrap(LANGCHAIN[form])
    assert recognise_format([TranscriptRecord(value)], lines=False) is FORMATS["langchain"]
    found = request("langchain", value)
    assert [message["role"] for message in found["messages"]] == ["system", "user", "assistant", "tool"]
    _, user, answer, result = found["messages"]
    assert user["content"][1] == {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{PNG}"}}
    assert answer["content"] is None
    assert answer["tool_calls"][0]["function"] == {"name": "add", "arguments": '{"a":1}'}
    assert (result["tool_call_id"], result["content"]) == ("c1", "2")
    assert lint(json.dumps(found), targets="openai/gpt-4o") == []


UI = [
    {
        "id": "1",
        "role": "user",
        "parts": [
            {"type": "text", "text": "Hi"},
            {"type": "file", "mediaType": "image/png", "url": f"data:image/png;base64,{PNG}"},
        ],
    },
    {
        "id": "2",
        "role": "assistant",
        "parts": [
            {"type": "step-start"},
            {"type": "reasoning", "text": "Hm"},
            {
                "type": "tool-add",
                "toolCallId": "c1",
                "state": "output-available",
                "input": {"a": 1},
                "output": {"sum": 2},
            },
            {
                "type": "dynamic-tool",
                "toolName": "sub",
                "toolCallId": "c2",
                "state": "output-error",
                "input": {},
                "errorText": "no",
            },
            {"type": "source-url", "sourceId": "s", "url": "https://example.com"},
            {"type": "step-start"},
            {"type": "text", "text": "It is 2."},
        ],
    },
    {"id": "3", "role": "user", "parts": [{"type": "text", "text": "Thanks"}]},
]
MODEL = [
    {"role": "system", "content": "Be brief."},
    {
        "role": "user",
        "content": [{"type": "text", "text": "Hi"}, {"type": "image", "image": PNG, "mediaType": "image/png"}],
    },
    {"role": "assistant", "content": [{"type": "tool-call", "toolCallId": "c1", "toolName": "add", "input": {"a": 1}}]},
    {
        "role": "tool",
        "content": [
            {
                "type": "tool-result",
                "toolCallId": "c1",
                "toolName": "add",
                "output": {"type": "json", "value": {"sum": 2}},
            }
        ],
    },
    {"role": "assistant", "content": "It is 2."},
]
OLD_UI = [
    {"role": "user", "content": "Hi", "parts": [{"type": "text", "text": "Hi"}]},
    {
        "role": "assistant",
        "content": "",
        "parts": [
            {
                "type": "tool-invocation",
                "toolInvocation": {
                    "state": "result",
                    "toolCallId": "c1",
                    "toolName": "add",
                    "args": {"a": 1},
                    "result": {"sum": 2},
                },
            },
        ],
    },
    {"role": "user", "content": "Thanks", "parts": [{"type": "text", "text": "Thanks"}]},
]


@pytest.mark.parametrize(
    ("value", "roles"),
    [
        (UI, ["user", "assistant", "tool", "tool", "assistant", "user"]),
        (MODEL, ["system", "user", "assistant", "tool"]),
        (OLD_UI, ["user", "assistant", "tool", "user"]),
        ({"messages": MODEL, "id": "chat"}, ["system", "user", "assistant", "tool"]),
    ],
    ids=["ui", "model", "ui of version 4", "wrapped"],
)
def test_vercel_ai(value: Any, roles: list[str]) -> None:
    assert recognise_format([TranscriptRecord(value)], lines=False) is FORMATS["vercel-ai"]
    found = request("vercel-ai", value)
    assert [message["role"] for message in found["messages"]] == roles
    call = next(message for message in found["messages"] if "tool_calls" in message)["tool_calls"][0]
    assert call == {"id": "c1", "type": "function", "function": {"name": "add", "arguments": '{"a":1}'}}
    result = next(message for message in found["messages"] if message["role"] == "tool")
    assert (result["tool_call_id"], result["content"]) == ("c1", '{"sum":2}')
    assert not [one for one in lint(json.dumps(found), targets="openai/gpt-4o") if one.rule != "refused-reasoning"]


CHAT = {"model": "gpt-4o", "messages": [{"role": "user", "content": "Hi"}]}


@pytest.mark.parametrize(
    "line",
    [
        {"custom_id": "r1", "method": "POST", "url": "/v1/chat/completions", "body": CHAT},
        {"custom_id": "r1", "params": CHAT},
        {"key": "r1", "request": CHAT},
    ],
)
def test_batches(line: dict[str, Any]) -> None:
    assert recognise_format([TranscriptRecord(line)], lines=True) is FORMATS["batch"]
    [found] = FORMATS["batch"].parse([TranscriptRecord(line)])
    assert (found.request, found.label) == (CHAT, "r1")


ANSWER = {"role": "assistant", "content": "Hello", "weight": 0}


@pytest.mark.parametrize(
    "line",
    [
        {"messages": [*CHAT["messages"], ANSWER], "tools": []},
        {
            "input": {"messages": CHAT["messages"], "tools": []},
            "preferred_output": [ANSWER],
            "non_preferred_output": [ANSWER],
        },
    ],
    ids=["supervised", "preference"],
)
def test_fine_tuning(line: dict[str, Any]) -> None:
    assert recognise_format([TranscriptRecord(line)], lines=True) is FORMATS["fine-tuning"]
    assert recognise_format([TranscriptRecord(line)], lines=False) is None, "one document may be a request"
    assert request("fine-tuning", line) == {"messages": CHAT["messages"], "tools": []}


def test_weights_are_no_part_of_a_request() -> None:
    found = request("fine-tuning", {"messages": [ANSWER, *CHAT["messages"]]})
    assert found["messages"][0] == {"role": "assistant", "content": "Hello"}


def test_a_bare_list() -> None:
    assert recognise_format([TranscriptRecord(CHAT["messages"])], lines=False) is FORMATS["messages"]
    assert request("messages", CHAT["messages"]) == {"messages": CHAT["messages"]}


@pytest.mark.parametrize(
    "value",
    [
        CHAT,
        {"model": "m", "input": [{"type": "message", "role": "user", "content": "Hi"}]},
        {"contents": [{"role": "user", "parts": [{"text": "Hi"}]}]},
        {"model": "m", "max_tokens": 1, "messages": [{"role": "user", "content": [{"type": "image", "source": {}}]}]},
        {"messages": [{"role": "user", "content": [{"text": "Hi"}]}], "inferenceConfig": {}},
    ],
)
def test_requests_are_no_transcripts(value: Any) -> None:
    assert recognise_format([TranscriptRecord(value)], lines=True) is None


KEYS = [
    "type",
    "role",
    "content",
    "parts",
    "messages",
    "payload",
    "message",
    "uuid",
    "parentUuid",
    "id",
    "data",
    "lc",
    "kwargs",
    "toolCalls",
    "tool_calls",
    "output",
    "result",
    "$set",
    "$rewindTo",
    "history",
    "values",
    "input",
    "state",
]
WORDS = [
    "user",
    "assistant",
    "human",
    "ai",
    "text",
    "tool-x",
    "response_item",
    "compacted",
    "gemini",
    "tool-invocation",
]
json_values = st.recursive(
    st.none() | st.booleans() | st.integers(0, 3) | st.sampled_from(WORDS),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(KEYS), inner, max_size=5),
    max_leaves=15,
)


@pytest.mark.slow
@settings(deadline=None, max_examples=150)
@given(st.lists(json_values, max_size=4))
def test_no_shape_breaks_a_reader(values: list[Any]) -> None:
    records = [TranscriptRecord(value, number) for number, value in enumerate(values, 1)]
    recognise_format(records, lines=True)
    for found in FORMATS.values():
        for one in found.parse(records):
            assert json.dumps(one.request)
