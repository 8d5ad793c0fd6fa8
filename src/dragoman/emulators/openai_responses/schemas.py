"""Checks of function schemas: few by default, many if `strict`."""

from __future__ import annotations

from typing import Any

from dragoman.emulators.chat.openai.request_types import wrong_type
from dragoman.emulators.chat.openai.tools import LOOKAROUND, find_lookaround, find_odd_pattern, strict_errors
from dragoman.emulators.openai_responses.refusals import ResponsesRefusal


def check_function(tool: dict[str, Any], at: str) -> None:
    """The parameters of a function tool."""
    schema = tool.get("parameters")
    if schema is None:
        return
    if not isinstance(schema, dict):
        raise wrong_type(f"{at}.parameters", "an object", schema)
    check_patterns(schema, "tools")
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
    odd = find_odd_pattern(schema)
    if odd is not None:
        raise _invalid(subject, f"{odd!r} is not a 'regex'.", where, "invalid_function_parameters")
    if tool.get("strict"):
        check_strict(schema, subject, where, "invalid_function_parameters")


def check_patterns(schema: dict[str, Any], param: str) -> None:
    """No pattern looks ahead or behind."""
    place = find_lookaround(schema)
    if place is not None:
        raise ResponsesRefusal(LOOKAROUND.format(place=place), param, "invalid_json_schema")


def check_strict(schema: dict[str, Any], subject: str, where: str, code: str) -> None:
    """Every object forbids other properties, and every property is required."""
    error = next(strict_errors(schema), None)
    if error is not None:
        raise _invalid(subject, error, where, code)


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
