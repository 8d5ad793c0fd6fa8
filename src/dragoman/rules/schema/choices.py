"""`anyOf`, `oneOf` and `allOf`, for a form that reads them in another way or not at all.

The branches of `allOf` are merged into the node that they stand in.

A choice between objects becomes one object: all properties, and as required what every choice requires. Which fields
go together stands in the description. A property that differs from choice to choice becomes a choice itself, or one
longer list of values (the usual case: the field that tells the choices apart).
"""

from __future__ import annotations

from typing import Any

from .inlining import open_references
from .merging import both
from .place import Place
from .vocabulary import CHOICES, Schema, is_null, is_object, mapping, names, rename_keyword, without
from .words import describe, sentence, show_value

MOST_ROUNDS = 64
MOST_BRANCHES = 64
"""Each is merged into all that came before it."""
MOST_ALTERNATIVES = 1000
BESIDE_A_UNION = frozenset({"anyOf", "description", "nullable"})


def fit_unions(node: Schema, place: Place) -> Schema:
    """The node with its unions in the form's way."""
    if place.is_root and not place.form.root_unions:
        return _all_flat(node, place)
    if "oneOf" in node and "oneOf" not in place.form.unions:
        node = _as_any_of(node, place)
    if "anyOf" not in node:
        return node
    if "anyOf" not in place.form.unions:
        return _settle(node, place)
    alone = place.form.union_alone or (place.form.union_untyped and "type" in node)
    return _simplify_alone(node, place) if alone else node


def _all_flat(node: Schema, place: Place) -> Schema:
    for key in CHOICES:
        if key in node:
            node = flatten_union(node, key, place)
    return node


def _as_any_of(node: Schema, place: Place) -> Schema:
    if "anyOf" not in node:
        return place.changed(rename_keyword(node, "oneOf", "anyOf"), "wrote oneOf as anyOf", "metadata")
    worded = describe(without(node, "oneOf"), sentence("oneOf", node["oneOf"]))
    return place.changed(worded, "moved oneOf into the description, beside anyOf it cannot stay", "metadata")


def _settle(node: Schema, place: Place) -> Schema:
    """A union for a form that has none: one object, or the first choice and words for the others."""
    rest, options = without(node, "anyOf"), alternatives(node["anyOf"], place)
    if is_object(rest) or any(is_object(option) for option in options):
        return flatten_union(node, "anyOf", place)
    real = [option for option in options if not is_null(option)]
    if len(real) < len(options):
        rest = describe(rest, "May be null.")
    if len(real) > 1:
        rest = describe(rest, sentence("anyOf", real))
    place.note("kept the first choice of anyOf", "content" if len(real) > 1 else "metadata")
    return both(rest, real[0], place) if real else rest


def _simplify_alone(node: Schema, place: Place) -> Schema:
    """A union without siblings: null becomes `nullable`, a single choice stands for itself, siblings go into each."""
    options = [option for option in node["anyOf"] if isinstance(option, dict)]
    real = [option for option in options if not is_null(option)]
    if len(real) < len(options):
        node = place.changed({**node, "anyOf": real, "nullable": True}, "wrote the choice of null as nullable")
    if len(real) < 2:
        place.note("wrote a union of one as that one")
        rest = without(node, "anyOf")
        return merge_all_of(both(rest, open_references(real[0], place), place), place) if real else rest
    beside = {"anyOf"} if place.form.union_bare else BESIDE_A_UNION
    rest = {key: value for key, value in node.items() if key not in beside}
    if not rest:
        return node
    return flatten_union(node, "anyOf", place) if is_object(rest) else _spread(node, rest, real, place)


def _spread(node: Schema, rest: Schema, options: list[Schema], place: Place) -> Schema:
    """Siblings of a union, repeated in each of its choices; remarks stay above, as words."""
    for key in ("default", "example", "examples", "title"):
        if key in rest:
            node = describe(without(node, key), sentence(key, rest[key]))
            rest = without(rest, key)
            place.note(f"moved {key} from beside anyOf into the description", "metadata")
    if place.form.union_bare:
        rest = without(node, "anyOf")
    if not rest:
        return node
    if not place.walk.pay(len(show_value(rest)) * len(options)):
        return place.changed(without(node, "anyOf"), "left out a union that would grow too large", "content")
    place.note("repeated what stands beside anyOf in each choice")
    kept = {key: value for key, value in node.items() if key not in rest}
    return {**kept, "anyOf": [both(option, rest, place) for option in options]}


def alternatives(options: Any, place: Place) -> list[Schema]:
    """The choices of a union, references opened, unions of unions laid flat."""
    waiting = [option for option in options if isinstance(option, dict)] if isinstance(options, list) else []
    found: list[Schema] = []
    steps = 0
    while waiting and steps < MOST_ALTERNATIVES:
        steps += 1
        option = merge_all_of(open_references(waiting.pop(0), place), place)
        inner = next((option[key] for key in CHOICES if isinstance(option.get(key), list)), None)
        if inner is None or is_object(option):
            found.append(without(option, *CHOICES) if inner is not None else option)
        else:
            waiting[:0] = [each for each in inner if isinstance(each, dict)]
    return found


def flatten_union(node: Schema, key: str, place: Place) -> Schema:
    """One object in place of a choice between objects."""
    options = alternatives(node[key], place)
    objects = [option for option in options if is_object(option)]
    rest = without(node, key)
    if not objects:
        worded = describe(rest, sentence(key, node[key])) if options else rest
        return place.changed(worded, f"moved {key} into the description: none of its choices is an object", "content")
    lost = len(objects) < sum(not is_null(option) for option in options)
    place.note(f"made one object of the choices of {key}", "content" if lost else "metadata")
    return describe(_one_object(rest, objects), _groups(names(rest), objects))


def _one_object(rest: Schema, objects: list[Schema]) -> Schema:
    fields = dict(mapping(rest, "properties"))
    own = set(fields)
    for option in objects:
        for name, value in mapping(option, "properties").items():
            if name not in fields:
                fields[name] = value
            elif name not in own:
                fields[name] = either(fields[name], value)
    everywhere = set.intersection(*(set(names(option)) for option in objects))
    needed = list(dict.fromkeys(names(rest) + [name for name in names(objects[0]) if name in everywhere]))
    out = {"type": "object", **without(rest, "type"), "properties": fields}
    if needed:
        out["required"] = needed
    if "additionalProperties" not in out and all(option.get("additionalProperties") is False for option in objects):
        out["additionalProperties"] = False
    return out


def _groups(needed: list[str], objects: list[Schema]) -> str:
    """Which fields go together, when the choices differ in what they require."""
    groups = list(dict.fromkeys(", ".join(names(option)) for option in objects))
    groups = [group for group in groups if group and group != ", ".join(needed)]
    return f"Give one of these groups of fields: {'; or '.join(groups[:20])}." if len(groups) > 1 else ""


def either(first: Any, second: Any) -> Any:
    """A schema for a value that follows one of two."""
    if first == second or not isinstance(first, dict) or not isinstance(second, dict):
        return first if first == second else True
    ours, theirs = _list_constants(first), _list_constants(second)
    if ours and theirs and first.get("type") == second.get("type"):
        return {**without(first, "const"), "enum": ours + [value for value in theirs if value not in ours]}
    before = first["anyOf"] if first.keys() == {"anyOf"} else [first]
    return {"anyOf": before if second in before else [*before, second]}


def _list_constants(node: Schema) -> list[Any]:
    """The values a node allows, when it lists them."""
    if "const" in node:
        return [node["const"]]
    values = node.get("enum")
    return values if isinstance(values, list) else []


def drop_all_of(node: Schema, place: Place) -> Schema:
    """The node without `allOf`, if the form refuses it."""
    refused = "allOf" not in place.form.unions or (place.is_root and not place.form.root_unions)
    return merge_all_of(node, place) if refused else node


def merge_all_of(node: Schema, place: Place) -> Schema:
    """The node with every branch of its `allOf` merged in, nested ones too."""
    for _ in range(MOST_ROUNDS):
        branches = node.get("allOf")
        if not isinstance(branches, list):
            return node
        place.note("merged allOf into one schema")
        node = without(node, "allOf")
        if len(branches) > MOST_BRANCHES:
            place.note(f"left out the branches of allOf after the first {MOST_BRANCHES}", "content")
        for branch in branches[:MOST_BRANCHES]:
            if isinstance(branch, dict):
                node = both(node, open_references(branch, place), place)
    return without(node, "allOf")
