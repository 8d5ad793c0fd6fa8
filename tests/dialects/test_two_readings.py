"""A malformed request is read as meant only if one reading is left (K43); numbers are never guessed from words."""

from __future__ import annotations

from typing import Any

import orjson
import pytest

from dragoman.engine.library.adapt import adapt
from dragoman.errors import MalformedRequest

HI = {"role": "user", "content": "Hi"}
GREETING = {"role": "user", "parts": [{"text": "Hi"}]}
BLOCKS = {"role": "user", "content": [{"text": "Hi"}]}
CALL = {"id": "c", "type": "function", "function": {"name": "look", "arguments": "{}"}}
USE = {"type": "tool_use", "id": "c", "name": "look", "input": {}}
BLOCK = [{"text": "Hi"}]
CONVERSE = {"toolUse": {"toolUseId": "c", "name": "look", "input": {}}}
FUNCTION = {"type": "function", "function": {"name": "look", "parameters": {"type": "object"}}}
TARGETS = ("openai/gpt-4o", "anthropic/claude-sonnet-4-5", "gemini/gemini-2.5-flash")

REFUSED: dict[str, tuple[str, dict[str, Any], str | None]] = {
    "two contents": ("openai-chat", {"messages": [{"role": "user", "text": "Hi", "message": "Bye"}]}, "/messages/0"),
    "two contents of Cohere": ("cohere", {"messages": [{"role": "user", "text": "a", "parts": ["b"]}]}, "/messages/0"),
    "two limits": ("openai-chat", {"messages": [HI], "maxOutputTokens": 10, "num_predict": 20}, "/num_predict"),
    "two limits of Responses": ("openai-responses", {"input": "Hi", "max_tokens": 1, "maxTokens": 2}, "/maxTokens"),
    "two system texts": ("openai-chat", {"messages": [HI], "system": "A", "instructions": "B"}, "/instructions"),
    "a choice of two": (
        "openai-chat",
        {"messages": [HI], "tools": [FUNCTION], "tool_choice": {"type": "auto", "function": {"name": "look"}}},
        "/tool_choice",
    ),
    "two limits of its own": ("openai-chat", {"messages": [HI], "max_tokens": 1, "max_completion_tokens": 2}, None),
    "a limit of its own and another": ("anthropic", {"messages": [HI], "max_tokens": 1, "max_output_tokens": 2}, None),
    "a limit in an object and another": (
        "gemini",
        {"contents": [GREETING], "generationConfig": {"maxOutputTokens": 1}, "max_tokens": 2},
        "/max_tokens",
    ),
    "two stops": ("bedrock", {"messages": [BLOCKS], "stop": ["a"], "stop_sequences": ["b"]}, "/stop_sequences"),
    "two seeds": ("openai-chat", {"messages": [HI], "seed": 1, "random_seed": 2}, "/random_seed"),
    "two lists": ("openai-chat", {"messages": [HI], "contents": [GREETING, GREETING]}, "/contents"),
    "two lists, of which none fits": ("openai-responses", {"messages": "text", "input": 42}, "/input"),
    "two lists, without its own": ("gemini", {"messages": "text", "input": 42}, "/input"),
    "calls of the user": ("openai-chat", {"messages": [HI, {**HI, "tool_calls": [CALL]}]}, "/messages/1"),
    "calls of the user in Messages": ("anthropic", {"messages": [HI, {**HI, "tool_calls": [CALL]}]}, "/messages/1"),
    "calls of the system": ("ollama", {"messages": [{**HI, "role": "system", "tool_calls": [CALL]}]}, "/messages/0"),
    "calls among words": (
        "anthropic",
        {"messages": [{"role": "user", "content": [{"type": "text", "text": "Hi"}, USE]}], "max_tokens": 9},
        "/messages/0",
    ),
    "calls among words in Gemini": (
        "gemini",
        {"contents": [{"parts": [{"text": "Hi"}, {"functionCall": {"name": "look", "args": {}}}]}]},
        "/contents/0",
    ),
    "words and a picture in one part": (
        "gemini",
        {"contents": [{"parts": [{"text": "Hi", "inlineData": {"mimeType": "image/png", "data": "iVBORw0KGgo="}}]}]},
        "/contents/0/parts/0",
    ),
    "words and a call in one part": (
        "gemini",
        {"contents": [{"role": "model", "parts": [{"text": "Hi", "functionCall": {"name": "look", "args": {}}}]}]},
        "/contents/0/parts/0",
    ),
    "calls among words in Converse": (
        "bedrock",
        {"messages": [{"role": "user", "content": [*BLOCK, CONVERSE]}]},
        "/messages/0",
    ),
    "two efforts": (
        "openai-chat",
        {"messages": [HI], "reasoning_effort": "low", "reasoning": {"effort": "high"}},
        "/reasoning",
    ),
    "two efforts of Responses": (
        "openai-responses",
        {"input": "Hi", "reasoning": {"effort": "low"}, "reasoning_effort": "high"},
        "/reasoning_effort",
    ),
    "two efforts of Messages": (
        "anthropic",
        {"messages": [HI], "max_tokens": 9, "output_config": {"effort": "low"}, "reasoning_effort": "high"},
        "/reasoning_effort",
    ),
    "thinking on and off": (
        "openai-chat",
        {"messages": [HI], "thinking": {"type": "disabled"}, "reasoning": {"enabled": True}},
        "/reasoning",
    ),
    "no effort and thinking": (
        "openai-chat",
        {"messages": [HI], "reasoning_effort": "none", "reasoning": {"enabled": True}},
        "/reasoning",
    ),
    "two tool choices": (
        "openai-chat",
        {"messages": [HI], "tools": [FUNCTION], "tool_choice": "auto", "function_call": {"name": "look"}},
        "/function_call",
    ),
    "two roles": ("cohere", {"messages": [{**HI, "type": "ai"}]}, "/messages/0"),
    "its own content and another": ("anthropic", {"messages": [{**HI, "text": "Bye"}]}, "/messages/0"),
    "its own parts and a content": ("gemini", {"contents": [{**GREETING, "content": "Bye"}]}, "/contents/0"),
    "its own blocks and parts": ("bedrock", {"messages": [{**BLOCKS, "parts": [{"text": "Bye"}]}]}, "/messages/0"),
    "a part of two kinds": (
        "gemini",
        {"contents": [{"role": "user", "parts": [{"text": "Hi", "image_url": {"url": "https://x.example/a.png"}}]}]},
        "/contents/0/parts/0",
    ),
    "words for a number": ("openai-chat", {"messages": [HI], "max_tokens": "one thousand"}, "/max_tokens"),
    "words for a fraction": ("cohere", {"messages": [HI], "temperature": "half"}, "/temperature"),
    "a short number": ("openai-responses", {"input": "Hi", "max_output_tokens": "1k"}, "/max_output_tokens"),
    "yes": ("openai-chat", {"messages": [HI], "stream": "yes"}, "/stream"),
}


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("name", REFUSED)
def test_two_readings_are_refused_with_their_place(name: str, target: str) -> None:
    source, body, at = REFUSED[name]
    with pytest.raises(MalformedRequest) as refused:
        adapt(orjson.dumps({"model": "m", **body}), source=source, target=target)
    assert refused.value.status == 400
    assert refused.value.at == at or (at is None and refused.value.at[1:] in body)


def test_the_readings_are_named() -> None:
    with pytest.raises(MalformedRequest, match=r"num_predict is 20 and maxOutputTokens is 10"):
        adapt({"model": "m", **REFUSED["two limits"][1]}, source="openai-chat", target="openai/gpt-4o")
    with pytest.raises(MalformedRequest, match='may be "auto" or the tool "look"'):
        adapt({"model": "m", **REFUSED["a choice of two"][1]}, source="openai-chat", target="openai/gpt-4o")


@pytest.mark.parametrize(
    ("more", "limit"),
    [({"max_tokens": "1000"}, 1000), ({"maxOutputTokens": 10, "num_predict": 10}, 10), ({"max_tokens": 10.0}, 10)],
)
def test_one_reading_is_taken(more: dict[str, Any], limit: int) -> None:
    done = adapt({"model": "m", "messages": [HI], **more}, source="openai-chat", target="openai/gpt-4o")
    assert done.json["max_tokens"] == limit
    assert [change for change in done.changes if change.rule == "off-schema"]


def test_numbers_are_ids_and_tell_which_call_is_answered() -> None:
    calls = [{"id": n, "type": "function", "function": {"name": "look", "arguments": "{}"}} for n in (1, 2)]
    results = [{"role": "tool", "tool_call_id": n, "content": f"result {n}"} for n in (2, 1)]
    body = {"model": "m", "messages": [HI, {"role": "assistant", "tool_calls": calls}, *results], "tools": [FUNCTION]}
    done = adapt(body, source="openai-chat", target="openai/gpt-4o")
    assert {one["tool_call_id"]: one["content"] for one in done.json["messages"][2:]} == {
        "1": "result 1",
        "2": "result 2",
    }


ONE_READING: dict[str, tuple[str, dict[str, Any]]] = {
    "two limits that agree": ("openai-chat", {"messages": [HI], "max_tokens": 5, "max_completion_tokens": 5}),
    "two lists that agree": ("openai-chat", {"messages": [HI], "contents": [GREETING]}),
    "the same words once more": ("openai-chat", {"messages": [{**HI, "parts": [{"type": "text", "text": "Hi"}]}]}),
    "no calls of the user": ("openai-chat", {"messages": [{**HI, "tool_calls": None}, {**HI, "tool_calls": []}]}),
    "no list beside its own": ("openai-chat", {"messages": [HI], "input": None}),
    "a type that agrees": ("openai-chat", {"messages": [{**HI, "type": "human"}]}),
    "two efforts that agree": (
        "openai-chat",
        {"messages": [HI], "reasoning_effort": "low", "reasoning": {"effort": "low"}},
    ),
    "an effort, and no thinking": (
        "openai-chat",
        {"messages": [HI], "reasoning_effort": "high", "thinking": {"type": "disabled"}},
    ),
    "two choices that agree": (
        "openai-chat",
        {"messages": [HI], "tools": [FUNCTION], "tool_choice": "auto", "function_call": "auto"},
    ),
    "another kind of type": ("anthropic", {"messages": [{**HI, "type": "message"}], "max_tokens": 9}),
}


@pytest.mark.parametrize("name", ONE_READING)
def test_what_agrees_is_taken(name: str) -> None:
    source, body = ONE_READING[name]
    done = adapt({"model": "m", **body}, source=source, target="gemini/gemini-2.5-flash")
    assert {part["text"] for turn in done.json["contents"] for part in turn["parts"]} == {"Hi"}


CALLS_OF_THE_USER: dict[str, dict[str, Any]] = {
    "openai-chat": {
        "messages": [HI, {"role": "user", "tool_calls": [CALL]}, {"role": "tool", "tool_call_id": "c", "content": "x"}]
    },
    "anthropic": {
        "max_tokens": 9,
        "messages": [
            HI,
            {"role": "user", "content": [USE]},
            {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "c", "content": "x"}]},
        ],
    },
    "gemini": {
        "contents": [
            GREETING,
            {"role": "user", "parts": [{"functionCall": {"name": "look", "args": {}}}]},
            {"role": "user", "parts": [{"functionResponse": {"name": "look", "response": {"output": "x"}}}]},
        ]
    },
    "bedrock": {
        "messages": [
            BLOCKS,
            {"role": "user", "content": [CONVERSE]},
            {"role": "user", "content": [{"toolResult": {"toolUseId": "c", "content": [{"text": "x"}]}}]},
        ]
    },
}


@pytest.mark.parametrize("target", [*TARGETS, "bedrock/amazon.nova-pro-v1:0"])
@pytest.mark.parametrize("source", CALLS_OF_THE_USER)
def test_a_turn_of_calls_alone_is_the_assistants(source: str, target: str) -> None:
    done = adapt({"model": "m", **CALLS_OF_THE_USER[source]}, source=source, target=target)
    turns = done.json.get("messages") or done.json["contents"]
    assert [turn["role"] in ("assistant", "model") for turn in turns] == [False, True, False]
    at = "/contents/1/role" if source == "gemini" else "/messages/1/role"
    assert next((change.rule, change.at) for change in done.changes) == ("off-schema", at)


def test_an_effort_under_the_name_of_another_dialect_is_taken() -> None:
    for source, body in (("anthropic", {"messages": [HI], "max_tokens": 9000}), ("openai-responses", {"input": "Hi"})):
        done = adapt({"model": "m", **body, "reasoning_effort": "high"}, source=source, target="openai/gpt-5")
        assert done.json["reasoning_effort"] == "high"
        assert ("off-schema", "/reasoning_effort") in [(change.rule, change.at) for change in done.changes]
