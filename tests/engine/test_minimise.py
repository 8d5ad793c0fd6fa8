"""Shrinking a request: as small as it gets, still failing, no pair parted."""

from __future__ import annotations

import json
from typing import Any

import pytest

from dragoman.engine.library.minimise import minimise_request


def call(identity: str) -> dict[str, Any]:
    return {"id": identity, "type": "function", "function": {"name": "f", "arguments": "{}"}}


CHAT: dict[str, Any] = {
    "model": "m",
    "temperature": 0.2,
    "messages": [
        {"role": "system", "content": "You are a very helpful assistant."},
        {"role": "user", "content": "What is the weather in Paris today?"},
        {"role": "assistant", "tool_calls": [call("a"), call("b")]},
        {"role": "tool", "tool_call_id": "a", "content": "sun"},
        {"role": "tool", "tool_call_id": "b", "content": "rain"},
        {"role": "assistant", "content": "Both.", "done": True},
        {"role": "user", "content": [{"type": "text", "text": "Thanks a lot"}, {"type": "text", "text": "x"}]},
    ],
    "tools": [{"type": "function", "function": {"name": "f"}}, {"type": "function", "function": {"name": "g"}}],
}
CLAUDE: dict[str, Any] = {
    "model": "m",
    "max_tokens": 9,
    "messages": [
        {"role": "user", "content": "Hi"},
        {
            "role": "assistant",
            "content": [{"type": "text", "text": "Hm"}, {"type": "tool_use", "id": "a", "name": "f"}],
        },
        {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "a"}, {"type": "text", "text": "Go on"}]},
    ],
}
GEMINI: dict[str, Any] = {
    "contents": [
        {"role": "user", "parts": [{"text": "Hi"}]},
        {"role": "model", "parts": [{"functionCall": {"name": "f"}}, {"text": "and"}]},
        {"role": "user", "parts": [{"functionResponse": {"name": "f", "response": {}}}]},
        {"role": "user", "parts": [{"text": "Go on"}]},
    ],
    "generationConfig": {"topK": 3, "temperature": 1},
}
RESPONSES: dict[str, Any] = {
    "model": "m",
    "input": [
        {"role": "user", "content": "Hi"},
        {"type": "function_call", "call_id": "a", "name": "f", "arguments": "{}"},
        {"type": "function_call_output", "call_id": "a", "output": "1"},
    ],
    "store": False,
}


def has(needle: str) -> Any:
    return lambda request: needle in json.dumps(request)


SMALLEST = [
    (CHAT, '"done": true', {"model": "m", "messages": [{"role": "assistant", "content": "Both.", "done": True}]}),
    (CHAT, '"temperature"', {"model": "m", "temperature": 0.2}),
    (CHAT, '"name": "g"', {"model": "m", "tools": [CHAT["tools"][1]]}),
    (GEMINI, '"topK"', {"generationConfig": {"topK": 3}}),
]


@pytest.mark.parametrize(("request_", "needle", "left"), SMALLEST)
def test_the_smallest_request(request_: dict[str, Any], needle: str, left: dict[str, Any]) -> None:
    before = json.dumps(request_)
    smallest = minimise_request(request_, has(needle))
    assert {name: value for name, value in smallest.items() if value != []} == left
    assert json.dumps(request_) == before


PAIRS = [
    (CHAT, '"tool_call_id": "a"', '"tool_calls"'),
    (CLAUDE, '"tool_use_id"', '"tool_use"'),
    (GEMINI, '"functionResponse"', '"functionCall"'),
    (RESPONSES, '"function_call_output"', '"function_call"'),
]


@pytest.mark.parametrize(("request_", "result", "called"), PAIRS)
def test_a_result_keeps_its_call_and_nothing_else(request_: dict[str, Any], result: str, called: str) -> None:
    text = json.dumps(minimise_request(request_, has(result)))
    assert (text.count(result), text.count(called)) == (1, 1)
    assert len(text) < len(json.dumps(request_)) - 60


def test_calls_and_results_go_together() -> None:
    """Whatever is tried on the way, no call is ever without its result."""
    tried: list[dict[str, Any]] = []

    def fails(request: dict[str, Any]) -> bool:
        tried.append(request)
        return '"Thanks' in json.dumps(request)

    minimise_request(CHAT, fails)
    for request in tried:
        turns = request.get("messages", [])
        calls = [one["id"] for turn in turns for one in turn.get("tool_calls", ())]
        results = [turn["tool_call_id"] for turn in turns if "tool_call_id" in turn]
        assert sorted(calls) == sorted(results)


def test_long_texts_are_cut() -> None:
    smallest = minimise_request(CHAT, lambda request: any(turn.get("role") == "system" for turn in request["messages"]))
    assert smallest["messages"][0].get("content", "") in ("", "You ")
