"""Checks of function schemas: few by default, many if `strict`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from dragoman.emulators.openai_responses.field_checks import ResponsesRefusal, wrong_type

Context = tuple[str, ...]


def check_function(tool: dict[str, Any], at: str) -> None:
    """The parameters of a function tool."""
    schema = tool.get("parameters")
    if schema is None:
        return
    if not isinstance(schema, dict):
        raise wrong_type(schema, "an object", f"{at}.parameters")
    subject, where = f"function '{tool['name']}'", f"{at}.parameters"
    if not isinstance(schema.get("properties", {}), dict):
        raise _invalid(subject, "[] is not of type 'object'.", where, "invalid_function_parameters")
    if schema.get("type", "object") != "object":
        raise _invalid(
            subject,
            f"schema must be a JSON Schema of 'type: \"object\"', got 'type: \"{schema['type']}\"'.",
            where,
            "invalid_function_parameters",
        )
    if tool.get("strict"):
        check_strict(schema, subject, where, "invalid_function_parameters")


def check_strict(schema: dict[str, Any], subject: str, where: str, code: str) -> None:
    """Every object forbids other properties, and every property is required."""
    if any(key in schema for key in ("anyOf", "oneOf", "allOf")):
        sentence = "schema must have type 'object' and not have 'oneOf'/'anyOf'/'allOf'/'enum'/'not' at the top level."
        raise _invalid(subject, sentence, where, code)
    for context, node in _objects(schema):
        error = _strict_error(node)
        if error:
            raise _invalid(subject, f"In context={context}, {error}", where, code)


def _strict_error(node: dict[str, Any]) -> str | None:
    if node.get("additionalProperties") is not False:
        return "'additionalProperties' is required to be supplied and to be false."
    properties, required = node.get("properties", {}), node.get("required", [])
    if not isinstance(properties, dict):
        return f"{properties!r} is not of type 'object'."
    for name in properties:
        if not isinstance(required, list) or name not in required:
            return (
                "'required' is required to be supplied and to be an array including every key in properties. "
                f"Missing '{name}'."
            )
    return None


def _objects(schema: dict[str, Any]) -> Iterator[tuple[Context, dict[str, Any]]]:
    stack: list[tuple[Context, Any]] = [((), schema)]
    while stack:
        context, node = stack.pop(0)
        if not isinstance(node, dict):
            continue
        if node.get("type") == "object" or "properties" in node:
            yield context, node
        stack.extend(_children(context, node))


def _children(context: Context, node: dict[str, Any]) -> Iterator[tuple[Context, Any]]:
    for key in ("properties", "$defs", "definitions"):
        if isinstance(node.get(key), dict):
            yield from (((*context, key, name), inner) for name, inner in node[key].items())
    for key in ("anyOf", "allOf", "oneOf"):
        if isinstance(node.get(key), list):
            yield from (((*context, key, str(i)), inner) for i, inner in enumerate(node[key]))
    if "items" in node:
        yield (*context, "items"), node["items"]


def echo_tool(tool: Any) -> Any:
    """A tool as the answer repeats it.

    A function that does not say whether it is strict becomes so, and its schema with it, as recorded: every property is
    required, and no others are allowed. One that cannot become strict stays as it is.
    """
    if not isinstance(tool, dict) or tool.get("type") != "function":
        return tool
    if "strict" in tool:
        return {**tool, "strict": bool(tool["strict"])}
    schema = _make_strict(tool.get("parameters"))
    try:
        check_strict(schema if isinstance(schema, dict) else {}, "", "", "")
    except ResponsesRefusal:
        return {**tool, "strict": False}
    return {**tool, "parameters": schema, "strict": True}


def _make_strict(node: Any) -> Any:
    if isinstance(node, list):
        return [_make_strict(item) for item in node]
    if not isinstance(node, dict):
        return node
    made = {name: _make_strict(inner) for name, inner in node.items()}
    properties = made.get("properties")
    if isinstance(properties, dict):
        given = made.get("required")
        required = given if isinstance(given, list) else []
        made.setdefault("additionalProperties", False)
        made["required"] = [*required, *(name for name in properties if name not in required)]
    return made


def _invalid(subject: str, sentence: str, where: str, code: str) -> ResponsesRefusal:
    return ResponsesRefusal(f"Invalid schema for {subject}: {sentence}", where, code)
