"""What the documentation of structured outputs says of schemas. The words are close to those of the service."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

_UNSUPPORTED = (
    *("anyOf", "allOf", "oneOf", "not", "minimum", "maximum", "minItems", "maxItems"),
    *("minLength", "maxLength", "uniqueItems"),
)
_FORMATS = ("date-time", "date", "time", "uuid")
_DEEPEST = 40


def schema_errors(schema: dict[str, Any]) -> Iterator[str]:
    """The errors of the schema of an answer, the outermost first."""
    if schema.get("type") != "object":
        yield "schema must be an object"
    yield from _node_errors(schema, 0)


def _node_errors(node: dict[str, Any], depth: int) -> Iterator[str]:
    if depth > _DEEPEST:
        return
    yield from (f"schema keyword {key} is not supported" for key in _UNSUPPORTED if key in node)
    if "format" in node and node["format"] not in _FORMATS:
        yield f"format {node['format']} is not supported"
    properties = node.get("properties")
    if isinstance(properties, dict) and properties:
        yield from _object_errors(node, properties)
    for key, inner in _inner(node):
        if key and not inner.keys() & {"type", "$ref", "enum", "const"}:
            yield f"property {key} must have a type"
        yield from _node_errors(inner, depth + 1)


def _object_errors(node: dict[str, Any], properties: dict[str, Any]) -> Iterator[str]:
    required = node.get("required")
    names = required if isinstance(required, list) else []
    if not names:
        yield "an object must have at least one required field"
    yield from (f"required field {name} not found in properties" for name in names if name not in properties)


def _inner(node: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    """The schemas inside one, those of properties with their names."""
    for key in ("properties", "$defs", "definitions"):
        members = node.get(key)
        for name, inner in (members if isinstance(members, dict) else {}).items():
            if isinstance(inner, dict):
                yield name if key == "properties" else "", inner
    if isinstance(node.get("items"), dict):
        yield "", node["items"]
