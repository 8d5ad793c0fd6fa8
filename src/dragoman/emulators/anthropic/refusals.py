"""Refusals in the words of Anthropic's validator: `messages.0.content.1.text.text: Field required`."""

from __future__ import annotations

from functools import partial

from dragoman.emulators.emulated_api import ProviderRefusal
from dragoman.emulators.request_shape import (
    CheckOrder,
    MismatchKind,
    Path,
    RecordShape,
    Shape,
    ShapeMismatch,
    items,
    of_type,
    tagged,
)


class AnthropicRefusal(ProviderRefusal):
    """The first error of a request, in Anthropic's words."""

    usual_kind = "invalid_request_error"
    code = ""
    """The word for programs, if the error has one."""


record = partial(RecordShape, order=CheckOrder.UNKNOWN_LAST)
by_type = partial(tagged, "type", in_path=True)
"""An object whose type is a step of the path."""
items_of = partial(items, expected="a valid array")
mapping = of_type("a valid dictionary", dict)
"""An object with any keys."""


def typed(**fields: Shape) -> RecordShape:
    """An object with a `type` that must have all of these keys."""
    return record(fields={"type": of_type("a string", str), **fields}, required=tuple(fields))


def join_path(at: str, *steps: object) -> str:
    """The path, extended by one or more steps."""
    return ".".join(str(step) for step in (at, *steps) if step != "")


def invalid(at: str | Path, sentence: str) -> AnthropicRefusal:
    """A refusal of the value at a path. The root has no path."""
    place = at if isinstance(at, str) else join_path("", *at)
    return AnthropicRefusal(f"{place}: {sentence}" if place else sentence)


_TYPES = {
    "a string": "a valid string",
    "a boolean": "a valid boolean",
    "an integer": "a valid integer",
    "a decimal": "a valid number",
}


def mismatch_refusal(mismatch: ShapeMismatch) -> AnthropicRefusal:
    """A value that does not fit the published types."""
    listed = [f"'{choice}'" for choice in mismatch.choices]
    is_tag = listed and mismatch.path[-1] == "type"
    match mismatch.kind:
        case MismatchKind.MISSING:
            words = "Field required"
        case MismatchKind.UNKNOWN:
            words = "Extra inputs are not permitted"
        case MismatchKind.TAG | MismatchKind.TYPE if is_tag:
            found = f"Input tag '{mismatch.value}' found using 'type'"
            words = f"{found} does not match any of the expected tags: {', '.join(listed)}"
            return invalid(mismatch.path[:-1], words)
        case MismatchKind.CHOICE | MismatchKind.TAG | MismatchKind.TYPE if listed:
            words = "Input should be " + " or ".join(filter(None, (", ".join(listed[:-1]), listed[-1])))
        case MismatchKind.TYPE | MismatchKind.TAG | MismatchKind.CHOICE:
            words = f"Input should be {_TYPES.get(mismatch.expected, mismatch.expected)}"
        case MismatchKind.EMPTY_LIST:
            words = "List should have at least 1 item after validation, not 0"
        case MismatchKind.EMPTY_TEXT:
            words = "String should have at least 1 character"
        case MismatchKind.TOO_LONG:
            words = f"String should have at most {mismatch.limit} characters"
        case MismatchKind.PATTERN:
            words = f"String should match pattern '{mismatch.expected}'"
        case MismatchKind.BELOW:
            words = f"Input should be greater than or equal to {mismatch.limit}"
        case MismatchKind.ABOVE:
            words = f"Input should be less than or equal to {mismatch.limit}"
    return invalid(mismatch.path, words)
