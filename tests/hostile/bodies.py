"""Request bodies of the four dialects from the same few building blocks, so that a hostile shape is written once."""

from __future__ import annotations

import json
from typing import Any

DIALECTS = ("openai-chat", "openai-responses", "anthropic", "gemini")
PATHS = {
    "openai-chat": "/v1/chat/completions",
    "openai-responses": "/v1/responses",
    "anthropic": "/v1/messages",
    "gemini": "/v1beta/models/{model}:generateContent",
}
STREAM_PATHS = {**PATHS, "gemini": "/v1beta/models/{model}:streamGenerateContent?alt=sse"}
EMPTY_SCHEMA: dict[str, Any] = {"type": "object", "properties": {}}

Json = dict[str, Any]


def dump(value: Any) -> bytes:
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False).encode("utf-8", "surrogatepass")


def texts(dialect: str, role: str, parts: list[str]) -> Json:
    """A turn of several texts."""
    if dialect == "gemini":
        return {"role": "model" if role == "assistant" else "user", "parts": [{"text": text} for text in parts]}
    kind = {"openai-responses": "input_text" if role != "assistant" else "output_text"}.get(dialect, "text")
    return {"role": role, "content": [{"type": kind, "text": text} for text in parts]}


def user(dialect: str, text: str = "Hi") -> Json:
    return texts(dialect, "user", [text]) if dialect == "gemini" else {"role": "user", "content": text}


def calls(dialect: str, ids: list[str], arguments: str = "{}", name: str = "f") -> list[Json]:
    """One turn with calls."""
    if dialect == "openai-chat":
        made = [{"id": i, "type": "function", "function": {"name": name, "arguments": arguments}} for i in ids]
        return [{"role": "assistant", "content": None, "tool_calls": made}]
    if dialect == "openai-responses":
        return [{"type": "function_call", "call_id": i, "name": name, "arguments": arguments} for i in ids]
    value = json.loads(arguments) if arguments.count("[") < 200 else arguments
    if dialect == "anthropic":
        used = [{"type": "tool_use", "id": i, "name": name, "input": value} for i in ids]
        return [{"role": "assistant", "content": used}]
    return [{"role": "model", "parts": [{"functionCall": {"name": name, "args": value, "id": i}} for i in ids]}]


def results(dialect: str, ids: list[str], text: str = "ok") -> list[Json]:
    if dialect == "openai-chat":
        return [{"role": "tool", "tool_call_id": i, "content": text} for i in ids]
    if dialect == "openai-responses":
        return [{"type": "function_call_output", "call_id": i, "output": text} for i in ids]
    if dialect == "anthropic":
        return [{"role": "user", "content": [{"type": "tool_result", "tool_use_id": i, "content": text} for i in ids]}]
    parts = [{"functionResponse": {"name": "f", "id": i, "response": {"output": text}}} for i in ids]
    return [{"role": "user", "parts": parts}]


def tool(dialect: str, name: str = "f", schema: Any = None) -> Json:
    schema = EMPTY_SCHEMA if schema is None else schema
    if dialect == "openai-chat":
        return {"type": "function", "function": {"name": name, "parameters": schema}}
    if dialect == "openai-responses":
        return {"type": "function", "name": name, "parameters": schema}
    if dialect == "anthropic":
        return {"name": name, "input_schema": schema}
    return {"functionDeclarations": [{"name": name, "parametersJsonSchema": schema}]}


def body(dialect: str, turns: list[Json], tools: list[Json] | None = None, **more: Any) -> Json:
    made: Json = {"openai-responses": {"input": turns}, "gemini": {"contents": turns}}.get(dialect, {"messages": turns})
    if dialect == "anthropic":
        made["max_tokens"] = 100
    if dialect != "gemini":
        made["model"] = "MODEL"
    return {**made, **({"tools": tools} if tools else {}), **more}
