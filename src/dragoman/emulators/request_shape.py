"""The shape of a request: types built from smaller ones, and the first place where a value does not fit.

A `Shape` takes a value and its path, and raises a `ShapeMismatch`. It knows no provider: each emulator renders
a mismatch in the words of its own service. What is one service's own, it raises as its own refusal.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Any

from dragoman.emulators.signatures import is_masked

Path = tuple[str | int, ...]


class MismatchKind(StrEnum):
    """What is wrong with a value."""

    MISSING = "missing"  # a required key is absent
    UNKNOWN = "unknown"  # a key that the type does not have
    TYPE = "type"  # another JSON type than expected
    CHOICE = "choice"  # not one of the known values
    TAG = "tag"  # the same, of the member that selects the type of its object
    EMPTY_LIST = "empty-list"
    EMPTY_TEXT = "empty-text"
    TOO_LONG = "too-long"  # a text of more characters than `limit`
    BELOW = "below"  # a number under `limit`
    ABOVE = "above"  # a number over `limit`
    PATTERN = "pattern"  # a text that does not match `expected`


@dataclass(eq=False)
class ShapeMismatch(Exception):
    """The first place where a value does not fit its shape."""

    kind: MismatchKind
    path: Path
    value: Any = None
    expected: str = ""  # the type in words: "a string"
    choices: tuple[str, ...] = ()  # the known values, or the known keys
    limit: float = 0


Shape = Callable[[Any, Path], None]


def anything(value: Any, path: Path) -> None:
    """Any value, null too."""


def of_type(expected: str, *kinds: type) -> Shape:
    """A value of these types, which have this name in words."""

    def check(value: Any, path: Path) -> None:
        if not isinstance(value, kinds) or (isinstance(value, bool) and bool not in kinds):
            raise ShapeMismatch(MismatchKind.TYPE, path, value, expected)

    return check


text = of_type("a string", str)
boolean = of_type("a boolean", bool)
integer = of_type("an integer", int)
number = of_type("a decimal", int, float)
mapping = of_type("an object", dict)


def bounded(shape: Shape, least: float | None = None, most: float | None = None) -> Shape:
    """A number in a closed range."""

    def check(value: Any, path: Path) -> None:
        shape(value, path)
        expected = "an integer" if shape is integer else "a decimal"
        if least is not None and value < least:
            raise ShapeMismatch(MismatchKind.BELOW, path, value, expected, limit=least)
        if most is not None and value > most:
            raise ShapeMismatch(MismatchKind.ABOVE, path, value, expected, limit=most)

    return check


def text_up_to(limit: int, nonempty: bool = False) -> Shape:
    """A text of at most so many characters."""

    def check(value: Any, path: Path) -> None:
        text(value, path)
        if nonempty:
            filled(value, path)
        if len(value) > limit:
            raise ShapeMismatch(MismatchKind.TOO_LONG, path, value, limit=limit)

    return check


def filled(value: Any, path: Path) -> None:
    """A text of at least one character."""
    text(value, path)
    if not value:
        raise ShapeMismatch(MismatchKind.EMPTY_TEXT, path, value)


def matching(pattern: str, *, whole: bool = False) -> Shape:
    """A text in which the pattern is found, or that matches as a `whole`. A line end after it is not nothing."""
    compiled = re.compile(pattern)
    find = compiled.fullmatch if whole else compiled.search

    def check(value: Any, path: Path) -> None:
        text(value, path)
        if find(value) is None or value.endswith("\n"):
            raise ShapeMismatch(MismatchKind.PATTERN, path, value, pattern)

    return check


def unmasked(shape: Shape) -> Shape:
    """An id. What a recording masks is not checked."""
    return lambda value, path: None if is_masked(value) else shape(value, path)


def one_of(*choices: str) -> Shape:
    """One of a few texts."""

    def check(value: Any, path: Path) -> None:
        _check_choice(MismatchKind.CHOICE, value, choices, path)

    return check


def text_among(*choices: str) -> Shape:
    """One of a few texts, or anything that is no text."""
    known = one_of(*choices)
    return lambda value, path: known(value, path) if isinstance(value, str) else None


def _check_choice(kind: MismatchKind, value: Any, choices: tuple[str, ...], path: Path) -> None:
    """A mismatch of type tells the choices as well: some services speak of nothing else."""
    if not isinstance(value, str):
        raise ShapeMismatch(MismatchKind.TYPE, path, value, "a string", choices)
    if value not in choices:
        raise ShapeMismatch(kind, path, value, choices=choices)


def both(first: Shape, second: Shape) -> Shape:
    """A value that fits two shapes."""

    def check(value: Any, path: Path) -> None:
        first(value, path)
        second(value, path)

    return check


def nullable(shape: Shape) -> Shape:
    """The shape, or null."""

    def check(value: Any, path: Path) -> None:
        if value is not None:
            shape(value, path)

    return check


def either(expected: str, **shapes: Shape) -> Shape:
    """The shape for the value's JSON type: `text`, `items` or `keys`. `expected` names them all in words."""

    def check(value: Any, path: Path) -> None:
        kind = next((name for of, name in _KINDS if isinstance(value, of)), "")
        if kind not in shapes:
            raise ShapeMismatch(MismatchKind.TYPE, path, value, expected)
        shapes[kind](value, path)

    return check


_KINDS: tuple[tuple[type, str], ...] = ((str, "text"), (list, "items"), (dict, "keys"))


def items(shape: Shape, nonempty: bool = False, expected: str = "an array of objects") -> Shape:
    """A list whose members all fit."""

    def check(value: Any, path: Path) -> None:
        if not isinstance(value, list):
            raise ShapeMismatch(MismatchKind.TYPE, path, value, expected)
        if nonempty and not value:
            raise ShapeMismatch(MismatchKind.EMPTY_LIST, path, value)
        for at, member in enumerate(value):
            shape(member, (*path, at))

    return check


def table(shape: Shape) -> Shape:
    """An object with any keys, whose values all fit."""

    def check(value: Any, path: Path) -> None:
        mapping(value, path)
        for key, member in value.items():
            shape(member, (*path, key))

    return check


class CheckOrder(StrEnum):
    """In which order a service looks at the members of an object."""

    AS_SENT = "as-sent"  # what is missing, then each as the client wrote it
    UNKNOWN_FIRST = "unknown-first"  # what is missing, what is unknown, then the known ones as declared
    UNKNOWN_LAST = "unknown-last"  # the known ones as declared, missing or not, then what is unknown


@dataclass(frozen=True, slots=True)
class RecordShape:
    """An object with known keys, some of them required."""

    fields: Mapping[str, Shape]
    required: tuple[str, ...] = ()
    open: bool = False
    """Whether it may have other keys, too."""
    order: CheckOrder = CheckOrder.AS_SENT

    def __call__(self, value: Any, path: Path) -> None:
        mapping(value, path)
        for name in self._in_order(value):
            if name not in value:
                raise ShapeMismatch(MismatchKind.MISSING, (*path, name), value)
            if name in self.fields:
                self.fields[name](value[name], (*path, name))
            elif not self.open:
                raise ShapeMismatch(MismatchKind.UNKNOWN, (*path, name), value[name], choices=tuple(self.fields))

    def _in_order(self, value: Mapping[str, Any]) -> list[str]:
        missing = [name for name in self.required if name not in value]
        unknown = [name for name in value if name not in self.fields]
        match self.order:
            case CheckOrder.AS_SENT:
                return [*missing, *value]
            case CheckOrder.UNKNOWN_FIRST:
                return [*missing, *unknown, *(name for name in self.fields if name in value)]
            case CheckOrder.UNKNOWN_LAST:
                return [*(name for name in self.fields if name in value or name in missing), *unknown]

    def adding(self, fields: Mapping[str, Shape], required: tuple[str, ...] | None = None) -> RecordShape:
        """The record with more fields."""
        return replace(self, fields={**self.fields, **fields}, required=self.required if required is None else required)

    def opened(self) -> RecordShape:
        """The record that ignores unknown keys."""
        return replace(self, open=True)


def complete(**fields: Shape) -> RecordShape:
    """An object that must have all of its keys."""
    return RecordShape(fields, tuple(fields))


def optional(**shapes: Shape) -> dict[str, Shape]:
    """Fields that may be null."""
    return {name: nullable(shape) for name, shape in shapes.items()}


def tagged(key: str, shapes: Mapping[str, Shape], default: str | None = None, in_path: bool = False) -> Shape:
    """An object whose member `key` selects the shape; `default` if it has none. `in_path`: its value is a step of the
    path."""

    def check(value: Any, path: Path) -> None:
        mapping(value, path)
        if key not in value and default is None:
            raise ShapeMismatch(MismatchKind.MISSING, (*path, key), value)
        tag = value.get(key, default)
        _check_choice(MismatchKind.TAG, tag, tuple(shapes), (*path, key))
        shapes[tag](value, (*path, tag) if in_path else path)

    return check
