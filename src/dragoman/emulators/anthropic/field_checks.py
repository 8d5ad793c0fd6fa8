"""Field checks with the errors of Anthropic's validator: `messages.0.content.1.text.text: Field required`.

A `FieldCheck` takes a value and its path, and raises `AnthropicRefusal` at the first error. Larger checks are built
from smaller ones, so that the tables in `blocks.py` and `fields.py` read like the API reference.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from typing import Any

from dragoman.emulators.native_api import FieldCheck, ProviderRefusal, anything


class AnthropicRefusal(ProviderRefusal):
    """The first error of a request, in Anthropic's words."""

    usual_kind = "invalid_request_error"
    code = ""
    """The word for programs, if the error has one."""


def join_path(at: str, *steps: object) -> str:
    """The path, extended by one or more steps."""
    return ".".join(str(step) for step in (at, *steps) if step != "")


def invalid(at: str, sentence: str) -> AnthropicRefusal:
    """A refusal of the value at a path. The root has no path."""
    return AnthropicRefusal(f"{at}: {sentence}" if at else sentence)


def text(value: Any, at: str) -> None:
    """A string, empty or not."""
    if not isinstance(value, str):
        raise invalid(at, "Input should be a valid string")


def non_empty_text(value: Any, at: str) -> None:
    """A string of at least one character."""
    text(value, at)
    if not value:
        raise invalid(at, "String should have at least 1 character")


def text_up_to(limit: int) -> FieldCheck:
    """A string of at most so many characters."""

    def check(value: Any, at: str) -> None:
        text(value, at)
        if len(value) > limit:
            raise invalid(at, f"String should have at most {limit} characters")

    return check


def boolean(value: Any, at: str) -> None:
    """True or false."""
    if not isinstance(value, bool):
        raise invalid(at, "Input should be a valid boolean")


def number(value: Any, at: str) -> None:
    """Any JSON number."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise invalid(at, "Input should be a valid number")


def integer(low: int | None = None) -> FieldCheck:
    """A whole number, at least `low`."""

    def check(value: Any, at: str) -> None:
        if isinstance(value, bool) or not isinstance(value, int):
            raise invalid(at, "Input should be a valid integer")
        if low is not None and value < low:
            raise invalid(at, f"Input should be greater than or equal to {low}")

    return check


def number_between(low: float, high: float) -> FieldCheck:
    """A number in a closed range."""

    def check(value: Any, at: str) -> None:
        number(value, at)
        if not low <= value <= high:
            raise invalid(at, f"range: {low:g}..{high:g}")

    return check


def one_of(*choices: str) -> FieldCheck:
    """One of a few values."""
    listed = [f"'{choice}'" for choice in choices]
    sentence = ", ".join(listed[:-1]) + (" or " if len(listed) > 1 else "") + listed[-1]

    def check(value: Any, at: str) -> None:
        if value not in choices:
            raise invalid(at, f"Input should be {sentence}")

    return check


def matching(pattern: str) -> FieldCheck:
    """A string that matches a pattern."""
    compiled = re.compile(pattern)

    def check(value: Any, at: str) -> None:
        text(value, at)
        if compiled.search(value) is None or value.endswith("\n"):
            raise invalid(at, f"String should match pattern '{pattern}'")

    return check


def array(item: FieldCheck, nonempty: bool = False) -> FieldCheck:
    """A list whose items all pass."""

    def check(value: Any, at: str) -> None:
        if not isinstance(value, list):
            raise invalid(at, "Input should be a valid array")
        if nonempty and not value:
            raise invalid(at, "List should have at least 1 item after validation, not 0")
        for index, member in enumerate(value):
            item(member, join_path(at, index))

    return check


def mapping(value: Any, at: str) -> None:
    """An object with any keys."""
    if not isinstance(value, dict):
        raise invalid(at, "Input should be a valid dictionary")


def record(fields: Mapping[str, FieldCheck], required: Sequence[str] = (), loose: bool = False) -> FieldCheck:
    """An object with known keys. Other keys are refused, unless `loose`."""

    def check(value: Any, at: str) -> None:
        if not isinstance(value, dict):
            raise invalid(at, "Input should be an object")
        for name, inner in fields.items():
            if name in value:
                inner(value[name], join_path(at, name))
            elif name in required:
                raise invalid(join_path(at, name), "Field required")
        if not loose:
            refuse_extras(value, fields, at)

    return check


def refuse_extras(value: Mapping[str, Any], known: Collection[str], at: str) -> None:
    """Refuse the first unknown key."""
    for name in value:
        if name not in known:
            raise invalid(join_path(at, name), "Extra inputs are not permitted")


def typed(**fields: FieldCheck) -> FieldCheck:
    """An object with a `type` that must have all of these keys."""
    return record({"type": anything, **fields}, tuple(fields))


def tagged(table: Mapping[str, FieldCheck], default: str | None = None, tag_in_path: bool = True) -> FieldCheck:
    """An object whose `type` selects the check. The type becomes a step of the path."""
    expected = ", ".join(f"'{tag}'" for tag in table)

    def check(value: Any, at: str) -> None:
        if not isinstance(value, dict):
            raise invalid(at, "Input should be an object")
        tag = value.get("type", default)
        if tag is None:
            raise invalid(join_path(at, "type"), "Field required")
        inner = table.get(tag) if isinstance(tag, str) else None
        if inner is None:
            raise invalid(
                at, f"Input tag '{tag}' found using 'type' does not match any of the expected tags: {expected}"
            )
        inner(value, join_path(at, tag) if tag_in_path else at)

    return check
