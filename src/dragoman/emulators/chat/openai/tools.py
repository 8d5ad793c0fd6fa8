"""OpenAI's checks of tools, their schemas, tool choice and response format."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import chain
from typing import Any

from dragoman.emulators.chat.openai.request_types import (
    empty_array,
    empty_string,
    missing,
    not_among,
    too_long,
    wrong_type,
)
from dragoman.emulators.chat.service import ChatRefusal
from dragoman.emulators.provider import ReceivedRequest

_NAME = re.compile(r"^[a-zA-Z0-9_-]+$")
_CHOICES = ("none", "auto", "required")
_CHOICE_KINDS = ("function", "allowed_tools", "custom")
_FORMATS = ("text", "json_object", "json_schema")
_TYPES = ("string", "number", "integer", "boolean", "object", "array", "null")
SchemaPath = tuple[str, ...]


def check_tools(request: ReceivedRequest) -> ChatRefusal | None:
    """Every tool."""
    declared = request.body.get("tools")
    if declared is None:
        return _check_no_tools(request)
    if not isinstance(declared, list):
        return wrong_type("tools", "an array of objects", declared)
    if not declared:
        return empty_array("tools")
    if len(declared) > 128:
        sentence = (
            f"array too long. Expected an array with maximum length 128, but got an array with length {len(declared)}"
        )
        return ChatRefusal(400, f"Invalid 'tools': {sentence} instead.", param="tools", code="array_above_max_length")
    return next((c for at, tool in enumerate(declared) if (c := _check_tool(tool, f"tools[{at}]"))), None)


def _check_no_tools(request: ReceivedRequest) -> ChatRefusal | None:
    for key in ("tool_choice", "parallel_tool_calls"):
        if request.body.get(key) is not None:
            sentence = f"'{key}' is only allowed when 'tools' are specified."
            return ChatRefusal(400, f"Invalid value for '{key}': {sentence}", param=key)
    return None


def _check_tool(tool: Any, path: str) -> ChatRefusal | None:
    if not isinstance(tool, dict):
        return wrong_type(path, "an object", tool)
    kind = tool.get("type")
    if kind is None:
        return missing(f"{path}.type")
    if kind not in ("function", "custom"):
        return not_among(f"{path}.type", kind, ("function", "custom"))
    body = tool.get(kind)
    if not isinstance(body, dict):
        return missing(f"{path}.{kind}") if body is None else wrong_type(f"{path}.{kind}", "an object", body)
    return _check_name(body, f"{path}.{kind}") or (_check_parameters(body, path) if kind == "function" else None)


def _check_name(function: dict[str, Any], path: str) -> ChatRefusal | None:
    name, path = function.get("name"), f"{path}.name"
    if name is None:
        return missing(path)
    if not isinstance(name, str):
        return wrong_type(path, "a string", name)
    if not name:
        return empty_string(path)
    if len(name) > 64:
        return too_long(path, 64, name)
    if not _NAME.match(name):
        sentence = "string does not match pattern. Expected a string that matches the pattern '^[a-zA-Z0-9_-]+$'."
        return ChatRefusal(400, f"Invalid '{path}': {sentence}", param=path, code="invalid_value")
    return None


def _check_parameters(function: dict[str, Any], path: str) -> ChatRefusal | None:
    if "parameters" not in function:
        return None
    schema = function["parameters"]
    if not isinstance(schema, dict):
        return wrong_type(f"{path}.function.parameters", "an object", schema)
    strict = function.get("strict") is True
    error = next(chain(schema_errors(schema, strict), _root_errors(schema)), None)
    if error is None:
        return None
    sentence = f"Invalid schema for function '{function['name']}': {error}"
    return ChatRefusal(400, sentence, param=f"{path}.function.parameters", code="invalid_function_parameters")


def _root_errors(schema: dict[str, Any]) -> Iterator[str]:
    """The root of a function's parameters is an object with properties. `{}` stands for no parameters."""
    kind = schema.get("type")
    if schema and kind != "object":
        yield f"schema must be a JSON Schema of 'type: \"object\"', got 'type: \"{kind}\"'."
    if schema.keys() == {"type"}:
        yield "In context=(), object schema missing properties."


def schema_errors(schema: dict[str, Any], strict: bool) -> Iterator[str]:
    """OpenAI's errors for a schema, the outermost first."""
    if strict and any(key in schema for key in ("anyOf", "oneOf", "allOf", "not")):
        yield "schema must have type 'object' and not have 'oneOf'/'anyOf'/'allOf'/'enum'/'not' at the top level."
    for where, node in _nodes(schema, ()):
        context = f"In context={where!r}, "
        properties = node.get("properties")
        if not isinstance(node.get("properties", {}), dict):
            yield f"{properties!r} is not of type 'object'."
        yield from _keyword_errors(node)
        if node.get("type") == "array" and "items" not in node:
            yield f"{context}array schema missing items."
        if strict and (node.get("type") == "object" or isinstance(properties, dict)):
            yield from (context + error for error in _strict_errors(node))


def _keyword_errors(node: dict[str, Any]) -> Iterator[str]:
    """Values that no JSON Schema has."""
    required = node.get("required", [])
    if not isinstance(required, list):
        yield f"{required!r} is not of type 'array'."
    kind = node.get("type", "object")
    for one in kind if isinstance(kind, list) else [kind]:
        if one not in _TYPES:
            yield f"{one!r} is not valid under any of the given schemas."


def _strict_errors(node: dict[str, Any]) -> Iterator[str]:
    if node.get("additionalProperties") is not False:
        yield "'additionalProperties' is required to be supplied and to be false."
    required = node.get("required")
    named = required if isinstance(required, list) else []
    for key in node.get("properties") or {}:
        if key not in named:
            yield (
                "'required' is required to be supplied and to be an array including every key in properties."
                f" Missing '{key}'."
            )


def _nodes(schema: Any, where: SchemaPath) -> Iterator[tuple[SchemaPath, dict[str, Any]]]:
    """Every subschema with the path that OpenAI's errors show."""
    if not isinstance(schema, dict):
        return
    yield where, schema
    for key in ("properties", "$defs", "definitions"):
        members = schema.get(key)
        for name, member in (members if isinstance(members, dict) else {}).items():
            yield from _nodes(member, (*where, key, name))
    for key in ("items", "additionalProperties"):
        yield from _nodes(schema.get(key), (*where, key))
    for key in ("anyOf", "oneOf", "allOf", "prefixItems"):
        members = schema.get(key)
        for at, member in enumerate(members if isinstance(members, list) else ()):
            yield from _nodes(member, (*where, key, str(at)))


def check_tool_choice(request: ReceivedRequest) -> ChatRefusal | None:
    """The tool choice is known, and names a declared tool."""
    choice = request.body.get("tool_choice")
    if choice is None:
        return None
    if isinstance(choice, str):
        return None if choice in _CHOICES else not_among("tool_choice", choice, _CHOICES)
    if not isinstance(choice, dict):
        return wrong_type("tool_choice", "one of a string or object", choice)
    if choice.get("type") not in _CHOICE_KINDS:
        return not_among("tool_choice.type", choice.get("type"), _CHOICE_KINDS)
    return _check_chosen(request, choice) if choice["type"] == "function" else None


def _check_chosen(request: ReceivedRequest, choice: dict[str, Any]) -> ChatRefusal | None:
    function = choice.get("function")
    name = function.get("name") if isinstance(function, dict) else None
    if not isinstance(name, str):
        return missing("tool_choice.function")
    functions = [tool.get("function") or {} for tool in request.body.get("tools") or ()]
    if any(function.get("name") == name for function in functions):
        return None
    sentence = f"no function named '{name}' was specified in the 'functions' parameter."
    return ChatRefusal(400, f"Invalid value for 'function_call': {sentence}", param="function_call")


def check_response_format(request: ReceivedRequest) -> ChatRefusal | None:
    """The kind of structured output, and its schema if strict."""
    response_format = request.body.get("response_format")
    if response_format is None:
        return None
    if not isinstance(response_format, dict):
        return wrong_type("response_format", "an object", response_format)
    kind = response_format.get("type")
    if kind is None:
        return missing("response_format.type")
    if kind not in _FORMATS:
        return not_among("response_format.type", kind, _FORMATS)
    return _check_json_schema(response_format.get("json_schema")) if kind == "json_schema" else None


def _check_json_schema(response_format: Any) -> ChatRefusal | None:
    if not isinstance(response_format, dict):
        return missing("response_format.json_schema")
    if not isinstance(response_format.get("name"), str):
        return missing("response_format.json_schema.name")
    refusal = _check_name(response_format, "response_format.json_schema")
    if refusal is not None:
        return refusal
    schema = response_format.get("schema")
    if not isinstance(schema, dict) or response_format.get("strict") is not True:
        return None
    error = next(schema_errors(schema, strict=True), None)
    if error is None:
        return None
    sentence = f"Invalid schema for response_format '{response_format['name']}': {error}"
    return ChatRefusal(400, sentence, param="response_format")
