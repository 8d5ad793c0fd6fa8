"""Validators built from the vendors' own SDK types: what a request may hold, apart from anything written here.

An SDK's types are open where Python's are: a `TypedDict` says nothing about further keys. Here they are closed, since
the question is whether a key is published.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cache
from typing import Any

import jsonschema
from anthropic.types import message_create_params as anthropic_params
from google.genai import types as google
from openai.types.chat import completion_create_params as chat_params
from openai.types.responses import response_create_params as responses_params
from pydantic import TypeAdapter

Wire = dict[str, Any]


def _closed(node: Any) -> Any:
    """The schema, where objects with listed properties have no others."""
    if isinstance(node, list):
        return [_closed(member) for member in node]
    if not isinstance(node, dict):
        return node
    inner = {key: _closed(value) for key, value in node.items()}
    if inner.get("type") == "object" and "properties" in inner:
        inner["additionalProperties"] = False
    return inner


def _of_params(params: Any) -> Wire:
    """The schema of an SDK's parameters. `stream` may be true as well: it has a class of its own."""
    schema: Wire = _closed(TypeAdapter(params).json_schema())
    schema["properties"]["stream"] = {"type": ["boolean", "null"]}
    return schema


def _of_gemini() -> Wire:
    """The body of generateContent: the SDK names its members one by one."""
    fields: dict[str, Any] = {
        "contents": list[google.Content],
        "systemInstruction": google.Content,
        "tools": list[google.Tool],
        "toolConfig": google.ToolConfig,
        "generationConfig": google.GenerationConfig,
        "safetySettings": list[google.SafetySetting],
        "cachedContent": str,
    }
    definitions: Wire = {}
    properties: Wire = {}
    for name, kind in fields.items():
        schema = TypeAdapter(kind).json_schema(by_alias=True)
        definitions |= schema.pop("$defs", {})
        properties[name] = schema
    return {
        "type": "object",
        "$defs": _closed(definitions),
        "properties": _closed(properties),
        "required": ["contents"],
        "additionalProperties": False,
    }


_SCHEMAS: dict[str, Callable[[], Wire]] = {
    "openai-chat": lambda: _of_params(chat_params.CompletionCreateParamsNonStreaming),
    "openai-responses": lambda: _of_params(responses_params.ResponseCreateParamsNonStreaming),
    "anthropic": lambda: _of_params(anthropic_params.MessageCreateParamsNonStreaming),
    "gemini": _of_gemini,
}
DIALECTS = tuple(_SCHEMAS)


@cache
def validator(dialect: str) -> jsonschema.Draft202012Validator:
    """The validator of a dialect's requests."""
    return jsonschema.Draft202012Validator(_SCHEMAS[dialect]())


def fits(dialect: str, body: Wire) -> bool:
    """Whether the vendor's types allow this request."""
    return bool(validator(dialect).is_valid(body))


def misfits(dialect: str, body: Wire) -> Iterator[str]:
    """Where and why they do not."""
    for error in validator(dialect).iter_errors(body):
        best = jsonschema.exceptions.best_match([error])
        yield f"{'/'.join(map(str, best.absolute_path))}: {best.message[:160]}"
