"""Local references: what a `$ref` names, and which definitions reach themselves.

A pointer is read against the schema as it came. References that leave the schema are not followed: compiling a
schema never fetches anything.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any
from urllib.parse import unquote

import msgspec

MISSING = object()


def values(value: Any) -> Iterator[dict[str, Any]]:
    """Every JSON object inside a value, itself included, without recursion."""
    waiting = [value]
    while waiting:
        value = waiting.pop()
        if isinstance(value, dict):
            yield value
            waiting.extend(value.values())
        elif isinstance(value, list):
            waiting.extend(value)


class References(msgspec.Struct, eq=False):
    """The references of one schema, resolved on demand and remembered."""

    _root: Any
    _found: dict[str, Any] = {}
    _recursive: frozenset[str] | None = None
    _sizes: dict[str, int] = {}
    _anchors: dict[str, Any] | None = None

    def target(self, ref: str) -> Any:
        """What a reference names, or MISSING."""
        if ref not in self._found:
            self._found[ref] = self._resolve(ref)
        return self._found[ref]

    def size(self, ref: str) -> int:
        """How many bytes a copy of the target takes."""
        if ref not in self._sizes:
            self._sizes[ref] = len(msgspec.json.encode(self.target(ref)))
        return self._sizes[ref]

    def is_recursive(self, ref: str) -> bool:
        """Whether following the references inside the target leads back to it (or stands between two that do)."""
        return ref in self._circles()

    def any_recursive(self) -> bool:
        """Whether any reference of the schema is recursive."""
        return bool(self._circles())

    def reached_from(self, value: Any) -> frozenset[str]:
        """The references inside a value, and those inside what they name."""
        found: set[str] = set()
        waiting = [value]
        while waiting:
            further = _refs(waiting.pop()) - found
            found |= further
            waiting += [self.target(ref) for ref in further]
        return frozenset(found)

    def _circles(self) -> frozenset[str]:
        if self._recursive is None:
            links = {ref: _refs(self.target(ref)) for ref in _refs(self._root)}
            self._recursive = frozenset(_trim(_turn_round(_trim(links))))
        return self._recursive

    def _resolve(self, ref: str) -> Any:
        if ref == "#":
            return self._root
        if ref.startswith("#/"):
            return _follow(self._root, ref[2:])
        if ref.startswith("#"):
            return self._find_anchored().get(ref[1:], MISSING)
        return MISSING

    def _find_anchored(self) -> dict[str, Any]:
        if self._anchors is None:
            self._anchors = {
                node["$anchor"]: node for node in values(self._root) if isinstance(node.get("$anchor"), str)
            }
        return self._anchors


def _refs(value: Any) -> set[str]:
    return {node["$ref"] for node in values(value) if isinstance(node.get("$ref"), str)}


def _turn_round(links: dict[str, set[str]]) -> dict[str, set[str]]:
    """The same graph with every arrow reversed."""
    back: dict[str, set[str]] = {ref: set() for ref in links}
    for ref, further in links.items():
        for each in further & links.keys():
            back[each].add(ref)
    return back


def _trim(links: dict[str, set[str]]) -> dict[str, set[str]]:
    """The graph less all that leads to an end: what remains leads into a circle."""
    back = _turn_round(links)
    left = {ref: len(further & links.keys()) for ref, further in links.items()}
    ends = [ref for ref, count in left.items() if not count]
    while ends:
        end = ends.pop()
        del left[end]
        for ref in back[end]:
            left[ref] -= 1
            if not left[ref]:
                ends.append(ref)
    return {ref: links[ref] & left.keys() for ref in left}


def _follow(value: Any, pointer: str) -> Any:
    for raw in pointer.split("/"):
        step = unquote(raw).replace("~1", "/").replace("~0", "~")
        if isinstance(value, dict) and step in value:
            value = value[step]
        elif isinstance(value, list) and step.isascii() and step.isdigit() and int(step[:9]) < len(value):
            value = value[int(step[:9])]
        else:
            return MISSING
    return value if isinstance(value, dict | bool) else MISSING
