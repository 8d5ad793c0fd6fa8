"""A small value that fits a JSON Schema: always the same one for the same schema."""

from __future__ import annotations

from typing import Any

_DEEPEST = 12  # recursive schemas end here
_LARGEST = 1000
_FORMATS = {"date": "2026-01-01", "date-time": "2026-01-01T00:00:00Z", "time": "00:00:00Z", "email": "a@example.com"}


def sample(schema: Any) -> Any:
    """A value that fits the schema."""
    return _value(schema, schema, 0)


def _value(schema: Any, root: Any, depth: int) -> Any:
    if not isinstance(schema, dict) or depth > _DEEPEST:
        return None
    for key in ("const", "default", "example"):
        if key in schema:
            return schema[key]
    if isinstance(schema.get("enum"), list) and schema["enum"]:
        return schema["enum"][0]
    inner = _inner(schema, root)
    if inner is not None:
        return _value(inner, root, depth + 1)
    return _typed(schema, root, depth)


def _inner(schema: dict[str, Any], root: Any) -> Any:
    """The schema that this one refers to: its `$ref`, or its first alternative."""
    reference = schema.get("$ref")
    if isinstance(reference, str) and reference.startswith("#/"):
        found = root
        for step in reference[2:].split("/"):
            found = found.get(step) if isinstance(found, dict) else None
        return found if found is not None else {}
    for key in ("anyOf", "oneOf", "allOf"):
        members = schema.get(key)
        if isinstance(members, list) and members:
            return members[0]
    return None


def _typed(schema: dict[str, Any], root: Any, depth: int) -> Any:
    kind = schema.get("type")
    kind = kind[0] if isinstance(kind, list) and kind else kind
    match str(kind).lower():
        case "string":
            text = _FORMATS.get(str(schema.get("format")), "text")
            return text.ljust(_count(schema.get("minLength")), "x")
        case "integer" | "number":
            least = schema.get("minimum")
            return least if isinstance(least, int | float) and least else 1
        case "boolean":
            return True
        case "array":
            count = max(1, _count(schema.get("minItems")))
            return [_value(schema.get("items") or {"type": "string"}, root, depth + 1) for _ in range(count)]
        case "null":
            return None
        case _:
            members = schema.get("properties")
            members = members if isinstance(members, dict) else {}
            return {name: _value(member, root, depth + 1) for name, member in members.items()}


def _count(value: Any) -> int:
    """A small count. Google writes numbers as texts, and a client may write anything."""
    try:
        return max(0, min(int(value), _LARGEST))
    except (TypeError, ValueError, OverflowError):
        return 0
