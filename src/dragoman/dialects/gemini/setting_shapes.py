"""The forms of Gemini's settings that are objects or lists of them."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import msgspec
from msgspec import Raw

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


class _GeminiShapeConfig(msgspec.Struct, gc=False):
    thinkingConfig: _GeminiShapeThinking | None = None  # noqa: N815
    thinking_config: _GeminiShapeThinking | None = None


_safety = msgspec.json.Decoder(list[_GeminiShapeSafety] | _GeminiShapeSafety).decode
_config = msgspec.json.Decoder(_GeminiShapeConfig).decode
SHAPES: Mapping[str, Callable[[Json], object]] = {
    "safetySettings": _safety,
    "safety_settings": _safety,
    "generationConfig": _config,
    "generation_config": _config,
}
