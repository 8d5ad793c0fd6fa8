"""A malformed request is read as meant only if one reading is left (K43); numbers are never guessed from words."""

from __future__ import annotations

from typing import Any

import orjson
import pytest

from dragoman.engine.library.adapt import adapt
from dragoman.errors import MalformedRequest

HI = {"role": "user", "content": "Hi"}
FUNCTION = {"type": "function", "function": {"name": "look", "parameters": {"type": "object"}}}
TARGETS = ("openai/gpt-4o", "anthropic/claude-sonnet-4-5", "gemini/gemini-2.5-flash")

REFUSED: dict[str, tuple[str, dict[str, Any], str]] = {
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
    assert (refused.value.at, refused.value.status) == (at, 400)


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
