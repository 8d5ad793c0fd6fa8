"""`type`: present where it must be, a single one if a list is not read, with "or null" in the form's way."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from .form import Nullable, Typing
from .place import Place
from .vocabulary import Schema, is_null, is_object, kinds, listing, without
from .words import describe

# Keywords that speak about values of one type; all others speak about any value.
ABOUT = {
    **dict.fromkeys(("minLength", "maxLength", "pattern", "format"), "string"),
    **dict.fromkeys(("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"), "number"),
    **dict.fromkeys(("items", "prefixItems", "minItems", "maxItems", "uniqueItems", "contains"), "array"),
    **dict.fromkeys(
        ("properties", "required", "additionalProperties", "minProperties", "maxProperties", "propertyOrdering"),
        "object",
    ),
    **dict.fromkeys(("patternProperties", "propertyNames", "dependentRequired", "dependentSchemas"), "object"),
}

OUTSIDE = ("title", "description", "default")
"""Annotations that stand beside a choice with null, not inside it."""


def one_type(node: Schema, place: Place) -> Schema:
    """The node with a single type, if the form reads no lists of them."""
    if place.form.type_lists or not isinstance(node.get("type"), list):
        return node
    named = kinds(node)
    real = [kind for kind in named if kind != "null"]
    if place.form.null_lists and node["type"] == [*real, "null"] and len(real) == 1:
        return node
    if place.form.nullable is Nullable.UNION and len(named) > 1 and "anyOf" not in node:
        return place.changed(_split(node, list(named)), "wrote the list of types as anyOf")
    out = {**node, "type": real[0] if real else "null"}
    if len(real) < len(named) and real:
        out["nullable"] = True
    if len(real) < 2:
        return place.changed(out, "wrote the list of types as one type")
    if "anyOf" in place.form.unions and "anyOf" not in node:
        return place.changed(_split(out, real), "wrote the list of types as anyOf")
    out = describe(out, f"Type: {' or '.join(real)}.")
    return place.changed(out, "kept the first of several types", "content")


def _split(node: Schema, named: list[str]) -> Schema:
    """One choice per type, each with the keywords that speak about it."""
    own = {key: value for key, value in node.items() if key in ABOUT}
    above = {key: value for key, value in node.items() if key not in ABOUT and key not in ("type", "enum")}
    options = [{"type": kind, **_about(own, kind), **_values(node, kind)} for kind in named]
    return {**above, "anyOf": options}


def _about(own: Schema, kind: str) -> Schema:
    kind = "number" if kind == "integer" else kind
    return {key: value for key, value in own.items() if ABOUT[key] == kind}


def _values(node: Schema, kind: str) -> Schema:
    fitting = [value for value in listing(node, "enum") if has_type(value, (kind,))]
    return {"enum": fitting} if fitting else {}


def nullable(node: Schema, place: Place) -> Schema:
    """The node with "or null" written in the form's way."""
    way = place.form.nullable
    if way is Nullable.KEYWORD:
        return _as_keyword(node, place)
    if "nullable" not in node or (way is Nullable.ANY and not place.walk.proto):
        return node
    rest = without(node, "nullable")
    if node["nullable"] is not True or place.is_root:
        return place.changed(rest, "left out nullable")
    if way is Nullable.WORDS:
        return place.changed(describe(rest, "May be null."), "moved nullable into the description", "metadata")
    return place.changed(with_null(rest), "wrote nullable as a type")


def _as_keyword(node: Schema, place: Place) -> Schema:
    values = listing(node, "enum")
    if None not in values:
        return node
    rest = [value for value in values if value is not None]
    node = {**node, "enum": rest, "nullable": True} if rest else {**without(node, "enum"), "type": "null"}
    return place.changed(node, "wrote null among the values as nullable")


def allows_null(node: Any) -> bool:
    """Whether null follows the schema, as far as its own words go."""
    if not isinstance(node, dict):
        return node is True
    if node.get("nullable") is True or is_null(node):
        return True
    if "null" in kinds(node) or ("type" not in node and None in listing(node, "enum")):
        return "enum" not in node or None in listing(node, "enum")
    return any(allows_null(option) for option in listing(node, "anyOf") + listing(node, "oneOf"))


def with_null(node: Schema) -> Schema:
    """A schema that also allows null."""
    if allows_null(node):
        return node
    if "type" in node and "const" not in node:
        named = list(kinds(node))
        out = {**node, "type": named if "null" in named else [*named, "null"]}
        values = listing(node, "enum")
        return {**out, "enum": [*values, None]} if values and None not in values else out
    if isinstance(node.get("anyOf"), list):
        return {**node, "anyOf": [*node["anyOf"], {"type": "null"}]}
    if not node.keys() & {"$ref", "const", "oneOf", "allOf", "enum", "not"}:
        return node
    outside = {key: value for key, value in node.items() if key in OUTSIDE}
    return {**outside, "anyOf": [without(node, *outside), {"type": "null"}]}


def give_type(node: Schema, place: Place) -> Schema:
    """The node with a type, if every node must have one."""
    if place.form.typing is not Typing.ALWAYS:
        return node
    if kinds(node) == ("null",) and place.form.nullable in (Nullable.KEYWORD, Nullable.WORDS):
        worded = describe({**node, "type": "string", "nullable": True}, "Always null.")
        return place.changed(worded, "wrote the type null as a string that may be null", "metadata")
    if "type" in node or node.keys() & {"anyOf", "oneOf", "allOf", "$ref"}:
        return node
    kind = _guess(node)
    if kind is not None:
        or_null = place.form.type_lists and kind != "null" and None in listing(node, "enum")
        declared = [kind, "null"] if or_null else kind
        return place.changed({"type": declared, **node}, f"added the type {kind}, which the schema implies")
    listed = {type_of(value) for value in listing(node, "enum")}
    if listed and "anyOf" in place.form.unions and not place.is_root:
        return place.changed(_split(node, sorted(listed)), "wrote values of several types as anyOf")
    worded = describe({"type": "string", **node}, "Any JSON value, written as JSON.")
    return place.changed(worded, "added the type string: a value of any type cannot be declared", "content")


def _guess(node: Schema) -> str | None:
    """The type that a schema without one implies."""
    if is_object(node):
        return "object"
    values = [node["const"]] if "const" in node else listing(node, "enum")
    found = {type_of(value) for value in values}
    if found == {"null"}:
        return "null"
    found.discard("null")
    if found == {"integer", "number"}:
        return "number"
    if len(found) == 1:
        return found.pop()
    about = {ABOUT[key] for key in node if key in ABOUT}
    return about.pop() if len(about) == 1 else None


def has_type(value: Any, types: Collection[str]) -> bool:
    """Whether it is of one of these types. Every integer is a number."""
    found = type_of(value)
    return found in types or (found == "integer" and "number" in types)


def type_of(value: Any) -> str:
    """The JSON Schema type of a JSON value."""
    if isinstance(value, bool):
        return "boolean"
    if isinstance(value, int):
        return "integer"
    if isinstance(value, float):
        return "number"
    if value is None:
        return "null"
    return "string" if isinstance(value, str) else "array" if isinstance(value, list) else "object"
