"""How heavy a schema is for a grammar compiler: fields that may be left out, and fields of several types."""

from __future__ import annotations

from typing import Any, NamedTuple

import msgspec

from dragoman.conversation.bounded_cache import remembered

from .references import values
from .vocabulary import mapping, names


class Weight(NamedTuple):
    """How much of a schema counts against a target's limits, at any depth."""

    optional: int
    """Fields that may be left out."""
    unions: int
    """Fields with a list of types or alternatives."""


@remembered
def weight(schema: bytes) -> Weight:
    optional = unions = 0
    for node in values(msgspec.json.decode(schema)):
        fields = mapping(node, "properties")
        optional += len(fields.keys() - set(names(node)))
        unions += sum(map(_is_union, fields.values()))
    return Weight(optional, unions)


def _is_union(field: Any) -> bool:
    return isinstance(field, dict) and (isinstance(field.get("type"), list) or "anyOf" in field)
