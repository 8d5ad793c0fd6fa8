"""Field checks that speak as Anthropic's validator does: `messages.0.content.1.text.text: Field required`.

A `Check` takes a value and the path that led to it, and raises `Fault` at the first thing it does not like. Bigger
checks are built from smaller ones, so that the tables in `blocks.py` and `fields.py` read like the API reference.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any


class Fault(Exception):
    """The first fault of a request, in Anthropic's words."""

    def __init__(self, message: str, status: int = 400, kind: str = "invalid_request_error") -> None:
        super().__init__(message)
        self.message = message
        self.status = status
        self.kind = kind


Check = Callable[[Any, str], None]


def join(at: str, *steps: object) -> str:
    """The path one or more steps further down."""
    return ".".join(str(step) for step in (at, *steps) if step != "")


def wrong(at: str, sentence: str) -> Fault:
    """A fault at a path; at the root there is no path to name."""
    return Fault(f"{at}: {sentence}" if at else sentence)


def anything(value: Any, at: str) -> None:
    """No opinion."""


def text(value: Any, at: str) -> None:
    """A string, empty or not."""
    if not isinstance(value, str):
        raise wrong(at, "Input should be a valid string")


def filled(value: Any, at: str) -> None:
    """A string of at least one character."""
    text(value, at)
    if not value:
        raise wrong(at, "String should have at least 1 character")


def boolean(value: Any, at: str) -> None:
    """True or false, and nothing that merely looks like it."""
    if not isinstance(value, bool):
        raise wrong(at, "Input should be a valid boolean")


def number(value: Any, at: str) -> None:
    """Any JSON number."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise wrong(at, "Input should be a valid number")


def integer(low: int | None = None) -> Check:
    """A whole number, at least `low`."""

    def check(value: Any, at: str) -> None:
        if isinstance(value, bool) or not isinstance(value, int):
            raise wrong(at, "Input should be a valid integer")
        if low is not None and value < low:
            raise wrong(at, f"Input should be greater than or equal to {low}")

    return check


def within(low: float, high: float) -> Check:
    """A number in a closed range; Anthropic words this one in its own short way."""

    def check(value: Any, at: str) -> None:
        number(value, at)
        if not low <= value <= high:
            raise wrong(at, f"range: {low:g}..{high:g}")

    return check


def one_of(*choices: str) -> Check:
    """One of a few words."""
    listed = [f"'{choice}'" for choice in choices]
    sentence = ", ".join(listed[:-1]) + (" or " if len(listed) > 1 else "") + listed[-1]

    def check(value: Any, at: str) -> None:
        if value not in choices:
            raise wrong(at, f"Input should be {sentence}")

    return check


def matching(pattern: str) -> Check:
    """A string of a certain form."""
    compiled = re.compile(pattern)

    def check(value: Any, at: str) -> None:
        text(value, at)
        if compiled.search(value) is None or value.endswith("\n"):
            raise wrong(at, f"String should match pattern '{pattern}'")

    return check


def array(item: Check, nonempty: bool = False) -> Check:
    """A list whose members all pass."""

    def check(value: Any, at: str) -> None:
        if not isinstance(value, list):
            raise wrong(at, "Input should be a valid array")
        if nonempty and not value:
            raise wrong(at, "List should have at least 1 item after validation, not 0")
        for index, member in enumerate(value):
            item(member, join(at, index))

    return check


def nullable(check: Check) -> Check:
    """The check, or null."""

    def check_unless_null(value: Any, at: str) -> None:
        if value is not None:
            check(value, at)

    return check_unless_null


def mapping(value: Any, at: str) -> None:
    """A JSON object with free keys."""
    if not isinstance(value, dict):
        raise wrong(at, "Input should be a valid dictionary")


def record(fields: Mapping[str, Check], required: Sequence[str] = (), loose: bool = False) -> Check:
    """An object with known keys: each in turn, then whatever else is there (which `loose` lets pass)."""

    def check(value: Any, at: str) -> None:
        if not isinstance(value, dict):
            raise wrong(at, "Input should be an object")
        for name, inner in fields.items():
            if name in value:
                inner(value[name], join(at, name))
            elif name in required:
                raise wrong(join(at, name), "Field required")
        if not loose:
            refuse_extras(value, fields, at)

    return check


def refuse_extras(value: Mapping[str, Any], known: Collection[str], at: str) -> None:
    """The first key that is not known."""
    for name in value:
        if name not in known:
            raise wrong(join(at, name), "Extra inputs are not permitted")


def tagged(table: Mapping[str, Check], default: str | None = None, tag_in_path: bool = True) -> Check:
    """An object whose `type` says which check holds; the tag becomes a step of the path."""
    expected = ", ".join(f"'{tag}'" for tag in table)

    def check(value: Any, at: str) -> None:
        if not isinstance(value, dict):
            raise wrong(at, "Input should be an object")
        tag = value.get("type", default)
        if tag is None:
            raise wrong(join(at, "type"), "Field required")
        inner = table.get(tag) if isinstance(tag, str) else None
        if inner is None:
            raise wrong(at, f"Input tag '{tag}' found using 'type' does not match any of the expected tags: {expected}")
        inner(value, join(at, tag) if tag_in_path else at)

    return check
