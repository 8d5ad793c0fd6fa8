"""Law 10, linear, for answers: what a provider multiplies (choices, candidates, parts, items, calls) costs as much each
time. Calls are counted, and only the ratio of two sizes is looked at."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec
import pytest
from tests.counted_work import count_calls

from dragoman.engine.answer.translation import Translation

FEW, MANY = 60, 600


def _each(count: int, made: Callable[[int], Any]) -> list[Any]:
    return [made(number) for number in range(count)]


def _chat(message: dict[str, Any], count: int = 1) -> dict[str, Any]:
    choice = {"message": {"role": "assistant", **message}, "finish_reason": "stop"}
    return {
        "id": "x",
        "object": "chat.completion",
        "model": "m",
        "choices": _each(count, lambda at: {**choice, "index": at}),
    }


def _chat_call(at: int) -> dict[str, Any]:
    return {"id": f"c{at}", "type": "function", "function": {"name": "f", "arguments": "{}"}}


def _claude(*blocks: Any) -> dict[str, Any]:
    head = {"id": "x", "type": "message", "role": "assistant", "model": "m", "stop_reason": "end_turn"}
    return {**head, "content": blocks, "usage": {"input_tokens": 1, "output_tokens": 1}}


def _gemini(parts: Any, count: int = 1) -> dict[str, Any]:
    content = {"role": "model", "parts": parts}
    return {"candidates": _each(count, lambda at: {"index": at, "content": content, "finishReason": "STOP"})}


def _response(*items: Any) -> dict[str, Any]:
    return {"id": "r", "object": "response", "status": "completed", "model": "m", "output": items}


def _said(at: int, parts: int) -> dict[str, Any]:
    note = {"type": "url_citation", "url": "http://a", "title": "t", "start_index": 0, "end_index": 1}
    part = {"type": "output_text", "text": "a", "annotations": [note]}
    return {"type": "message", "id": f"m{at}", "role": "assistant", "status": "completed", "content": [part] * parts}


ANSWERS: dict[tuple[str, str], Callable[[int], Any]] = {
    ("openai-chat", "choices"): lambda count: _chat({"content": "Hi"}, count),
    ("openai-chat", "calls"): lambda count: _chat({"content": None, "tool_calls": _each(count, _chat_call)}),
    ("openai-chat", "thoughts"): lambda count: _chat(
        {
            "content": "Hi",
            "reasoning_details": _each(count, lambda at: {"type": "reasoning.text", "text": "t", "index": at}),
        }
    ),
    ("anthropic", "blocks"): lambda count: _claude(*_each(count, lambda at: {"type": "text", "text": "a"})),
    ("anthropic", "calls"): lambda count: _claude(
        *_each(count, lambda at: {"type": "thinking", "thinking": "a", "signature": "s"}),
        *_each(count, lambda at: {"type": "tool_use", "id": f"t{at}", "name": "f", "input": {}}),
    ),
    ("gemini", "candidates"): lambda count: _gemini([{"text": "a"}], count),
    ("gemini", "parts"): lambda count: _gemini(_each(count, lambda at: {"text": "a", "thought": bool(at % 2)})),
    ("openai-responses", "items"): lambda count: _response(*_each(count, lambda at: _said(at, 1))),
    ("openai-responses", "parts"): lambda count: _response(_said(0, count)),
    ("bedrock", "blocks"): lambda count: {
        "output": {"message": {"role": "assistant", "content": _each(count, lambda at: {"text": "a"})}},
        "stopReason": "end_turn",
    },
    ("cohere", "parts"): lambda count: {
        "id": "x",
        "finish_reason": "COMPLETE",
        "message": {"role": "assistant", "content": _each(count, lambda at: {"type": "text", "text": "a"})},
    },
}


def _calls(upstream: str, client: str, body: bytes) -> int:
    translation = Translation(upstream, client)
    count = count_calls(lambda: translation.whole(body))
    assert translation.failure is None
    return count


@pytest.mark.parametrize("client", ["openai-chat", "anthropic"])
@pytest.mark.parametrize(("upstream", "what"), ANSWERS)
def test_the_work_grows_with_what_an_answer_holds(upstream: str, what: str, client: str) -> None:
    few, many = (msgspec.json.encode(ANSWERS[upstream, what](count)) for count in (FEW, MANY))
    _calls(upstream, client, few)  # modules are loaded at their first use
    assert _calls(upstream, client, many) < 12 * _calls(upstream, client, few)
