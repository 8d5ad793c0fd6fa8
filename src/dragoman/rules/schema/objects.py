"""Objects: the root, which must be one, their properties and names, which are required, and what strict mode adds."""

from __future__ import annotations

import re
from typing import Any

from .form import Strictness, Typing
from .place import Place
from .references import values
from .type_keyword import allows_null, with_null
from .vocabulary import DEFINITIONS, Schema, is_object, kinds, mapping, names, without

LONGEST_NAME = 60


def possible(node: Schema, place: Place) -> Schema:
    """The node without properties that may not be given (`false`), if booleans are no schemas."""
    fields = mapping(node, "properties")
    barred = [name for name, value in fields.items() if value is False]
    if place.form.boolean_schemas or not barred:
        return node
    kept = {name: value for name, value in fields.items() if name not in barred}
    return place.changed({**node, "properties": kept}, f"left out {', '.join(barred)}, which no value fits")


def well_named(node: Schema, place: Place) -> Schema:
    """The node with property names that the form takes; their own are kept for the way back."""
    pattern, fields = place.form.property_names, mapping(node, "properties")
    odd = [name for name in fields if pattern and not re.fullmatch(pattern, name)]
    if not odd:
        return node
    new = {name: _make_fresh(name, pattern or "", place) for name in odd}
    place.note("renamed " + ", ".join(f"{name} to {new[name]}" for name in odd))
    out = {**node, "properties": {new.get(name, name): value for name, value in fields.items()}}
    for key in ("required", "propertyOrdering"):
        if key in node:
            out[key] = [new.get(name, name) for name in names(node, key)]
    return out


def _make_fresh(name: str, pattern: str, place: Place) -> str:
    """A name of the right form that nothing else in the schema has; the same for the same name everywhere."""
    walk = place.walk
    if name in walk.names:
        return walk.names[name]
    if walk.taken is None:
        walk.taken = {key for node in values(walk.root) for key in node}
    stem = re.sub(r"[^a-zA-Z0-9_.-]", "_", name)[:LONGEST_NAME] or "field"
    stem = stem if re.fullmatch(pattern, stem) else "field"
    fresh, count = stem, 1
    while fresh in walk.taken:
        count += 1
        fresh = f"{stem[: LONGEST_NAME - 4]}_{count}"
    walk.taken.add(fresh)
    walk.names[name] = fresh
    return fresh


def fit_required(node: Schema, place: Place) -> Schema:
    """`required` with declared names only, and not at all when nothing is."""
    if not isinstance(node.get("required"), list):
        return node
    listed, fields = names(node), mapping(node, "properties")
    kept = [name for name in listed if name in fields] if place.form.required_exist else listed
    if len(kept) < len(listed):
        place.note("left undeclared names out of required", "metadata")
        return {**node, "required": kept} if kept else without(node, "required")
    if kept or place.form.empty_required:
        return _order(node, place)
    return place.changed(without(node, "required"), "left out required, which was empty")


def _order(node: Schema, place: Place) -> Schema:
    """propertyOrdering, too, with declared names only."""
    listed, fields = names(node, "propertyOrdering"), mapping(node, "properties")
    kept = [name for name in listed if name in fields]
    if len(kept) == len(listed) or not place.form.required_exist:
        return node
    return place.changed({**node, "propertyOrdering": kept}, "left undeclared names out of propertyOrdering", "order")


def make_strict(node: Schema, place: Place) -> Schema:
    """An object as strict mode wants it: closed, and with every property required, optional ones nullable."""
    if place.form.some_required and _describes_object(node):
        node = _some_required(node, place)
    if place.form.strict is Strictness.OFF or "$ref" in node or not _describes_object(node):
        return node
    node = _close(node, place)
    return _all_required(node, place) if place.form.strict is Strictness.ALL else node


def describe_properties(node: Schema, place: Place) -> Schema:
    """A description for every property, and the schema of further properties for an object inside another: some chat
    templates read both of every schema."""
    if not place.form.documented:
        return node
    fields = mapping(node, "properties")
    bare = [name for name, value in fields.items() if isinstance(value, dict) and "description" not in value]
    if bare:
        place.note(f"gave {', '.join(bare)} an empty description")
        made = {name: {**value, "description": ""} if name in bare else value for name, value in fields.items()}
        node = {**node, "properties": made}
    if place.at and "object" in kinds(node) and "additionalProperties" not in node:
        opened = {**node, "additionalProperties": {"type": "string"}}
        return place.changed(opened, "said that further properties are strings", "metadata")
    return node


def _describes_object(node: Schema) -> bool:
    return "object" in kinds(node) or ("type" not in node and is_object(node))


def _close(node: Schema, place: Place) -> Schema:
    before = node.get("additionalProperties")
    if before is False:
        return node
    stated = before is not None and before is not True
    out = {**node, "additionalProperties": False}
    return place.changed(out, "closed the object to other properties", "content" if stated else "nothing")


def _all_required(node: Schema, place: Place) -> Schema:
    fields, listed = mapping(node, "properties"), set(names(node))
    optional = dict.fromkeys(name for name in fields if name not in listed)
    if optional:
        place.note(f"made {', '.join(optional)} required, null stands for absent")
        made = {name: _or_null(value) if name in optional else value for name, value in fields.items()}
        node = {**node, "properties": made, "required": list(fields)}
    if isinstance(node.get("properties"), dict) and isinstance(node.get("required"), list):
        return node
    return place.changed({**node, "properties": fields, "required": names(node)}, "added properties and required")


def _some_required(node: Schema, place: Place) -> Schema:
    """With all properties required if none is: the target wants at least one."""
    fields = mapping(node, "properties")
    if not fields or names(node):
        return node
    return place.changed({**node, "required": list(fields)}, f"made {', '.join(fields)} required", "metadata")


def _or_null(value: Any) -> Any:
    return with_null(value) if isinstance(value, dict) and not allows_null(value) else value


def make_root_object(node: Schema, place: Place) -> Schema:
    """The root as an object, if the form wants one."""
    if not place.is_root or place.form.typing is Typing.FREE:
        return node
    node = _root_object(node, place)
    if not place.form.root_properties or "properties" in node:
        return node
    return place.changed({**node, "properties": {}}, "added properties, the object had none")


def _root_object(node: Schema, place: Place) -> Schema:
    named = kinds(node)
    if named == ("object",) and isinstance(node["type"], str):
        return node
    if not named:
        return place.changed({"type": "object", **node}, "added the type object to the root")
    if "object" in named:
        return place.changed({**node, "type": "object"}, "made the root an object and nothing else", "metadata")
    kept = {key: node[key] for key in ("description", *DEFINITIONS) if key in node}
    out = {"type": "object", "properties": {}, **kept}
    return place.changed(out, f"put an object without properties in place of the type {named[0]}", "content")
