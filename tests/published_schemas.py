"""Validators built from the vendors' own SDK types: what a request may hold, apart from anything written here.

An SDK's types are as open as Python's: a `TypedDict` says nothing about further keys. Here they are closed, since
the question is whether a key is published.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from typing import Any

import jsonschema
from anthropic.types import message_create_params as anthropic_params
from google.genai import types as google
from openai.types.chat import completion_create_params as chat_params
from openai.types.responses import response_create_params as responses_params
from pydantic import TypeAdapter

Wire = dict[str, Any]


def _closed(node: Any) -> Any:
    """The schema; objects with listed properties have no others."""
    if isinstance(node, list):
        return [_closed(member) for member in node]
    if not isinstance(node, dict):
        return node
    inner = {key: _closed(value) for key, value in node.items()}
    if inner.get("type") == "object" and "properties" in inner:
        inner["additionalProperties"] = False
    return inner


def _of_params(params: Any, closed: bool = True) -> Wire:
    """The schema of an SDK's parameters. `stream` may be true as well: it has a class of its own."""
    schema: Wire = TypeAdapter(params).json_schema()
    schema = _closed(schema) if closed else schema
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

VENDORS: Mapping[str, tuple[str, str, bool]] = {
    "cerebras": ("cerebras.cloud.sdk.types.chat.completion_create_params", "CompletionCreateParams", True),
    "fireworks": ("fireworks.types.chat.completion_create_params", "CompletionCreateParamsNonStreaming", True),
    "together": ("together.types.chat.completion_create_params", "CompletionCreateParamsNonStreaming", False),
}
"""Vendors of the Chat dialect with an SDK of their own: where its type of a request is, and whether the vendor is known
to refuse keys that this type lacks. `make vendors` installs the SDKs."""


def is_installed(vendor: str) -> bool:
    """Whether the SDK of a vendor is there."""
    try:
        return find_spec(VENDORS[vendor][0]) is not None
    except ModuleNotFoundError:
        return False


def _of_vendor(vendor: str) -> Wire:
    module, name, closed = VENDORS[vendor]
    return _of_params(getattr(import_module(module), name), closed)


@cache
def validator(dialect: str) -> jsonschema.Draft202012Validator:
    """The validator of the requests of a dialect, or of a vendor's own types."""
    schema = _of_vendor(dialect) if dialect in VENDORS else _SCHEMAS[dialect]()
    return jsonschema.Draft202012Validator(schema)


def fits(dialect: str, body: Wire) -> bool:
    """Whether the vendor's types allow this request."""
    return bool(validator(dialect).is_valid(body))


def misfits(dialect: str, body: Wire) -> Iterator[str]:
    """Where and why they do not."""
    for error in validator(dialect).iter_errors(body):
        best = jsonschema.exceptions.best_match([error])
        yield f"{'/'.join(map(str, best.absolute_path))}: {best.message[:160]}"
