"""The forms of the settings of Responses that are objects."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import msgspec

from dragoman.conversation.parts import Json


class _ResponsesShapeChoice(msgspec.Struct, gc=False):
    type: str


class _ResponsesShapeReasoning(msgspec.Struct, gc=False):
    effort: str | None = None
    summary: str | None = None
    generate_summary: str | None = None


SHAPES: Mapping[str, Callable[[Json], object]] = {
    "tool_choice": msgspec.json.Decoder(str | _ResponsesShapeChoice).decode,
    "reasoning": msgspec.json.Decoder(_ResponsesShapeReasoning).decode,
    "metadata": msgspec.json.Decoder(dict[str, str]).decode,
}
SPARE = frozenset({"metadata"})
"""Settings without which the answer is of the same form."""
