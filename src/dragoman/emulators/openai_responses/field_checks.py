"""Field checks with the errors of OpenAI's validator: sentence, `param` and `code`."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

from dragoman.emulators.chat.openai import request_types as words
from dragoman.emulators.chat.service import ChatRefusal
from dragoman.emulators.native_api import FieldCheck, ProviderRefusal, anything
from dragoman.emulators.request_shape import MismatchKind, ShapeMismatch


class ResponsesRefusal(ProviderRefusal):
    """The first error of a request, in OpenAI's words."""

    usual_kind = "invalid_request_error"

    def __init__(
        self, message: str, param: str | None = None, code: str | int | None = None, status: int = 400, kind: str = ""
    ) -> None:
        super().__init__(message, status, kind)
        self.param = param
        self.code = code


def _raised(refusal: ChatRefusal) -> ResponsesRefusal:
    """What Chat says too, in the same words."""
    return ResponsesRefusal(refusal.message, refusal.param, refusal.code)


def missing(at: str) -> ResponsesRefusal:
    """A required key is missing."""
    return _raised(words.missing(at))


def unknown(at: str) -> ResponsesRefusal:
    """An unknown key."""
    return _raised(words.unknown(at))


def not_among(value: Any, choices: Sequence[str], at: str) -> ResponsesRefusal:
    """A value that is not among the choices."""
    return ResponsesRefusal(f"Invalid value: '{value}'. Supported values are: {listed(choices)}.", at, "invalid_value")


def listed(choices: Sequence[str]) -> str:
    """`'a', 'b', and 'c'`."""
    quoted = [f"'{choice}'" for choice in choices]
    if len(quoted) < 3:
        return " and ".join(quoted)
    return ", ".join(quoted[:-1]) + f", and {quoted[-1]}"


def wrong_type(value: Any, expected: str, at: str) -> ResponsesRefusal:
    """A value of the wrong JSON type."""
    return _raised(words.wrong_type(at, expected, value))


def _typed(expected: str, *kinds: type) -> FieldCheck:
    def check(value: Any, at: str) -> None:
        if not isinstance(value, kinds) or (isinstance(value, bool) and bool not in kinds):
            raise wrong_type(value, expected, at)

    return check


text = _typed("a string", str)
boolean = _typed("a boolean", bool)
mapping = _typed("an object", dict)


def number(low: float, high: float) -> FieldCheck:
    """A number in a closed range."""
    typed = _typed("a decimal", int, float)

    def check(value: Any, at: str) -> None:
        typed(value, at)
        if value < low:
            raise _raised(_out(MismatchKind.BELOW, at, "a decimal", low, value))
        if value > high:
            raise _raised(_out(MismatchKind.ABOVE, at, "a decimal", high, value))

    return check


def integer(low: int | None = None) -> FieldCheck:
    """A whole number, at least `low`."""
    typed = _typed("an integer", int)

    def check(value: Any, at: str) -> None:
        typed(value, at)
        if low is not None and value < low:
            raise _raised(_out(MismatchKind.BELOW, at, "an integer", low, value))

    return check


def _out(kind: MismatchKind, at: str, expected: str, limit: float, value: Any) -> ChatRefusal:
    return words.mismatch_refusal(ShapeMismatch(kind, (at,), value, expected, limit=limit))


def sized(low: int, high: int) -> FieldCheck:
    """A string of limited length."""

    def check(value: Any, at: str) -> None:
        text(value, at)
        if len(value) < low:
            raise _raised(words.empty_string(at))
        if len(value) > high:
            raise _raised(words.too_long(at, high, value))

    return check


def one_of(*choices: str) -> FieldCheck:
    """One of a few values."""

    def check(value: Any, at: str) -> None:
        if value not in choices:
            raise not_among(value, choices, at)

    return check


def array(item: FieldCheck, of: str = "an array of objects") -> FieldCheck:
    """A list whose items all pass."""

    def check(value: Any, at: str) -> None:
        if not isinstance(value, list):
            raise wrong_type(value, of, at)
        for index, member in enumerate(value):
            item(member, f"{at}[{index}]")

    return check


def table(check_member: FieldCheck) -> FieldCheck:
    """An object with any keys, whose values all pass."""

    def check(value: Any, at: str) -> None:
        mapping(value, at)
        for name, member in value.items():
            check_member(member, f"{at}.{name}")

    return check


def record(fields: Mapping[str, FieldCheck], required: Collection[str] = (), loose: bool = False) -> FieldCheck:
    """An object: missing keys first, then unknown ones, then each value."""

    def check(value: Any, at: str) -> None:
        if not isinstance(value, dict):
            raise wrong_type(value, "an object", at)
        for name in required:
            if name not in value:
                raise missing(f"{at}.{name}")
        for name in value:
            if name not in fields and not loose:
                raise unknown(f"{at}.{name}")
        for name, inner in fields.items():
            if name in value:
                inner(value[name], f"{at}.{name}")

    return check


def typed(**fields: FieldCheck) -> FieldCheck:
    """An object with a `type` that must have all of these keys."""
    return record({"type": anything, **fields}, tuple(fields))


def tagged(table: Mapping[str, FieldCheck]) -> FieldCheck:
    """An object whose `type` selects the check."""

    def check(value: Any, at: str) -> None:
        if not isinstance(value, dict):
            raise wrong_type(value, "an object", at)
        if "type" not in value:
            raise missing(f"{at}.type")
        inner = table.get(value["type"]) if isinstance(value["type"], str) else None
        if inner is None:
            raise not_among(value["type"], tuple(table), at)
        inner(value, at)

    return check
