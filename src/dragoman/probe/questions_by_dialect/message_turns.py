"""Turns as most dialects write them: a role and its content, and calls and tools as Chat has them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from dragoman.probe.question import JsonObject


def user(content: Any = "Hi", **more: Any) -> dict[str, Any]:
    return {"role": "user", "content": content, **more}


def assistant(content: Any = "Hello.", **more: Any) -> dict[str, Any]:
    return {"role": "assistant", "content": content, **more}


def system(content: Any = "Be brief.", **more: Any) -> dict[str, Any]:
    return {"role": "system", "content": content, **more}


def call(id: str, arguments: Any = '{"word":"sun"}', name: str = "lookup") -> dict[str, Any]:
    return {"id": id, "type": "function", "function": {"name": name, "arguments": arguments}}


def calls(*made: Mapping[str, Any], content: Any = None) -> dict[str, Any]:
    return {"role": "assistant", "content": content, "tool_calls": list(made)}


def result(id: str, content: Any = "A star.") -> dict[str, Any]:
    return {"role": "tool", "tool_call_id": id, "content": content}


def called(id: str, arguments: Any) -> JsonObject:
    return call(id, arguments if isinstance(arguments, str) else msgspec.json.encode(arguments).decode())


def results(ids: tuple[str, ...]) -> tuple[JsonObject, ...]:
    return tuple(result(id) for id in ids)


def text(words: str, **more: Any) -> dict[str, Any]:
    return {"type": "text", "text": words, **more}


def function(name: str, **more: Any) -> dict[str, Any]:
    schema = {"type": "object", "properties": {"word": {"type": "string"}}, "required": ["word"]}
    return {"type": "function", "function": {"name": name, "description": "Look up.", "parameters": schema, **more}}


def described_function(name: str, description: str, schema: JsonObject | None) -> JsonObject:
    made = function(name, description=description, parameters=schema)
    return {**made, "function": {key: value for key, value in made["function"].items() if value is not None}}


LOOKUP: JsonObject = function("lookup")
