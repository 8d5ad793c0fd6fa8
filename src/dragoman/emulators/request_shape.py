"""The shape of a request: types built from smaller ones, and the first place where a value does not fit.

A `Shape` takes a value and its path, and returns a `ShapeMismatch` or None. It knows no provider: each emulator renders
a mismatch in the words of its own service.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

Path = tuple[str | int, ...]


class MismatchKind(StrEnum):
    """What is wrong with a value."""

    MISSING = "missing"  # a required key is absent
    UNKNOWN = "unknown"  # a key that the type does not have
    TYPE = "type"  # another JSON type than expected
    CHOICE = "choice"  # not one of the known values
    EMPTY_LIST = "empty-list"
    EMPTY_TEXT = "empty-text"
    TOO_LONG = "too-long"  # a text of more characters than `limit`


@dataclass(frozen=True, slots=True)
class ShapeMismatch:
    """The first place where a value does not fit its shape."""

    kind: MismatchKind
    path: Path
    value: Any = None
    expected: str = ""  # the type in words: "a string"
    choices: tuple[str, ...] = ()  # the known values, or the known keys
    limit: int = 0


Shape = Callable[[Any, Path], ShapeMismatch | None]


def anything(value: Any, path: Path) -> ShapeMismatch | None:
    """Any value, null too."""
    return None


def _typed(expected: str, *kinds: type) -> Shape:
    def check(value: Any, path: Path) -> ShapeMismatch | None:
        fits = isinstance(value, kinds) and (bool in kinds or not isinstance(value, bool))
        return None if fits else ShapeMismatch(MismatchKind.TYPE, path, value, expected)

    return check


text = _typed("a string", str)
boolean = _typed("a boolean", bool)
integer = _typed("an integer", int)
number = _typed("a decimal", int, float)
mapping = _typed("an object", dict)


def text_up_to(limit: int) -> Shape:
    """A text of at most so many characters."""

    def check(value: Any, path: Path) -> ShapeMismatch | None:
        too_long = isinstance(value, str) and len(value) > limit
        return ShapeMismatch(MismatchKind.TOO_LONG, path, value, limit=limit) if too_long else text(value, path)

    return check


def one_of(*choices: str) -> Shape:
    """One of a few texts."""

    def check(value: Any, path: Path) -> ShapeMismatch | None:
        return text(value, path) or (
            None if value in choices else ShapeMismatch(MismatchKind.CHOICE, path, value, choices=choices)
        )

    return check


def nullable(shape: Shape) -> Shape:
    """The shape, or null."""
    return lambda value, path: None if value is None else shape(value, path)


def either(expected: str, **shapes: Shape) -> Shape:
    """The shape for the value's JSON type: `text`, `items` or `keys`. `expected` names them all in words."""

    def check(value: Any, path: Path) -> ShapeMismatch | None:
        kind = next((name for of, name in _KINDS if isinstance(value, of)), "")
        shape = shapes.get(kind)
        return ShapeMismatch(MismatchKind.TYPE, path, value, expected) if shape is None else shape(value, path)

    return check


_KINDS: tuple[tuple[type, str], ...] = ((str, "text"), (list, "items"), (dict, "keys"))


def items(shape: Shape, nonempty: bool = False, expected: str = "an array of objects") -> Shape:
    """A list whose members all fit."""

    def check(value: Any, path: Path) -> ShapeMismatch | None:
        if not isinstance(value, list):
            return ShapeMismatch(MismatchKind.TYPE, path, value, expected)
        if nonempty and not value:
            return ShapeMismatch(MismatchKind.EMPTY_LIST, path, value)
        return _first(shape(member, (*path, at)) for at, member in enumerate(value))

    return check


def table(shape: Shape) -> Shape:
    """An object with any keys, whose values all fit."""

    def check(value: Any, path: Path) -> ShapeMismatch | None:
        if not isinstance(value, dict):
            return ShapeMismatch(MismatchKind.TYPE, path, value, "an object")
        return _first(shape(member, (*path, key)) for key, member in value.items())

    return check


@dataclass(frozen=True, slots=True)
class RecordShape:
    """An object with known keys, some of them required."""

    fields: Mapping[str, Shape]
    required: tuple[str, ...] = ()
    open: bool = False
    """Whether it may have other keys, too."""

    def __call__(self, value: Any, path: Path) -> ShapeMismatch | None:
        if not isinstance(value, dict):
            return ShapeMismatch(MismatchKind.TYPE, path, value, "an object")
        for name in self.required:
            if name not in value:
                return ShapeMismatch(MismatchKind.MISSING, (*path, name), value)
        return _first(self._member(name, member, path) for name, member in value.items())

    def _member(self, name: str, member: Any, path: Path) -> ShapeMismatch | None:
        shape = self.fields.get(name)
        if shape is not None:
            return shape(member, (*path, name))
        known = tuple(self.fields)
        return None if self.open else ShapeMismatch(MismatchKind.UNKNOWN, (*path, name), member, choices=known)

    def adding(self, fields: Mapping[str, Shape], required: tuple[str, ...] | None = None) -> RecordShape:
        """The record with more fields."""
        return RecordShape({**self.fields, **fields}, self.required if required is None else required, self.open)

    def opened(self) -> RecordShape:
        """The record that ignores unknown keys."""
        return RecordShape(self.fields, self.required, open=True)


def complete(**fields: Shape) -> RecordShape:
    """An object that must have all of its keys."""
    return RecordShape(fields, tuple(fields))


def optional(**shapes: Shape) -> dict[str, Shape]:
    """Fields that may be null."""
    return {name: nullable(shape) for name, shape in shapes.items()}


def tagged(key: str, shapes: Mapping[str, Shape], default: str | None = None) -> Shape:
    """An object whose member `key` selects the shape; `default` if it has none."""

    def check(value: Any, path: Path) -> ShapeMismatch | None:
        if not isinstance(value, dict):
            return ShapeMismatch(MismatchKind.TYPE, path, value, "an object")
        tag = value.get(key, default)
        if key not in value and default is None:
            return ShapeMismatch(MismatchKind.MISSING, (*path, key), value)
        if not isinstance(tag, str):
            return ShapeMismatch(MismatchKind.TYPE, (*path, key), tag, "a string")
        shape = shapes.get(tag)
        return (
            ShapeMismatch(MismatchKind.CHOICE, (*path, key), tag, choices=tuple(shapes))
            if shape is None
            else shape(value, path)
        )

    return check


def _first(mismatchs: Iterable[ShapeMismatch | None]) -> ShapeMismatch | None:
    return next((one for one in mismatchs if one is not None), None)
