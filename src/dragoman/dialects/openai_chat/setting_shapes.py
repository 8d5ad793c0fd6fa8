"""The forms of Chat's settings that are objects."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import msgspec
from msgspec import UNSET, Raw, UnsetType

from dragoman.conversation.parts import Json


class _ChatShapeNamed(msgspec.Struct, gc=False, forbid_unknown_fields=True):
    name: str


class _ChatShapeChoice(msgspec.Struct, gc=False):
    """A choice of another type than `function` is not looked at."""

    type: str | UnsetType = UNSET
    function: _ChatShapeNamed | UnsetType = UNSET


class _ChatShapeNamedChoice(msgspec.Struct, gc=False, forbid_unknown_fields=True):
    function: _ChatShapeNamed
    type: str | UnsetType = UNSET


class _ChatShapeSchema(msgspec.Struct, gc=False, forbid_unknown_fields=True):
    name: str
    description: str | UnsetType = UNSET
    schema: dict[str, Raw] | UnsetType = UNSET
    strict: bool | None = None


class _ChatShapeFormat(msgspec.Struct, gc=False, forbid_unknown_fields=True):
    type: str
    json_schema: _ChatShapeSchema | UnsetType = UNSET
    grammar: Raw | UnsetType = UNSET
    schema: Raw | UnsetType = UNSET


class _ChatShapeStreamOptions(msgspec.Struct, gc=False, forbid_unknown_fields=True):
    include_usage: bool | UnsetType = UNSET
    include_obfuscation: bool | UnsetType = UNSET


_choice = msgspec.json.Decoder(str | _ChatShapeChoice).decode
_named_choice = msgspec.json.Decoder(_ChatShapeNamedChoice).decode
_format = msgspec.json.Decoder(_ChatShapeFormat).decode


def _decode_choice(raw: Json) -> object:
    found = _choice(raw)
    if isinstance(found, _ChatShapeChoice) and found.type in (UNSET, "function"):
        return _named_choice(raw)
    return found


def _decode_format(raw: Json) -> object:
    found = _format(raw)
    if found.type == "json_schema" and found.json_schema is UNSET:
        raise msgspec.ValidationError("Object missing required field `json_schema`")
    return found


decode_stream_options = msgspec.json.Decoder(_ChatShapeStreamOptions).decode
decode_metadata = msgspec.json.Decoder(dict[str, str]).decode
SHAPES: Mapping[str, Callable[[Json], object]] = {
    "tool_choice": _decode_choice,
    "response_format": _decode_format,
    "metadata": decode_metadata,
    "logit_bias": msgspec.json.Decoder(dict[str, int]).decode,
    "reasoning_effort": msgspec.json.Decoder(str).decode,
}
SPARE = frozenset({"metadata", "logit_bias", "reasoning_effort"})
"""Settings without which the answer is of the same form."""
