"""The forms of Chat's settings that are objects."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Annotated

import msgspec
from msgspec import UNSET, Meta, Raw, UnsetType

from dragoman.conversation.literals import quote
from dragoman.conversation.parts import Json
from dragoman.dialects.near_misses.loose_json import Fields, fields_of, text_of
from dragoman.wire.json_reader import render_object


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


_EffortWord = Annotated[str, Meta(pattern=r"^[a-z][a-z_-]{0,31}$")]
"""A word. One that is not known here may be newer."""
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


def meant_format(raw: Json) -> Json:
    """The format of the answer that is meant: a bare word, a schema beside its type, or one without a name."""
    fields = fields_of(raw)
    if fields is None:
        word = _WORDS.get(text_of(raw).lower())
        return raw if word is None else render_object({"type": quote(word)})
    kind, inner = text_of(fields.get("type")), fields_of(fields.get("json_schema"))
    beside = {key: fields[key] for key in _SCHEMA_MEMBERS if key in fields}
    if inner is None and kind in ("json_schema", "json_object") and fields_of(beside.get("schema")) is not None:
        return _render_schema(beside)
    if kind == "json_schema" and inner is not None and "name" not in inner:
        return _render_schema(inner if "schema" in inner else {"schema": render_object(inner)})
    return raw


def _render_schema(members: Fields) -> Json:
    schema = render_object({"name": quote("answer"), **members})
    return render_object({"type": quote("json_schema"), "json_schema": schema})


_WORDS = {"json": "json_object", "json_object": "json_object", "json_schema": "json_object", "text": "text"}
"""Words for a format. One that says `json_schema` has no schema to go by."""
_SCHEMA_MEMBERS = ("name", "description", "schema", "strict")
READERS: Mapping[str, Callable[[Json], Json]] = {"response_format": meant_format}
decode_stream_options = msgspec.json.Decoder(_ChatShapeStreamOptions).decode
decode_metadata = msgspec.json.Decoder(dict[str, str]).decode
SHAPES: Mapping[str, Callable[[Json], object]] = {
    "tool_choice": _decode_choice,
    "response_format": _decode_format,
    "metadata": decode_metadata,
    "logit_bias": msgspec.json.Decoder(dict[str, int]).decode,
    "reasoning_effort": msgspec.json.Decoder(_EffortWord).decode,
}
SPARE = frozenset({"metadata", "logit_bias", "reasoning_effort"})
"""Settings without which the answer is of the same form."""
