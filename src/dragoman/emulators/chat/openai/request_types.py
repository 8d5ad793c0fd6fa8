"""OpenAI's sentences for values of the wrong type or out of range."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from dragoman.emulators.chat.service import ChatRefusal
from dragoman.emulators.provider import ReceivedRequest
from dragoman.emulators.request_shape import MismatchKind, Path, ShapeMismatch, of_type
from dragoman.emulators.signatures import is_masked

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


def array_too_long(path: str, limit: int, value: list[Any]) -> ChatRefusal:
    sentence = f"Expected an array with maximum length {limit}, but got an array with length {len(value)} instead."
    return ChatRefusal(400, f"Invalid '{path}': array too long. {sentence}", param=path, code="array_above_max_length")


_URL = re.compile(r"(?i)(?:https?://|data:)")


def picture_url(value: Any, path: Path) -> None:
    """What a picture's URL may be."""
    of_type("an image URL", str)(value, path)
    if not _URL.match(value) and not is_masked(value):
        at = bracketed(path)
        sentence = f"Invalid '{at}'. Expected a valid URL, but got a value with an invalid format."
        raise ChatRefusal(400, sentence, param=at, code="invalid_value")


def listed(choices: Sequence[str]) -> str:
    """`'a', 'b', and 'c'`."""
    quoted = [f"'{choice}'" for choice in choices]
    return " and ".join(quoted) if len(quoted) < 3 else ", ".join(quoted[:-1]) + f", and {quoted[-1]}"


def not_among(path: str, value: Any, known: tuple[str, ...]) -> ChatRefusal:
    sentence = f"Invalid value: '{value}'. Supported values are: {listed(known)}."
    return ChatRefusal(400, sentence, param=path, code="invalid_value")


def too_long(path: str, limit: int, value: str) -> ChatRefusal:
    sentence = f"Expected a string with maximum length {limit}, but got a string with length {len(value)} instead."
    return ChatRefusal(
        400, f"Invalid '{path}': string too long. {sentence}", param=path, code="string_above_max_length"
    )


def empty_string(path: str) -> ChatRefusal:
    sentence = "empty string. Expected a string with minimum length 1, but got an empty string instead."
    return ChatRefusal(400, f"Invalid '{path}': {sentence}", param=path, code="empty_string")


def _out_of_range(path: str, mismatch: ShapeMismatch) -> ChatRefusal:
    noun = mismatch.expected.rsplit(" ", 1)[-1]
    least = mismatch.kind is MismatchKind.BELOW
    bound, word, sign = ("minimum", "below", ">=") if least else ("maximum", "above", "<=")
    value = float(mismatch.value) if noun == "decimal" and not least else mismatch.value
    sentence = f"{noun} {word} {bound} value. Expected a value {sign} {mismatch.limit:g}, but got {value} instead."
    return ChatRefusal(400, f"Invalid '{path}': {sentence}", param=path, code=f"{noun}_{word}_{bound[:3]}_value")


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


def mismatch_refusal(mismatch: ShapeMismatch, request: ReceivedRequest | None = None) -> ChatRefusal:
    """A value that does not fit the published types, in OpenAI's words."""
    path = bracketed(mismatch.path)
    match mismatch.kind:
        case MismatchKind.MISSING:
            return missing(path)
        case MismatchKind.UNKNOWN:
            return unknown(path)
        case MismatchKind.TYPE:
            return wrong_type(path, mismatch.expected, mismatch.value)
        case MismatchKind.CHOICE | MismatchKind.TAG:
            return not_among(path, mismatch.value, mismatch.choices)
        case MismatchKind.EMPTY_LIST:
            return empty_array(path)
        case MismatchKind.EMPTY_TEXT:
            return empty_string(path)
        case MismatchKind.TOO_LONG:
            return too_long(path, int(mismatch.limit), mismatch.value)
        case MismatchKind.PATTERN:
            sentence = f"Expected a string that matches the pattern '{mismatch.expected}'."
            words = f"Invalid '{path}': string does not match pattern. {sentence}"
            return ChatRefusal(400, words, param=path, code="invalid_value")
        case MismatchKind.BELOW | MismatchKind.ABOVE:
            return _out_of_range(path, mismatch)
