"""`allOf`, merged into the node it stands in."""

from __future__ import annotations

from .inlining import opened
from .merging import both
from .place import Place
from .vocabulary import Schema, without

MOST_ROUNDS = 64
MOST_BRANCHES = 64
"""Each is merged into all that came before it."""


def merged(node: Schema, place: Place) -> Schema:
    """The node without `allOf`, where the form refuses it."""
    refused = "allOf" not in place.form.unions or (place.is_root and not place.form.root_unions)
    return joined(node, place) if refused else node


def joined(node: Schema, place: Place) -> Schema:
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
                node = both(node, opened(branch, place), place)
    return without(node, "allOf")
