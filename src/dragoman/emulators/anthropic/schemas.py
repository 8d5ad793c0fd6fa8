"""JSON Schema as Anthropic reads it: well-formed everywhere, compilable to a grammar where it is strict."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from dragoman.emulators.anthropic.shape import wrong

_TYPES = {"string", "number", "integer", "boolean", "object", "array", "null"}
_COUNTS = ("minLength", "maxLength", "minItems", "maxItems", "minProperties", "maxProperties")
_NUMBERS = ("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf")
_LISTS = ("anyOf", "oneOf", "allOf", "prefixItems")
_MAPS = ("properties", "$defs", "definitions", "patternProperties")
_SINGLE = ("items", "additionalProperties", "not", "propertyNames", "contains", "if", "then", "else")


def well_formed(schema: dict[str, Any], at: str) -> None:
    """Valid JSON Schema draft 2020-12, as far as the common mistakes go."""
    if not all(_is_schema(node) for node in nodes(schema)):
        raise wrong(
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


def optional_count(schema: dict[str, Any]) -> int:
    """Parameters that may be left out, at any depth."""
    return sum(
        name not in node.get("required", [])
        for node in nodes(schema)
        if isinstance(node, dict)
        for name in node.get("properties", {})
    )


def union_count(schema: dict[str, Any]) -> int:
    """Parameters with a list of types or alternatives, at any depth."""
    return sum(
        isinstance(value, dict) and (isinstance(value.get("type"), list) or "anyOf" in value)
        for node in nodes(schema)
        if isinstance(node, dict)
        for value in node.get("properties", {}).values()
    )


def compilable(schema: dict[str, Any], at: str) -> None:
    """What the grammar compiler refuses in one schema, whatever its size."""
    loop = _loop(schema)
    if loop:
        raise wrong(
            at,
            f"Invalid schema: Circular reference detected in schema definitions: {' -> '.join(loop)}. "
            "Recursive schemas are not supported.",
        )
    for node in nodes(schema):
        _compilable_node(node, at)


def _compilable_node(node: Any, at: str) -> None:
    if not isinstance(node, dict):
        return
    if "oneOf" in node:
        raise wrong(at, "Schema type 'oneOf' is not supported")
    if any(isinstance(value, bool) for value in node.get("properties", {}).values()):
        raise wrong(at, "For 'object' type, property 'properties' is not supported")
    if node.get("type") == "object" and node.get("additionalProperties") is not False:
        raise wrong(at, "For 'object' type, 'additionalProperties' must be explicitly set to false")


def _loop(schema: dict[str, Any]) -> list[str]:
    """The names of definitions that lead back to themselves, empty if none does."""
    table = {
        f"#/{place}/{name}": node for place in ("$defs", "definitions") for name, node in schema.get(place, {}).items()
    }
    points = {ref: {inner for inner in _refs(node) if inner in table} for ref, node in table.items()}
    for start in points:
        trail = _trail_back(start, points)
        if trail:
            return [ref.rsplit("/", 1)[1] for ref in trail]
    return []


def _refs(node: Any) -> Iterator[str]:
    for inner in nodes(node):
        if isinstance(inner, dict) and isinstance(inner.get("$ref"), str):
            yield inner["$ref"]


def _trail_back(start: str, points: dict[str, set[str]]) -> list[str]:
    trails = [[start]]
    seen: set[str] = set()
    while trails:
        trail = trails.pop()
        for following in sorted(points[trail[-1]]):
            if following == start:
                return [*trail, start]
            if following not in seen:
                seen.add(following)
                trails.append([*trail, following])
    return []
