"""The published forms of Gemini's settings. Each key may be spelled in camelCase or in snake_case."""

# ruff: noqa: N815

from __future__ import annotations

from msgspec import UNSET, Raw, UnsetType

from dragoman.dialects.raw_json import ABSENT
from dragoman.dialects.wire_schema import ClosedObject, WireObject

# Settings


class GeminiSafety(WireObject):
    """Protobuf takes the number of a word as well, and a recording has one."""

    category: str | int | None = None
    threshold: str | int | None = None
    method: str | int | None = None


class GeminiThinkingConfig(ClosedObject):
    """The values are looked at when they are parsed."""

    includeThoughts: Raw = ABSENT
    include_thoughts: Raw = ABSENT
    thinkingBudget: Raw = ABSENT
    thinking_budget: Raw = ABSENT
    thinkingLevel: Raw = ABSENT
    thinking_level: Raw = ABSENT


class GeminiCallingConfig(WireObject):
    mode: str | int | UnsetType = UNSET
    allowedFunctionNames: list[str] | UnsetType = UNSET
    allowed_function_names: list[str] | UnsetType = UNSET


class GeminiToolConfig(WireObject):
    functionCallingConfig: GeminiCallingConfig | None = None
    function_calling_config: GeminiCallingConfig | None = None


class GeminiGenerationConfig(WireObject):
    responseMimeType: str | None = None
    response_mime_type: str | None = None
    thinkingConfig: GeminiThinkingConfig | None = None
    thinking_config: GeminiThinkingConfig | None = None
