"""OpenAI's checks of tools, their schemas, tool choice and response format."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from dragoman.emulators.chat_service import Complaint
from dragoman.emulators.openai_types import empty_array, missing, not_among, too_long, wrong_type
from dragoman.emulators.provider import Received

_NAME = re.compile(r"^[a-zA-Z0-9_-]+$")
_CHOICES = ("none", "auto", "required")
_CHOICE_KINDS = ("function", "allowed_tools", "custom")
_FORMATS = ("text", "json_object", "json_schema")
Where = tuple[str, ...]


def tools(call: Received) -> Complaint | None:
    """The tools, one by one."""
    declared = call.body.get("tools")
    if declared is None:
        return _tools_missing(call)
    if not isinstance(declared, list):
        return wrong_type("tools", "an array of objects", declared)
    if not declared:
        return empty_array("tools")
    if len(declared) > 128:
        words = (
            f"array too long. Expected an array with maximum length 128, but got an array with length {len(declared)}"
        )
        return Complaint(400, f"Invalid 'tools': {words} instead.", param="tools", code="array_above_max_length")
    return next((c for at, tool in enumerate(declared) if (c := _tool(tool, f"tools[{at}]"))), None)


def _tools_missing(call: Received) -> Complaint | None:
    for key in ("tool_choice", "parallel_tool_calls"):
        if call.body.get(key) is not None:
            return Complaint(400, f"'{key}' is only allowed when 'tools' are specified.", param=key)
    return None


def _tool(tool: Any, path: str) -> Complaint | None:
    if not isinstance(tool, dict):
        return wrong_type(path, "an object", tool)
    sort = tool.get("type")
    if sort is None:
        return missing(f"{path}.type")
    if sort not in ("function", "custom"):
        return not_among(f"{path}.type", sort, ("function", "custom"))
    body = tool.get(sort)
    if not isinstance(body, dict):
        return missing(f"{path}.{sort}") if body is None else wrong_type(f"{path}.{sort}", "an object", body)
    return _tool_name(body, f"{path}.{sort}") or (_parameters(body, path) if sort == "function" else None)


def _tool_name(function: dict[str, Any], path: str) -> Complaint | None:
    name, path = function.get("name"), f"{path}.name"
    if name is None:
        return missing(path)
    if not isinstance(name, str):
        return wrong_type(path, "a string", name)
    if not name:
        words = "empty string. Expected a string with minimum length 1, but got an empty string instead."
        return Complaint(400, f"Invalid '{path}': {words}", param=path, code="empty_string")
    if len(name) > 64:
        return too_long(path, 64, name)
    if not _NAME.match(name):
        words = "string does not match pattern. Expected a string that matches the pattern '^[a-zA-Z0-9_-]+$'."
        return Complaint(400, f"Invalid '{path}': {words}", param=path, code="invalid_value")
    return None


def _parameters(function: dict[str, Any], path: str) -> Complaint | None:
    schema = function.get("parameters")
    if schema is None:
        return None
    if not isinstance(schema, dict):
        return wrong_type(f"{path}.function.parameters", "an object", schema)
    fault = next(schema_faults(schema, strict=function.get("strict") is True), None)
    if fault is None:
        return None
    words = f"Invalid schema for function '{function['name']}': {fault}"
    return Complaint(400, words, param=f"{path}.function.parameters", code="invalid_function_parameters")


def schema_faults(schema: dict[str, Any], strict: bool) -> Iterator[str]:
    """What OpenAI says against a schema, outermost first."""
    if strict and any(key in schema for key in ("anyOf", "oneOf", "allOf", "not")):
        yield "schema must have type 'object' and not have 'oneOf'/'anyOf'/'allOf'/'enum'/'not' at the top level."
    for where, node in _nodes(schema, ()):
        context = f"In context={where!r}, "
        properties = node.get("properties")
        if isinstance(properties, list):
            yield f"{properties} is not of type 'object'"
        if node.get("type") == "array" and "items" not in node and "prefixItems" not in node:
            yield f"{context}array schema missing items."
        if strict and (node.get("type") == "object" or isinstance(properties, dict)):
            yield from (context + fault for fault in _strict_faults(node))


def _strict_faults(node: dict[str, Any]) -> Iterator[str]:
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


def _nodes(schema: Any, where: Where) -> Iterator[tuple[Where, dict[str, Any]]]:
    """Every subschema with the path OpenAI shows for it."""
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


def tool_choice(call: Received) -> Complaint | None:
    """The choice names something that is there."""
    choice = call.body.get("tool_choice")
    if choice is None:
        return None
    if isinstance(choice, str):
        return None if choice in _CHOICES else not_among("tool_choice", choice, _CHOICES)
    if not isinstance(choice, dict):
        return wrong_type("tool_choice", "one of a string or object", choice)
    if choice.get("type") not in _CHOICE_KINDS:
        return not_among("tool_choice.type", choice.get("type"), _CHOICE_KINDS)
    return _chosen(call, choice) if choice["type"] == "function" else None


def _chosen(call: Received, choice: dict[str, Any]) -> Complaint | None:
    function = choice.get("function")
    name = function.get("name") if isinstance(function, dict) else None
    if not isinstance(name, str):
        return missing("tool_choice.function")
    functions = [tool.get("function") or {} for tool in call.body.get("tools") or ()]
    if any(function.get("name") == name for function in functions):
        return None
    words = f"no function named '{name}' was specified in the 'functions' parameter."
    return Complaint(400, f"Invalid value for 'function_call': {words}", param="function_call")


def response_format(call: Received) -> Complaint | None:
    """Structured output: its kind, and its schema where strict."""
    wanted = call.body.get("response_format")
    if wanted is None:
        return None
    if not isinstance(wanted, dict):
        return wrong_type("response_format", "an object", wanted)
    sort = wanted.get("type")
    if sort is None:
        return missing("response_format.type")
    if sort not in _FORMATS:
        return not_among("response_format.type", sort, _FORMATS)
    return _json_schema(wanted.get("json_schema")) if sort == "json_schema" else None


def _json_schema(wanted: Any) -> Complaint | None:
    if not isinstance(wanted, dict):
        return missing("response_format.json_schema")
    if not isinstance(wanted.get("name"), str):
        return missing("response_format.json_schema.name")
    schema = wanted.get("schema")
    if not isinstance(schema, dict) or wanted.get("strict") is not True:
        return None
    fault = next(schema_faults(schema, strict=True), None)
    if fault is None:
        return None
    words = f"Invalid schema for response_format '{wanted['name']}': {fault}"
    return Complaint(400, words, param="response_format")
