"""`$ref`, written out where it stands.

The definition takes the reference's place, keywords beside the reference win over its own. A definition that reaches
itself is cut at the second meeting and the description says what is repeated; so is a copy that would make the schema
grow without bound.
"""

from __future__ import annotations

from urllib.parse import unquote

from .form import Typing
from .merging import both
from .place import Place
from .references import MISSING
from .vocabulary import DEFINITIONS, Schema, kinds, without
from .words import describe

MOST_HOPS = 64


def inline_references(node: Schema, place: Place) -> Schema:
    """The node without its `$ref`, if the form cannot take it as it is."""
    ref = node.get("$ref")
    if not isinstance(ref, str):
        return node
    lost = not place.form.foreign_refs and place.walk.references.target(ref) is MISSING
    rooted = place.is_root and place.form.typing is not Typing.FREE
    misplaced = place.form.defs_alone and ref != "#" and not ref.startswith("#/$defs/")
    if place.walk.inline or lost or rooted or misplaced:
        done = open_references(node, place)
        return _without_unused(done, place) if rooted and not place.walk.inline else done
    return node if place.form.ref_siblings or len(node) == 1 else _clear_siblings(node, ref, place)


def _without_unused(root: Schema, place: Place) -> Schema:
    """The root without definitions that only its own reference named."""
    used = [unquote(ref).split("/") for ref in place.walk.references.reached_from(without(root, *DEFINITIONS))]
    if not all(len(steps) > 2 and steps[0] == "#" and steps[1] in DEFINITIONS for steps in used):
        return root
    names = {(word, name.replace("~1", "/").replace("~0", "~")) for _, word, name, *_ in used}
    words = [word for word in DEFINITIONS if isinstance(root.get(word), dict)]
    kept = {word: {name: one for name, one in root[word].items() if (word, name) in names} for word in words}
    return without(root, *kept) | {word: definitions for word, definitions in kept.items() if definitions}


def _clear_siblings(node: Schema, ref: str, place: Place) -> Schema:
    """A reference without siblings: written out together with them, or alone if writing it out would not end."""
    if not place.walk.references.is_recursive(ref):
        return open_references(node, place)
    return place.changed({"$ref": ref}, "left out what stands beside $ref", "metadata")


def open_references(node: Schema, place: Place) -> Schema:
    """The node with the definition in place of its `$ref`, and that one's, to the end."""
    for _ in range(MOST_HOPS):
        ref = node.get("$ref")
        if not isinstance(ref, str):
            return node
        node = _step(node, ref, place)
    return _cut(without(node, "$ref"), "another schema", place) if "$ref" in node else node


def _step(node: Schema, ref: str, place: Place) -> Schema:
    walk, rest = place.walk, without(node, "$ref")
    target = walk.references.target(ref)
    if target is MISSING:
        return place.changed(describe(rest, f"See {ref}."), f"left out $ref {ref}, which leads nowhere here", "content")
    if isinstance(target, bool):
        return place.changed(rest, f"left out $ref {ref}, which names no more than {str(target).lower()}")
    if ref in place.trail and (walk.references.is_recursive(ref) or not walk.inline):
        return _cut({**_outline(target), **rest}, ref.rsplit("/", 1)[-1], place)
    if not walk.pay(walk.references.size(ref)):
        return _cut({**_outline(target), **rest}, ref.rsplit("/", 1)[-1], place)
    place.trail |= {ref}
    place.note(f"put the definition in place of $ref {ref}")
    return both(rest, without(target, "$defs", "definitions") if place.level else target, place)


def _outline(target: Schema) -> Schema:
    """What is left of a definition that is not repeated: its type."""
    named = [kind for kind in kinds(target) if kind != "null"]
    if named:
        return {"type": named[0]}
    return {"type": "object"} if "properties" in target else {}


def _cut(node: Schema, name: str, place: Place) -> Schema:
    worded = describe(node, "The root schema again." if name == "#" else f"Same shape as {name}.")
    return place.changed(worded, f"cut the reference to {name}: the schema would not end, or grow too large", "content")
