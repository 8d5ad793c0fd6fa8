"""Anthropic's checks of JSON Schemas: every one must be valid, a strict one must compile to a grammar."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from dragoman.emulators.anthropic.refusals import invalid
from dragoman.emulators.request_shape import Path

_TYPES = {"string", "number", "integer", "boolean", "object", "array", "null"}
_COUNTS = ("minLength", "maxLength", "minItems", "maxItems", "minProperties", "maxProperties")
_NUMBERS = ("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf")
_LISTS = ("anyOf", "oneOf", "allOf", "prefixItems")
_MAPS = ("properties", "$defs", "definitions", "patternProperties")
_SINGLE = ("items", "additionalProperties", "not", "propertyNames", "contains", "if", "then", "else")


def check_schema(schema: dict[str, Any], at: Path) -> None:
    """The schema has none of the common mistakes against JSON Schema draft 2020-12."""
    if not all(_is_schema(node) for node in nodes(schema)):
        raise invalid(
            at,
            "JSON schema is invalid. It must match JSON Schema draft 2020-12 "
            "(https://json-schema.org/draft/2020-12). Learn more about tool use at "
            "https://docs.claude.com/en/docs/tool-use.",
        )


def nodes(schema: Any) -> Iterator[Any]:
    """The schema and every schema inside it."""
    stack = [schema]
    while stack:
        node = stack.pop()
        yield node
        if isinstance(node, dict):
            stack.extend(_children(node))


def _children(node: dict[str, Any]) -> Iterator[Any]:
    for key in _MAPS:
        if isinstance(node.get(key), dict):
            yield from node[key].values()
    for key in _LISTS:
        if isinstance(node.get(key), list):
            yield from node[key]
    for key in _SINGLE:
        if key in node:
            yield node[key]


def _is_schema(node: Any) -> bool:
    if isinstance(node, bool):
        return True
    return isinstance(node, dict) and _types_fit(node) and _values_fit(node) and _containers_fit(node)


def _types_fit(node: dict[str, Any]) -> bool:
    if "type" not in node:
        return True
    kinds = node["type"] if isinstance(node["type"], list) else [node["type"]]
    return bool(kinds) and all(isinstance(kind, str) and kind in _TYPES for kind in kinds)


def _values_fit(node: dict[str, Any]) -> bool:
    counts = all(_is_number(node[key]) and node[key] >= 0 for key in _COUNTS if key in node)
    numbers = all(_is_number(node[key]) for key in _NUMBERS if key in node)
    texts = all(isinstance(node[key], str) for key in ("pattern", "$ref") if key in node)
    return counts and numbers and texts


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _containers_fit(node: dict[str, Any]) -> bool:
    required = node.get("required", [])
    return (
        all(isinstance(node[key], dict) for key in _MAPS if key in node)
        and all(isinstance(node[key], list) and node[key] for key in _LISTS if key in node)
        and isinstance(required, list)
        and all(isinstance(name, str) for name in required)
        and isinstance(node.get("enum", []), list)
    )


def count_optional(schema: dict[str, Any]) -> int:
    """How many parameters are optional, at any depth."""
    return sum(
        name not in node.get("required", [])
        for node in nodes(schema)
        if isinstance(node, dict)
        for name in node.get("properties", {})
    )


def count_unions(schema: dict[str, Any]) -> int:
    """How many parameters have several types or alternatives, at any depth."""
    return sum(
        isinstance(value, dict) and (isinstance(value.get("type"), list) or "anyOf" in value)
        for node in nodes(schema)
        if isinstance(node, dict)
        for value in node.get("properties", {}).values()
    )


def check_compilable(schema: dict[str, Any], at: str) -> None:
    """The grammar compiler accepts the schema."""
    loop = _find_cycle(schema)
    if loop:
        raise invalid(
            at,
            f"Invalid schema: Circular reference detected in schema definitions: {' -> '.join(loop)}. "
            "Recursive schemas are not supported.",
        )
    for node in nodes(schema):
        _check_compilable_node(node, at)


def _check_compilable_node(node: Any, at: str) -> None:
    if not isinstance(node, dict):
        return
    limit = limit_refused(node) or _pattern_refused(node.get("pattern"))
    if limit is not None:
        raise invalid(at, limit)
    if "oneOf" in node:
        raise invalid(at, "Schema type 'oneOf' is not supported")
    if any(isinstance(value, bool) for value in node.get("properties", {}).values()):
        raise invalid(at, "For 'object' type, property 'properties' is not supported")
    if node.get("type") == "object" and node.get("additionalProperties") is not False:
        raise invalid(at, "For 'object' type, 'additionalProperties' must be explicitly set to false")


def limit_refused(node: dict[str, Any]) -> str | None:
    """What is said of a limit that the grammar does not know."""
    for kind, keys in _UNCOMPILED.items():
        found = [key for key in keys if key in node]
        if found and kind in _kinds_of(node):
            words = f"property '{found[0]}' is" if len(found) == 1 else f"properties {', '.join(sorted(found))} are"
            return f"For '{kind}' type, {words} not supported"
    if _is_number(node.get("minItems")) and node["minItems"] > 1:
        return "For 'array' type, 'minItems' values other than 0 or 1 are not supported"
    return None


def _pattern_refused(pattern: Any) -> str | None:
    """What its engine says of a regular expression: https://github.com/ENTERPILOT/GoModel/pull/963"""
    bare = re.sub(r"\\[\\(]", "", pattern) if isinstance(pattern, str) else ""
    if re.search(r"\(\?<?[=!]", bare):
        return "Invalid regex in pattern field: Quantifier '?' without preceding element"
    if re.search(r"\\[1-9k]", bare):
        return "Unsupported regex feature in pattern field: Backreferences are not supported."
    edge = re.search(r"\\[bB]", bare)
    return f"Unsupported regex feature in pattern field: {edge[0]} is not supported." if edge else None


def _kinds_of(node: dict[str, Any]) -> list[Any]:
    kind = node.get("type")
    return kind if isinstance(kind, list) else [kind]


_NUMERIC = ("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf")
# https://github.com/agentjido/req_llm/issues/302, https://github.com/CherryHQ/cherry-studio/issues/18037,
# https://github.com/agentjido/req_llm/pull/707, https://github.com/BerriAI/litellm/pull/33981
_UNCOMPILED = {
    "integer": _NUMERIC,
    "number": _NUMERIC,
    "array": ("maxItems", "uniqueItems"),
    "object": ("minProperties", "maxProperties"),
}


def _find_cycle(schema: dict[str, Any]) -> list[str]:
    """The names of definitions that form a cycle; empty if there is none."""
    table = {
        f"#/{place}/{name}": node for place in ("$defs", "definitions") for name, node in schema.get(place, {}).items()
    }
    references = {ref: {inner for inner in _refs(node) if inner in table} for ref, node in table.items()}
    for start in references:
        path = _path_back(start, references)
        if path:
            return [ref.rsplit("/", 1)[1] for ref in path]
    return []


def _refs(node: Any) -> Iterator[str]:
    for inner in nodes(node):
        if isinstance(inner, dict) and isinstance(inner.get("$ref"), str):
            yield inner["$ref"]


def _path_back(start: str, references: dict[str, set[str]]) -> list[str]:
    paths = [[start]]
    seen: set[str] = set()
    while paths:
        path = paths.pop()
        for following in sorted(references[path[-1]]):
            if following == start:
                return [*path, start]
            if following not in seen:
                seen.add(following)
                paths.append([*path, following])
    return []
