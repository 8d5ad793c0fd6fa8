"""The forms of the settings of Messages that are objects."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import msgspec
from msgspec import Raw

from dragoman.conversation.parts import Json


class _AnthropicShapeChoice(msgspec.Struct, gc=False, forbid_unknown_fields=True):
    type: str
    name: str | None = None
    disable_parallel_tool_use: bool | None = None


class _AnthropicShapeEnabled(msgspec.Struct, gc=False):
    type: str
    budget_tokens: int | None = None


class _AnthropicShapeFormat(msgspec.Struct, gc=False):
    type: str
    schema: Raw


class _AnthropicShapeOutput(msgspec.Struct, gc=False):
    format: _AnthropicShapeFormat | None = None


_thinking = msgspec.json.Decoder(_AnthropicShapeEnabled).decode


def _decode_thinking(raw: Json) -> object:
    found = _thinking(raw)
    if found.type == "enabled" and found.budget_tokens is None:
        raise msgspec.ValidationError("Object missing required field `budget_tokens`")
    return found


SHAPES: Mapping[str, Callable[[Json], object]] = {
    "tool_choice": msgspec.json.Decoder(_AnthropicShapeChoice).decode,
    "thinking": _decode_thinking,
    "output_config": msgspec.json.Decoder(_AnthropicShapeOutput).decode,
}
