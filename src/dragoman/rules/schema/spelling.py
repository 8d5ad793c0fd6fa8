"""Keywords as the form spells them, with values of the right type.

Mistakes that are common in the wild are put right (`properties: []` from PHP, `required: true` from an old draft,
`type: "str"`, a number in quotes); a keyword whose value makes no sense is left out. A schema written for protocol
buffers (STRING, `any_of`, `nullable`) is put into JSON Schema's own words for everyone else.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .place import Place
from .references import values
from .vocabulary import LISTS, MAPS, NICKNAMES, OPEN_OR_CLOSED, SINGLES, TYPES, Schema, rename_keyword, without

SNAKE = {
    "any_of": "anyOf",
    "property_ordering": "propertyOrdering",
    "additional_properties": "additionalProperties",
    "min_items": "minItems",
    "max_items": "maxItems",
    "min_length": "minLength",
    "max_length": "maxLength",
    "min_properties": "minProperties",
    "max_properties": "maxProperties",
}
STRINGS = ("description", "title", "format", "pattern", "$ref", "$schema", "$id", "$anchor", "$comment")
COUNTS = ("minLength", "maxLength", "minItems", "maxItems", "minProperties", "maxProperties")
NUMBERS = ("minimum", "maximum", "multipleOf", "exclusiveMinimum", "exclusiveMaximum")
BOOLEANS = ("nullable", "uniqueItems", "deprecated", "readOnly", "writeOnly")
EXCLUSIVE = {"exclusiveMinimum": "minimum", "exclusiveMaximum": "maximum"}

WRONG = object()


def is_proto(root: Any) -> bool:
    """Whether a schema is written the protocol buffer way, by its upper case type names."""
    return any(isinstance(node.get("type"), str) and _is_upper(node["type"]) for node in values(root))


def _is_upper(name: str) -> bool:
    return name.isupper() and name.lower() in TYPES


def respell(node: Schema, place: Place) -> Schema:
    """The node in the form's spelling."""
    if place.walk.proto or place.form.upper_types:
        for old, new in SNAKE.items():
            if old in node and new not in node:
                node = place.changed(rename_keyword(node, old, new), f"wrote {old} as {new}")
    kind = node.get("type")
    if isinstance(kind, str) and _is_upper(kind) and not place.form.upper_types:
        node = place.changed({**node, "type": kind.lower()}, f"wrote the type {kind} in lower case")
    return node


def check_keywords(node: Schema, place: Place) -> Schema:
    """The node with every known keyword holding what that keyword holds."""
    if not place.form.checked:
        return node
    node = _modern(node, place)
    for key in [key for key in node if key in CHECKS]:
        right = CHECKS[key](node[key])
        if right is WRONG:
            node = place.changed(
                without(node, key), f"left out {key}, its value is not one that {key} takes", "metadata"
            )
        elif not _is_same(right, node[key], place):
            node = place.changed({**node, key: right}, f"corrected the value of {key}")
    return node


def _is_same(right: Any, value: Any, place: Place) -> bool:
    """Whether a correction corrects nothing (True is not 1); protocol buffers write large numbers in quotes."""
    if place.form.upper_types and isinstance(value, str) and isinstance(right, int | float | str):
        return True
    return right == value and isinstance(right, bool) == isinstance(value, bool)


def _modern(node: Schema, place: Place) -> Schema:
    """Keywords of older drafts in today's way."""
    for key, bound in EXCLUSIVE.items():
        if not isinstance(node.get(key), bool):
            continue
        strict = node[key] and bound in node
        node = rename_keyword(without(node, key), bound, key) if strict else without(node, key)
        place.note(f"wrote {key} as a number" if strict else f"left out {key}, which bounds nothing")
    if isinstance(node.get("items"), list):
        node = rename_keyword(node, "items", "prefixItems")
        if "additionalItems" in node:
            node = rename_keyword(node, "additionalItems", "items")
        place.note("wrote a list of items as prefixItems")
    return node


def _string(value: Any) -> Any:
    return value if isinstance(value, str) else WRONG


def _boolean(value: Any) -> Any:
    return value if isinstance(value, bool) else WRONG


def _number(value: Any) -> Any:
    if isinstance(value, bool):
        return WRONG
    if isinstance(value, int | float):
        return value
    if not isinstance(value, str):
        return WRONG
    try:
        number = float(value)
    except ValueError:
        return WRONG
    if number != number or number in (float("inf"), float("-inf")):
        return WRONG
    return int(number) if number.is_integer() else number


def _count(value: Any) -> Any:
    number = _number(value)
    if number is WRONG or number < 0:
        return WRONG
    return number if number == int(number) else WRONG


def _map(value: Any) -> Any:
    return value if isinstance(value, dict) else WRONG


def _properties(value: Any) -> Any:
    return {} if value is None or value == [] else _map(value)


def _schemas(value: Any) -> Any:
    """A list of schemas, less what is none; WRONG when nothing is left."""
    if not isinstance(value, list):
        return WRONG
    return [each for each in value if isinstance(each, dict | bool)] or WRONG


def _schema(value: Any) -> Any:
    return value if isinstance(value, dict | bool) else WRONG


def _values(value: Any) -> Any:
    return value if isinstance(value, list) and value else WRONG


def _names(value: Any) -> Any:
    if not isinstance(value, list):
        return WRONG
    return list(dict.fromkeys(name for name in value if isinstance(name, str)))


def _dependents(value: Any) -> Any:
    if not isinstance(value, dict):
        return WRONG
    return {name: needs for name, needs in value.items() if isinstance(needs, list)}


def type_name(value: Any) -> Any:
    """A type's proper name, or WRONG."""
    if not isinstance(value, str):
        return WRONG
    if _is_upper(value):
        return value
    name = value.strip().lower()
    name = NICKNAMES.get(name, name)
    return name if name in TYPES else WRONG


def _types(value: Any) -> Any:
    if not isinstance(value, list):
        return type_name(value)
    known = [type_name(each) for each in value]
    listed = list(dict.fromkeys(name.lower() for name in known if name is not WRONG))
    only_null = listed == ["null"] and WRONG in known  # ["any", "null"] is not null alone
    return WRONG if only_null or not listed else listed


CHECKS: dict[str, Callable[[Any], Any]] = {
    **dict.fromkeys(STRINGS, _string),
    **dict.fromkeys(NUMBERS, _number),
    **dict.fromkeys(COUNTS, _count),
    **dict.fromkeys(BOOLEANS, _boolean),
    **dict.fromkeys(MAPS, _map),
    **dict.fromkeys(LISTS, _schemas),
    **dict.fromkeys(SINGLES | OPEN_OR_CLOSED, _schema),
    "properties": _properties,
    "required": _names,
    "propertyOrdering": _names,
    "dependentRequired": _dependents,
    "enum": _values,
    "type": _types,
}
