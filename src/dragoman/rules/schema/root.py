"""The root of a tool's parameters, which must say that it is an object."""

from __future__ import annotations

from .form import Typing
from .place import Place
from .vocabulary import DEFINITIONS, Schema, kinds


def rooted(node: Schema, place: Place) -> Schema:
    """The root as an object, where the form wants one."""
    if not place.is_root or place.form.typing is Typing.FREE:
        return node
    node = _object(node, place)
    if not place.form.root_properties or "properties" in node:
        return node
    return place.changed({**node, "properties": {}}, "added properties, the object had none")


def _object(node: Schema, place: Place) -> Schema:
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
