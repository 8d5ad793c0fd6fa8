"""OpenAI's way of saying that a value is of the wrong type or out of range."""

from __future__ import annotations

from typing import Any

from dragoman.emulators.chat_service import Complaint

_KINDS: tuple[tuple[type, str], ...] = (
    (bool, "a boolean"),
    (int, "an integer"),
    (float, "a decimal"),
    (str, "a string"),
    (list, "an array"),
    (dict, "an object"),
)


def kind(value: Any) -> str:
    """The value's type with its article."""
    return next((words for of, words in _KINDS if isinstance(value, of)), "null")


def wrong_type(path: str, expected: str, value: Any) -> Complaint:
    return Complaint(
        400,
        f"Invalid type for '{path}': expected {expected}, but got {kind(value)} instead.",
        param=path,
        code="invalid_type",
    )


def missing(path: str) -> Complaint:
    return Complaint(400, f"Missing required parameter: '{path}'.", param=path, code="missing_required_parameter")


def unknown(path: str) -> Complaint:
    return Complaint(400, f"Unknown parameter: '{path}'.", param=path, code="unknown_parameter")


def empty_array(path: str) -> Complaint:
    words = "empty array. Expected an array with minimum length 1, but got an empty array instead."
    return Complaint(400, f"Invalid '{path}': {words}", param=path, code="empty_array")


def not_among(path: str, value: Any, known: tuple[str, ...]) -> Complaint:
    listed = ", ".join(f"'{one}'" for one in known[:-1]) + f", and '{known[-1]}'"
    words = f"Invalid value: '{value}'. Supported values are: {listed}."
    return Complaint(400, words, param=path, code="invalid_value")


def too_long(path: str, limit: int, value: str) -> Complaint:
    words = f"Expected a string with maximum length {limit}, but got a string with length {len(value)} instead."
    return Complaint(400, f"Invalid '{path}': string too long. {words}", param=path, code="string_above_max_length")


def below(path: str, noun: str, least: float, value: Any) -> Complaint:
    words = f"{noun} below minimum value. Expected a value >= {least:g}, but got {value} instead."
    return Complaint(400, f"Invalid '{path}': {words}", param=path, code=f"{noun}_below_min_value")


def above(path: str, noun: str, most: float, value: Any) -> Complaint:
    words = f"{noun} above maximum value. Expected a value <= {most:g}, but got {value} instead."
    return Complaint(400, f"Invalid '{path}': {words}", param=path, code=f"{noun}_above_max_value")


def unsupported_parameter(name: str, hint: str = "") -> Complaint:
    words = f"Unsupported parameter: '{name}' is not supported with this model."
    return Complaint(400, words + hint, param=name, code="unsupported_parameter")


def unsupported_value(path: str, value: Any, hint: str = "") -> Complaint:
    shown = f"'{value}'" if isinstance(value, str) else value
    words = f"Unsupported value: '{path}' does not support {shown} with this model."
    return Complaint(400, words + hint, param=path, code="unsupported_value")
