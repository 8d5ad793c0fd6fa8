"""Requests spoiled at one place: at every node of a well-formed one, every kind of wrong value."""

from __future__ import annotations

import copy
import re
from collections.abc import Iterator
from typing import Any

import msgspec

Wire = dict[str, Any]
Path = tuple[str | int, ...]


class Spoiled(msgspec.Struct, frozen=True):
    """A request with one wrong value, what was done to which node, and the right value."""

    kind: str
    path: Path
    body: Wire
    was: Any

    @property
    def place(self) -> str:
        """The node's path without the numbers of its items: `messages/*/content`."""
        return re.sub(r"\b\d+\b", "*", "/".join(map(str, self.path)))


def spoil(body: Wire) -> Iterator[Spoiled]:
    """The request with each of its values missing, null, of another type, emptied, or with a key too many."""
    for path in _paths(body, ()):
        value = _at(body, path)
        for kind, wrong in _wrong_values(value):
            yield Spoiled(kind, path, _with(body, path, wrong), value)
        if path and isinstance(path[-1], str):
            yield Spoiled("missing", path, _without(body, path), value)


def _wrong_values(value: Any) -> Iterator[tuple[str, Any]]:
    yield "null", None
    yield "number", 7.5
    match value:
        case dict():
            yield "text for object", msgspec.json.encode(value).decode()
            yield "list of object", [value]
            yield "unknown key", {**value, "frobnicate": 1}
        case list():
            yield "empty list", []
            yield "object for list", {"0": value}
            yield "text for list", "words"
        case str():
            yield "object for text", {"text": value}
            yield "list for text", [value]
        case _:
            yield "text", "words"


def _paths(value: Any, path: Path) -> Iterator[Path]:
    if path:
        yield path
    if isinstance(value, dict):
        for key, member in value.items():
            yield from _paths(member, (*path, key))
    elif isinstance(value, list):
        for at, member in enumerate(value):
            yield from _paths(member, (*path, at))


def _at(body: Any, path: Path) -> Any:
    for step in path:
        body = body[step]
    return body


def _with(body: Wire, path: Path, value: Any) -> Wire:
    made = copy.deepcopy(body)
    _at(made, path[:-1])[path[-1]] = value
    return made


def _without(body: Wire, path: Path) -> Wire:
    made = copy.deepcopy(body)
    del _at(made, path[:-1])[path[-1]]
    return made
