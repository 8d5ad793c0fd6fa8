"""Inputs of calls that a server wrote as text where its dialect has an object, or the other way: nothing is lost."""

from __future__ import annotations

import json
from typing import Any

import pytest

from dragoman.dialects.dialect import AnswerContext
from dragoman.engine.answer.translation import Translation

CALLS: dict[str, Any] = {
    "anthropic": lambda given: {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "model": "m",
        "content": [{"type": "tool_use", "id": "toolu_1", "name": "f", "input": given}],
        "stop_reason": "tool_use",
        "usage": {"input_tokens": 1, "output_tokens": 1},
    },
    "bedrock": lambda given: {
        "output": {
            "message": {
                "role": "assistant",
                "content": [{"toolUse": {"toolUseId": "t1", "name": "f", "input": given}}],
            }
        },
        "stopReason": "tool_use",
        "usage": {"inputTokens": 1, "outputTokens": 1, "totalTokens": 2},
    },
    "gemini": lambda given: {
        "candidates": [
            {
                "index": 0,
                "finishReason": "STOP",
                "content": {"role": "model", "parts": [{"functionCall": {"name": "f", "args": given}}]},
            }
        ]
    },
    "cohere": lambda given: {
        "id": "1",
        "finish_reason": "TOOL_CALL",
        "message": {
            "role": "assistant",
            "tool_calls": [{"id": "t1", "type": "function", "function": {"name": "f", "arguments": given}}],
        },
    },
    "openai-responses": lambda given: {
        "id": "resp_1",
        "object": "response",
        "status": "completed",
        "output": [{"type": "function_call", "id": "fc_1", "call_id": "t1", "name": "f", "arguments": given}],
    },
    "ollama": lambda given: {
        "model": "m",
        "done": True,
        "message": {"role": "assistant", "tool_calls": [{"function": {"name": "f", "arguments": given}}]},
    },
}


@pytest.mark.parametrize(
    ("given", "read"),
    [
        ({"a": "x"}, {"a": "x"}),
        ('{"a": "x"}', {"a": "x"}),
        ("x", {"arguments": "x"}),
        ("", {}),
        (None, {}),
        ([1], {}),
    ],
)
@pytest.mark.parametrize("dialect", CALLS)
def test_an_input_is_read_from_either_form(dialect: str, given: Any, read: Any) -> None:
    client = "anthropic" if dialect != "anthropic" else "gemini"
    body = json.dumps(CALLS[dialect](given)).encode()
    written = json.loads(Translation(dialect, client, context=AnswerContext(model="m", id="1")).whole(body))
    if client == "anthropic":
        assert written["content"][0]["input"] == read
    else:
        assert written["candidates"][0]["content"]["parts"][0]["functionCall"].get("args", {}) == read
