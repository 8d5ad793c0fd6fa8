"""JSON Schemas of the members that requests must have, for the OpenAPI document."""

from __future__ import annotations

from typing import Any

TEXT: dict[str, Any] = {"type": "string", "minLength": 1}


def turns(*roles: str) -> dict[str, Any]:
    """A list of messages that each have one of these roles."""
    turn = {"type": "object", "properties": {"role": {"enum": list(roles)}}, "required": ["role"]}
    return {"type": "array", "minItems": 1, "items": turn}
