"""Which values: `const`, `enum`, `format`, and what an array holds."""

from __future__ import annotations

from typing import Any

from .place import Place
from .type_keyword import has_type, type_of
from .vocabulary import Schema, kinds, listing, rename_keyword, without
from .words import describe, sentence


def const_as_enum(node: Schema, place: Place) -> Schema:
    """One allowed value as a list of one, if `const` is not read."""
    if place.form.const or "const" not in node:
        return node
    out = {**rename_keyword(node, "const", "enum"), "enum": [node["const"]]}
    return place.changed(out, "wrote const as an enum of one value")


def drop_unfit_values(node: Schema, place: Place) -> Schema:
    """The node without listed values that its type does not have, which nothing fits."""
    values, types = listing(node, "enum"), kinds(node)
    if not place.form.typed_enums or not types:
        return node
    fitting = [value for value in values if has_type(value, types)]
    if len(fitting) == len(values):
        return node
    if fitting:
        return place.changed({**node, "enum": fitting}, "took values of another type out of enum")
    worded = describe(without(node, "enum"), sentence("enum", values))
    return place.changed(worded, "moved enum into the description: its values are of another type", "metadata")


def write_plain_enum(node: Schema, place: Place) -> Schema:
    """An enum of non-empty strings, if no other is read; other values go into the description. Null may stand among
    the values of a type that may be null."""
    values = listing(node, "enum")
    if not place.form.string_enums or not values:
        return node
    types = kinds(node)
    named = [value for value in values if value is not None or "null" not in types]
    if not all(isinstance(value, str) for value in named) or not {*types} <= {"string", "null"}:
        return _in_words(node, values, place)
    kept = [value for value in values if value != ""]
    if len(kept) == len(values):
        return node
    out = {**node, "enum": kept} if kept else without(node, "enum")
    return place.changed(
        describe(out, 'May be "".'), "moved the empty string from enum into the description", "metadata"
    )


def _in_words(node: Schema, values: list[Any], place: Place) -> Schema:
    rest = describe(without(node, "enum"), sentence("enum", values))
    found = {type_of(value) for value in values}
    if "type" not in rest and len(found) == 1:
        rest = {"type": found.pop(), **rest}
    return place.changed(rest, "moved enum into the description: only strings can be listed", "metadata")


def drop_format(node: Schema, place: Place) -> Schema:
    """The node without a format its type does not have here."""
    name = node.get("format")
    if not isinstance(name, str) or place.form.reads_format(kinds(node), name):
        return node
    worded = describe(without(node, "format"), sentence("format", name))
    return place.changed(worded, f"moved the format {name} into the description", "metadata")


def fill_items(node: Schema, place: Place) -> Schema:
    """The node with `items` if it is an array and the form wants them."""
    wants = place.form.array_items
    if wants is None or "array" not in kinds(node) or isinstance(node.get("items"), dict):
        return node
    if "prefixItems" in node and not place.form.knows("prefixItems"):
        return _of_prefix(node, listing(node, "prefixItems"), place)
    if wants == "any":
        return place.changed({**node, "items": {}}, "added items to an array that had none")
    out = {**node, "items": {"type": "string"}}
    return place.changed(out, "added items of type string to an array that had none", "content")


def _of_prefix(node: Schema, prefix: list[Any], place: Place) -> Schema:
    """Items that each follow one of those that stood in order."""
    different: list[Any] = []
    for each in prefix:
        if isinstance(each, dict) and each not in different:
            different.append(each)
    items = {"anyOf": different} if len(different) > 1 else different[0] if different else {}
    worded = describe({**without(node, "prefixItems", "items"), "items": items}, sentence("prefixItems", prefix))
    return place.changed(worded, "wrote prefixItems as items of any of their kinds", "metadata")
