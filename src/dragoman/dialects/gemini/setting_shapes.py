"""The forms of Gemini's settings that are objects or lists of them."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import msgspec
from msgspec import UNSET, Raw, UnsetType

from dragoman.conversation.parts import Json


class _GeminiShapeSafety(msgspec.Struct, gc=False):
    """Protobuf takes the number of a word as well, and a recording has one."""

    category: str | int | None = None
    threshold: str | int | None = None
    method: str | int | None = None


class _GeminiShapeThinking(msgspec.Struct, gc=False, forbid_unknown_fields=True):
    """The members in both spellings. Their values are looked at where they are read."""

    includeThoughts: Raw = Raw()  # noqa: N815
    include_thoughts: Raw = Raw()
    thinkingBudget: Raw = Raw()  # noqa: N815
    thinking_budget: Raw = Raw()
    thinkingLevel: Raw = Raw()  # noqa: N815
    thinking_level: Raw = Raw()


class _GeminiShapeCalling(msgspec.Struct, gc=False):
    mode: str | int | UnsetType = UNSET
    allowedFunctionNames: list[str] | UnsetType = UNSET  # noqa: N815
    allowed_function_names: list[str] | UnsetType = UNSET


class _GeminiShapeToolConfig(msgspec.Struct, gc=False):
    functionCallingConfig: _GeminiShapeCalling | None = None  # noqa: N815
    function_calling_config: _GeminiShapeCalling | None = None


class _GeminiShapeConfig(msgspec.Struct, gc=False):
    responseMimeType: str | None = None  # noqa: N815
    response_mime_type: str | None = None
    thinkingConfig: _GeminiShapeThinking | None = None  # noqa: N815
    thinking_config: _GeminiShapeThinking | None = None


_safety = msgspec.json.Decoder(list[_GeminiShapeSafety] | _GeminiShapeSafety).decode
_NO_SAFETY = _GeminiShapeSafety()
_config = msgspec.json.Decoder(_GeminiShapeConfig).decode
_tool_config = msgspec.json.Decoder(_GeminiShapeToolConfig).decode


def _decode_tool_config(raw: Json) -> object:
    """Names are allowed beside a mode only."""
    found = _tool_config(raw)
    calling = found.functionCallingConfig or found.function_calling_config
    listed = calling is not None and (calling.allowedFunctionNames or calling.allowed_function_names)
    if calling is not None and listed and calling.mode is UNSET:
        raise msgspec.ValidationError("Object missing required field `mode`")
    return found


def _decode_safety(raw: Json) -> object:
    """A single setting may stand in place of the list. An object of anything else may not."""
    found = _safety(raw)
    if found == _NO_SAFETY:
        raise msgspec.ValidationError("Expected `array`, got `object`")
    return found


SHAPES: Mapping[str, Callable[[Json], object]] = {
    "safetySettings": _decode_safety,
    "safety_settings": _decode_safety,
    "generationConfig": _config,
    "generation_config": _config,
    "toolConfig": _decode_tool_config,
    "tool_config": _decode_tool_config,
}
