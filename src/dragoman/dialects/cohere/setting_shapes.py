"""The forms of Cohere's settings that are objects."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Literal

import msgspec
from msgspec import UNSET, Raw, UnsetType

from dragoman.conversation.parts import Json


class _CohereShapeThinking(msgspec.Struct, gc=False, forbid_unknown_fields=True):
    type: Literal["enabled", "disabled"]
    token_budget: int | UnsetType | None = UNSET


class _CohereShapeFormat(msgspec.Struct, gc=False, forbid_unknown_fields=True):
    type: str
    json_schema: dict[str, Raw] | UnsetType | None = UNSET


class _CohereShapeCitations(msgspec.Struct, gc=False, forbid_unknown_fields=True):
    mode: str | UnsetType | None = UNSET


SHAPES: Mapping[str, Callable[[Json], object]] = {
    "thinking": msgspec.json.Decoder(_CohereShapeThinking).decode,
    "response_format": msgspec.json.Decoder(_CohereShapeFormat).decode,
    "citation_options": msgspec.json.Decoder(_CohereShapeCitations).decode,
}
SPARE = frozenset({"thinking", "citation_options"})
"""Settings without which the answer is of the same form."""
