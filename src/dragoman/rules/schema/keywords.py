"""Keywords that the form does not know: left out, and put into words if they constrain anything."""

from __future__ import annotations

import re

from .compiled import Loses
from .form import Patterns
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
    form = place.form
    match key:
        case "minItems" if form.most_min_items is not None:
            return isinstance(value, int | float) and value > form.most_min_items
        case "pattern" if isinstance(value, str):
            return _is_unread(value, form.patterns)
        case "patternProperties" if isinstance(value, dict):
            return any(_is_unread(name, form.patterns) for name in value)
    return False


def _is_unread(pattern: str, read: Patterns) -> bool:
    """Whether a regular expression has what the form does not read. What is escaped is only itself."""
    if read is Patterns.ANY:
        return False
    return _UNREAD[read].search(_ESCAPED.sub("", pattern)) is not None


_ESCAPED = re.compile(r"\\[\\(]")
_LOOKS_AROUND = r"\(\?<?[=!]"
_UNCOMMON = r"\\(?![abBdDsSwWAZfnrtvxuUN])[a-zA-Z]|\(\?<[a-zA-Z]"
_UNREAD = {
    Patterns.COMMON: re.compile(_UNCOMMON),
    Patterns.FORWARD: re.compile(f"{_LOOKS_AROUND}|{_UNCOMMON}"),
    Patterns.REGULAR: re.compile(rf"{_LOOKS_AROUND}|\\[1-9bBk]"),
}


def _loss(key: str, *, worded: bool, value: object) -> Loses:
    return "metadata" if worded or key in ANNOTATIONS or not isinstance(value, dict) else "content"
