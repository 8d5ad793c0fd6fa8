"""The forms of the settings of Responses that are objects."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import msgspec
from msgspec import UNSET, Raw, UnsetType

from dragoman.conversation.parts import Json


class _ResponsesShapeChoice(msgspec.Struct, gc=False):
    """A choice of another type than a function or a custom tool is not looked at."""

    type: str
    name: str | UnsetType = UNSET


class _ResponsesShapeReasoning(msgspec.Struct, gc=False):
    effort: str | None = None
    summary: str | None = None
    generate_summary: str | None = None


class _ResponsesShapeFormat(msgspec.Struct, gc=False):
    type: str
    name: str | UnsetType = UNSET
    description: str | UnsetType = UNSET
    schema: dict[str, Raw] | UnsetType = UNSET
    strict: bool | None = None


class _ResponsesShapeText(msgspec.Struct, gc=False):
    format: _ResponsesShapeFormat | UnsetType = UNSET
    verbosity: str | None = None


_choice = msgspec.json.Decoder(str | _ResponsesShapeChoice).decode
_text = msgspec.json.Decoder(_ResponsesShapeText).decode


def _decode_choice(raw: Json) -> object:
    found = _choice(raw)
    named = isinstance(found, _ResponsesShapeChoice) and found.type in ("function", "custom")
    if named and isinstance(found, _ResponsesShapeChoice) and found.name is UNSET:
        raise msgspec.ValidationError("Object missing required field `name`")
    return found


def _decode_text(raw: Json) -> object:
    found = _text(raw)
    form = found.format
    if isinstance(form, _ResponsesShapeFormat) and form.type == "json_schema" and UNSET in (form.name, form.schema):
        raise msgspec.ValidationError("Object missing required field `name` or `schema` - at `$.format`")
    return found


SHAPES: Mapping[str, Callable[[Json], object]] = {
    "tool_choice": _decode_choice,
    "text": _decode_text,
    "include": msgspec.json.Decoder(list[str]).decode,
    "truncation": msgspec.json.Decoder(str).decode,
    "max_tool_calls": msgspec.json.Decoder(int).decode,
    "reasoning": msgspec.json.Decoder(_ResponsesShapeReasoning).decode,
    "metadata": msgspec.json.Decoder(dict[str, str]).decode,
}
SPARE = frozenset({"metadata", "include", "truncation"})
"""Settings without which the answer is of the same form."""
