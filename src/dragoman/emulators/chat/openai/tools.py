"""OpenAI's checks of tools, their schemas, tool choice and response format."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import chain
from typing import Any

from dragoman.emulators.chat import request_types as chat_types
from dragoman.emulators.chat.openai.request_types import array_too_long, bracketed
from dragoman.emulators.chat.service import ChatRefusal
from dragoman.emulators.provider import ReceivedRequest
from dragoman.emulators.request_shape import Path, both, complete, items, matching, tagged, text, text_up_to

_TYPES = ("string", "number", "integer", "boolean", "object", "array", "null")
SchemaPath = tuple[str, ...]
_name = both(text_up_to(64, nonempty=True), matching("^[a-zA-Z0-9_-]+$"))


def _function(value: Any, path: Path) -> None:
    chat_types.FUNCTION.adding({"name": _name})(value, path)
    if "parameters" not in value:
        return
    schema = value["parameters"]
    place = find_lookaround(schema)
    if place is not None:
        raise ChatRefusal(400, LOOKAROUND.format(place=place), param="tools", code="invalid_json_schema")
    error = next(chain(schema_errors(schema, value.get("strict") is True), _root_errors(schema)), None)
    if error is not None:
        sentence, at = f"Invalid schema for function '{value['name']}': {error}", bracketed((*path, "parameters"))
        raise ChatRefusal(400, sentence, param=at, code="invalid_function_parameters")


_custom = chat_types.CUSTOM.adding({"name": _name})
_kinds = {"function": complete(type=text, function=_function), "custom": complete(type=text, custom=_custom)}
_declared = items(tagged("type", _kinds), nonempty=True)


def declared(value: Any, path: Path) -> None:
    """Every tool."""
    if isinstance(value, list) and len(value) > 128:
        raise array_too_long("tools", 128, value)
    _declared(value, path)


def _root_errors(schema: dict[str, Any]) -> Iterator[str]:
    """The root of a function's parameters is an object with properties. `{}` stands for no parameters."""
    kind = schema.get("type")
    if schema and kind != "object":
        yield f"schema must be a JSON Schema of 'type: \"object\"', got 'type: \"{kind}\"'."
    if schema.keys() == {"type"}:
        yield "In context=(), object schema missing properties."


def schema_errors(schema: dict[str, Any], strict: bool) -> Iterator[str]:
    """OpenAI's errors for a schema, the outermost first."""
    if strict:
        yield from strict_errors(schema)
    for where, node in _nodes(schema, ()):
        properties = node.get("properties", {})
        if not isinstance(properties, dict):
            yield f"{properties!r} is not of type 'object'."
        yield from _keyword_errors(node)
        if node.get("type") == "array" and "items" not in node:
            yield f"In context={where!r}, array schema missing items."
    odd = find_odd_pattern(schema)
    if odd is not None:
        yield f"{odd!r} is not a 'regex'."


def strict_errors(schema: dict[str, Any]) -> Iterator[str]:
    """Those for a strict one."""
    if any(key in schema for key in ("anyOf", "oneOf", "allOf", "not")):
        yield "schema must have type 'object' and not have 'oneOf'/'anyOf'/'allOf'/'enum'/'not' at the top level."
    for where, node in _nodes(schema, ()):
        if node.get("type") == "object" or "properties" in node:
            yield from (f"In context={where!r}, {error}" for error in _strict_errors(node))


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
    required, properties = node.get("required"), node.get("properties", {})
    if not isinstance(properties, dict):
        yield f"{properties!r} is not of type 'object'."
    named = required if isinstance(required, list) else []
    for key in properties:
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


# https://github.com/vercel/ai/pull/21037, https://github.com/cline/cline/pull/14019
LOOKAROUND = "Invalid JSON schema: regex lookaround is not supported. Found at {place}."
_LOOKS_AROUND = re.compile(r"\(\?<?[=!]")


def find_lookaround(schema: Any) -> str | None:
    """Where a pattern looks ahead or behind. What is escaped is only itself."""
    for where, node in _nodes(schema, ()):
        pattern = node.get("pattern")
        if isinstance(pattern, str) and _LOOKS_AROUND.search(re.sub(r"\\[\\(]", "", pattern)):
            return ".".join(("$", *where, "pattern"))
    return None


def find_odd_pattern(schema: Any) -> str | None:
    """A pattern that is none for a validator written in Python: https://github.com/raine/claude-code-proxy/issues/141"""
    for _, node in _nodes(schema, ()):
        pattern = node.get("pattern")
        if isinstance(pattern, str) and _JAVASCRIPT.search(re.sub(r"\\[\\(]", "", pattern)):
            return pattern
    return None


_JAVASCRIPT = re.compile(r"\\[pPckh]|\(\?<[a-zA-Z]")


def check_choice(request: ReceivedRequest) -> None:
    """A tool choice wants tools, and names a declared one."""
    declared = request.body.get("tools")
    for key in ("tool_choice", "parallel_tool_calls") if declared is None else ():
        if request.body.get(key) is not None:
            sentence = f"'{key}' is only allowed when 'tools' are specified."
            raise ChatRefusal(400, f"Invalid value for '{key}': {sentence}", param=key)
    choice = request.body.get("tool_choice")
    if not isinstance(choice, dict) or choice["type"] != "function":
        return
    name = choice["function"]["name"]
    if all(tool.get("function", {}).get("name") != name for tool in declared):
        sentence = f"no function named '{name}' was specified in the 'functions' parameter."
        raise ChatRefusal(400, f"Invalid value for 'function_call': {sentence}", param="function_call")


def _json_schema(value: Any, path: Path) -> None:
    chat_types.JSON_SCHEMA.adding({"name": _name})(value, path)
    place = find_lookaround(value.get("schema"))
    if place is not None:
        raise ChatRefusal(400, LOOKAROUND.format(place=place), param="response_format", code="invalid_json_schema")
    is_strict = value.get("strict") and "schema" in value
    error = next(schema_errors(value["schema"], strict=True), None) if is_strict else None
    if error is not None:
        sentence = f"Invalid schema for response_format '{value['name']}': {error}"
        raise ChatRefusal(400, sentence, param="response_format")


RESPONSE_FORMAT = tagged("type", {**chat_types.FORMATS, "json_schema": complete(type=text, json_schema=_json_schema)})
