"""OpenAI's sentences for values of the wrong type or out of range."""

from __future__ import annotations

from typing import Any

from dragoman.emulators.chat.service import ChatRefusal
from dragoman.emulators.request_shape import MismatchKind, Path, ShapeMismatch

_KINDS: tuple[tuple[type, str], ...] = (
    (bool, "a boolean"),
    (int, "an integer"),
    (float, "a decimal"),
    (str, "a string"),
    (list, "an array"),
    (dict, "an object"),
)


def json_type(value: Any) -> str:
    """The JSON type of a value, with its article: "a string"."""
    return next((sentence for of, sentence in _KINDS if isinstance(value, of)), "null")


def wrong_type(path: str, expected: str, value: Any) -> ChatRefusal:
    return ChatRefusal(
        400,
        f"Invalid type for '{path}': expected {expected}, but got {json_type(value)} instead.",
        param=path,
        code="invalid_type",
    )


def missing(path: str) -> ChatRefusal:
    return ChatRefusal(400, f"Missing required parameter: '{path}'.", param=path, code="missing_required_parameter")


def unknown(path: str) -> ChatRefusal:
    return ChatRefusal(400, f"Unknown parameter: '{path}'.", param=path, code="unknown_parameter")


def empty_array(path: str) -> ChatRefusal:
    sentence = "empty array. Expected an array with minimum length 1, but got an empty array instead."
    return ChatRefusal(400, f"Invalid '{path}': {sentence}", param=path, code="empty_array")


def not_among(path: str, value: Any, known: tuple[str, ...]) -> ChatRefusal:
    listed = ", ".join(f"'{one}'" for one in known[:-1]) + f", and '{known[-1]}'" if len(known) > 1 else f"'{known[0]}'"
    sentence = f"Invalid value: '{value}'. Supported values are: {listed}."
    return ChatRefusal(400, sentence, param=path, code="invalid_value")


def too_long(path: str, limit: int, value: str) -> ChatRefusal:
    sentence = f"Expected a string with maximum length {limit}, but got a string with length {len(value)} instead."
    return ChatRefusal(
        400, f"Invalid '{path}': string too long. {sentence}", param=path, code="string_above_max_length"
    )


def empty_string(path: str) -> ChatRefusal:
    sentence = "empty string. Expected a string with minimum length 1, but got an empty string instead."
    return ChatRefusal(400, f"Invalid '{path}': {sentence}", param=path, code="empty_string")


def below(path: str, noun: str, least: float, value: Any) -> ChatRefusal:
    sentence = f"{noun} below minimum value. Expected a value >= {least:g}, but got {value} instead."
    return ChatRefusal(400, f"Invalid '{path}': {sentence}", param=path, code=f"{noun}_below_min_value")


def above(path: str, noun: str, most: float, value: Any) -> ChatRefusal:
    sentence = f"{noun} above maximum value. Expected a value <= {most:g}, but got {value} instead."
    return ChatRefusal(400, f"Invalid '{path}': {sentence}", param=path, code=f"{noun}_above_max_value")


def unsupported_parameter(name: str, hint: str = "") -> ChatRefusal:
    sentence = f"Unsupported parameter: '{name}' is not supported with this model."
    return ChatRefusal(400, sentence + hint, param=name, code="unsupported_parameter")


def unsupported_value(path: str, value: Any, hint: str = "") -> ChatRefusal:
    shown = f"'{value}'" if isinstance(value, str) else value
    sentence = f"Unsupported value: '{path}' does not support {shown} with this model."
    return ChatRefusal(400, sentence + hint, param=path, code="unsupported_value")


def bracketed(path: Path) -> str:
    """`("messages", 0, "role")` as OpenAI writes it: `messages[0].role`."""
    return "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in path).removeprefix(".")


def mismatch_refusal(mismatch: ShapeMismatch) -> ChatRefusal:
    """A value that does not fit the published types, in OpenAI's words."""
    path = bracketed(mismatch.path)
    match mismatch.kind:
        case MismatchKind.MISSING:
            return missing(path)
        case MismatchKind.UNKNOWN:
            return unknown(path)
        case MismatchKind.TYPE:
            return wrong_type(path, mismatch.expected, mismatch.value)
        case MismatchKind.CHOICE:
            return not_among(path, mismatch.value, mismatch.choices)
        case MismatchKind.EMPTY_LIST:
            return empty_array(path)
        case MismatchKind.EMPTY_TEXT:
            return empty_string(path)
        case MismatchKind.TOO_LONG:
            return too_long(path, mismatch.limit, mismatch.value)
