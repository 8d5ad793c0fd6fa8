"""The forms of the settings of Messages that are objects."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import msgspec
from msgspec import UNSET, Raw, UnsetType

from dragoman.conversation.literals import quote
from dragoman.conversation.parts import Json
from dragoman.dialects.near_misses.loose_json import NULL, Fields, fields_of, text_of
from dragoman.wire.json_reader import render_object


class _AnthropicShapeChoice(msgspec.Struct, gc=False, forbid_unknown_fields=True):
    type: str
    name: str | UnsetType = UNSET
    disable_parallel_tool_use: bool | UnsetType = UNSET


class _AnthropicShapeEnabled(msgspec.Struct, gc=False):
    type: str
    budget_tokens: int | None = None
    display: str | None = None


class _AnthropicShapeFormat(msgspec.Struct, gc=False):
    type: str
    schema: Raw


class _AnthropicShapeOutput(msgspec.Struct, gc=False):
    format: _AnthropicShapeFormat | None = None
    effort: str | None = None


class _AnthropicShapeMetadata(msgspec.Struct, gc=False):
    user_id: str | None = None


_choice = msgspec.json.Decoder(_AnthropicShapeChoice).decode
_thinking = msgspec.json.Decoder(_AnthropicShapeEnabled).decode


def meant_thinking(raw: Json) -> Json:
    """Thinking as a word or a truth value, or without a budget: then the model decides how much."""
    if raw in (b"true", b"false"):
        return _ADAPTIVE if raw == b"true" else _DISABLED
    fields = fields_of(raw)
    word = text_of(raw) if fields is None else text_of(fields.get("type"))
    if word == "enabled" and (fields is None or fields.get("budget_tokens", NULL) == NULL):
        return _ADAPTIVE if fields is None else render_object({**_unbudgeted(fields), "type": quote("adaptive")})
    if fields is None and word in ("adaptive", "disabled"):
        return _ADAPTIVE if word == "adaptive" else _DISABLED
    return raw


def _unbudgeted(fields: Fields) -> Fields:
    return {key: value for key, value in fields.items() if key != "budget_tokens"}


_ADAPTIVE, _DISABLED = b'{"type":"adaptive"}', b'{"type":"disabled"}'
READERS: Mapping[str, Callable[[Json], Json]] = {"thinking": meant_thinking}


def _decode_thinking(raw: Json) -> object:
    found = _thinking(raw)
    if found.type == "enabled" and found.budget_tokens is None:
        raise msgspec.ValidationError("Object missing required field `budget_tokens`")
    return found


def _decode_choice(raw: Json) -> object:
    found = _choice(raw)
    if found.type == "tool" and found.name is UNSET:
        raise msgspec.ValidationError("Object missing required field `name`")
    return found


SHAPES: Mapping[str, Callable[[Json], object]] = {
    "tool_choice": _decode_choice,
    "thinking": _decode_thinking,
    "output_config": msgspec.json.Decoder(_AnthropicShapeOutput).decode,
    "metadata": msgspec.json.Decoder(_AnthropicShapeMetadata).decode,
}
SPARE = frozenset({"metadata"})
"""Settings without which the answer is of the same form."""
