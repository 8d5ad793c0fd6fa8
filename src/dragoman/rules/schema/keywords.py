"""Keywords that the form does not know: left out, and put into words if they constrain anything."""

from __future__ import annotations

from .compiled import Loses
from .place import Place
from .vocabulary import ANNOTATIONS, DEFINITIONS, Schema, without
from .words import describe, sentence


def keep_known(node: Schema, place: Place) -> Schema:
    """The node with the form's keywords alone."""
    for key in [key for key in node if _is_refused(key, place) or _is_beyond(key, node[key], place)]:
        rest = without(node, key)
        if key in DEFINITIONS:
            node = place.changed(rest, f"left out {key}, each definition is written where it is used")
            continue
        worded = describe(rest, sentence(key, node[key]))
        did = f"left out {key}" if worded is rest else f"moved {key} into the description"
        node = place.changed(worded, did, _loss(key, worded=worded is not rest, value=node[key]))
    return node


def _is_refused(key: str, place: Place) -> bool:
    if key in DEFINITIONS:
        return place.walk.inline
    if key == "$ref":
        return not place.form.refs
    return not place.form.knows(key) or (place.is_root and key in place.form.root_refused)


def _is_beyond(key: str, value: object, place: Place) -> bool:
    """Whether it is a keyword that is read, with a value that is not."""
    most = place.form.most_min_items
    return key == "minItems" and most is not None and isinstance(value, int | float) and value > most


def _loss(key: str, *, worded: bool, value: object) -> Loses:
    return "metadata" if worded or key in ANNOTATIONS or not isinstance(value, dict) else "content"
