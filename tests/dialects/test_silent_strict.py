"""What a tool means that does not say whether it is strict: not strict, except in Responses."""

from __future__ import annotations

from typing import Any

import orjson
import pytest

from dragoman import adapt

SCHEMA = {"type": "object", "properties": {"city": {"type": "string"}}}
HI = {"role": "user", "content": "Hi"}
CLIENTS: dict[str, dict[str, Any]] = {
    "openai-chat": {
        "messages": [HI],
        "tools": [{"type": "function", "function": {"name": "f", "parameters": SCHEMA}}],
    },
    "anthropic": {"max_tokens": 10, "messages": [HI], "tools": [{"name": "f", "input_schema": SCHEMA}]},
    "gemini": {
        "contents": [{"role": "user", "parts": [{"text": "Hi"}]}],
        "tools": [{"functionDeclarations": [{"name": "f", "parametersJsonSchema": SCHEMA}]}],
    },
}


@pytest.mark.parametrize("client", CLIENTS)
def test_a_silent_tool_of_another_dialect_is_not_strict(client: str) -> None:
    adapted = adapt(orjson.dumps(CLIENTS[client]), source=client, target="openai-responses/gpt-5")
    assert orjson.loads(adapted.body)["tools"][0]["strict"] is False


def test_one_that_is_strict_stays_so() -> None:
    closed = {**SCHEMA, "required": ["city"], "additionalProperties": False}
    tool = {"type": "function", "function": {"name": "f", "parameters": closed, "strict": True}}
    adapted = adapt(orjson.dumps({"messages": [HI], "tools": [tool]}), target="openai-responses/gpt-5")
    assert orjson.loads(adapted.body)["tools"][0]["strict"] is True


def test_a_silent_tool_of_a_responses_client_stays_silent() -> None:
    body = {"model": "gpt-5", "input": "Hi", "tools": [{"type": "function", "name": "f", "parameters": SCHEMA}]}
    adapted = adapt(orjson.dumps(body), source="openai-responses", target="openai-responses/gpt-5")
    assert adapted.body == orjson.dumps(body)
