"""Pointers into a JSON document that may not have just what they speak of."""

from __future__ import annotations

from typing import Any

_DIGITS = 10
"""No list has so many items."""


def nearest(value: Any, at: str) -> str:
    """The pointer by the document's own names, as far as it leads. An object may lack the last member."""
    out = ""
    _, *steps = at.split("/")
    for index, step in enumerate(steps):
        name = find_own_name(value, step)
        if name is None:
            last = index == len(steps) - 1 and isinstance(value, dict)
            return f"{out}/{step}" if last else out
        out = f"{out}/{name}"
        value = value[int(name)] if isinstance(value, list) else value[unescape(name)]
    return out


def find_own_name(value: Any, step: str) -> str | None:
    """The step of a pointer as the value has it: some servers take names in either case. None: it has no such step."""
    if isinstance(value, list):
        return step if step.isdecimal() and len(step) < _DIGITS and int(step) < len(value) else None
    if not isinstance(value, dict):
        return None
    if unescape(step) in value:
        return step
    return next((escape(name) for name in value if _fold(name) == _fold(unescape(step))), None)


def escape(name: str) -> str:
    """A member's name as the step of a pointer."""
    return name.replace("~", "~0").replace("/", "~1")


def unescape(step: str) -> str:
    return step.replace("~1", "/").replace("~0", "~")


def _fold(name: str) -> str:
    return name.replace("_", "").lower()
