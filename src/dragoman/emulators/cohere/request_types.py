"""The published types of a request, after the cohere package 7.3.1. Unknown keys are refused at every depth."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from dragoman.emulators.request_shape import (
    MismatchKind,
    Path,
    RecordShape,
    Shape,
    ShapeMismatch,
    boolean,
    complete,
    either,
    integer,
    items,
    mapping,
    nullable,
    number,
    one_of,
    optional,
    tagged,
    text,
)

_TEXT_OR_PARTS = "string or array"
_TEXT_PART = complete(type=text, text=text)
_THINKING_PART = complete(type=text, thinking=text)
_IMAGE = RecordShape({"url": text, "detail": one_of("auto", "low", "high")}, required=("url",))
_IMAGE_PART = complete(type=text, image_url=_IMAGE)
_DATA = either("string or object", text=text, keys=mapping)
_DOCUMENT = RecordShape({"data": _DATA, "id": nullable(text)}, required=("data",))
_DOCUMENT_PART = complete(type=text, document=_DOCUMENT)


def _content(parts: Mapping[str, Shape]) -> Shape:
    return either(_TEXT_OR_PARTS, text=text, items=items(tagged("type", parts), expected="array"))


_FUNCTION_CALL = complete(name=text, arguments=text)
_CALL = complete(id=text, type=text, function=_FUNCTION_CALL)
_CALLS = items(tagged("type", {"function": _CALL}), expected="array")
_SYSTEM = complete(role=text, content=_content({"text": _TEXT_PART}))
_USER = complete(role=text, content=_content({"text": _TEXT_PART, "image_url": _IMAGE_PART}))
_ASSISTANT = complete(role=text).adding(
    optional(
        content=_content({"text": _TEXT_PART, "thinking": _THINKING_PART}),
        tool_calls=_CALLS,
        tool_plan=text,
        citations=items(mapping, expected="array"),
    )
)
_RESULT = complete(role=text, tool_call_id=text, content=_content({"text": _TEXT_PART, "document": _DOCUMENT_PART}))
_FUNCTION = complete(name=text, parameters=mapping).adding(optional(description=text))
_TOOL = complete(type=text, function=_FUNCTION)
_FORMATS: Mapping[str, Shape] = {
    "text": RecordShape({"type": text}),
    "json_object": RecordShape({"type": text, "json_schema": nullable(mapping)}),
}
_MODES = one_of("ENABLED", "DISABLED", "FAST", "ACCURATE", "OFF", "enabled", "disabled", "fast", "accurate", "off")


def _document(value: Any, path: Path) -> None:
    if not isinstance(value, str):
        _DOCUMENT(value, path)


REQUEST = RecordShape(
    {
        "model": text,
        "messages": items(
            tagged("role", {"system": _SYSTEM, "user": _USER, "assistant": _ASSISTANT, "tool": _RESULT}),
            expected="array",
        ),
        **dict.fromkeys(("frequency_penalty", "presence_penalty", "temperature", "p"), nullable(number)),
        **dict.fromkeys(("max_tokens", "seed", "k", "priority"), nullable(integer)),
        **dict.fromkeys(("stream", "strict_tools", "logprobs"), nullable(boolean)),
        "tools": nullable(items(tagged("type", {"function": _TOOL}), expected="array")),
        "tool_choice": nullable(one_of("REQUIRED", "NONE")),
        "documents": nullable(items(_document, expected="array")),
        "citation_options": nullable(RecordShape({"mode": nullable(_MODES)})),
        "response_format": nullable(tagged("type", _FORMATS)),
        "safety_mode": nullable(one_of("CONTEXTUAL", "STRICT", "OFF")),
        "thinking": nullable(
            RecordShape({"type": one_of("enabled", "disabled"), "token_budget": nullable(integer)}, required=("type",))
        ),
        "stop_sequences": nullable(items(text, expected="array")),
    },
    required=("messages",),
)
_PROPER = "For proper usage, please refer to https://docs.cohere.com/reference/chat"


def sentence(found: ShapeMismatch) -> tuple[int, str]:
    """The status and the words for a value that does not fit. Only those for an unknown key are known to the letter."""
    place = ".".join(str(step) for step in found.path)
    match found.kind:
        case MismatchKind.UNKNOWN:
            return 422, f"unknown field: parameter '{found.path[-1]}' is not a valid field. {_PROPER}"
        case MismatchKind.MISSING:
            return 400, f"invalid request: {place} is required."
        case MismatchKind.CHOICE | MismatchKind.TAG:
            return 400, f"invalid request: {place} must be one of: {', '.join(found.choices)}."
    given = type(found.value).__name__
    return 400, f"invalid type: parameter {place} is of type {given} but should be of type {found.expected}. {_PROPER}"
