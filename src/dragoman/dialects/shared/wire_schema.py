"""What a dialect's `schema` module is made of: the published API as types, declared once and used in two ways.

1. *Strictly*, to parse. Each type refuses unknown members, and what is long stays raw: a text is its JSON literal. So
   one decode in C takes nearly every message, and proves that nothing else is in it.
2. *Openly*, to judge what the strict decode refused. `open_decoder` makes a decoder of the same types in which a raw
   member is decoded as what it `Holds`, and in which a `WireObject` may have members that its schema does not name:
   these are kept as extra fields. A `ClosedObject` may not have any, here too.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import lru_cache, reduce
from operator import or_
from types import UnionType
from typing import Annotated, Any, Union, get_args, get_origin, get_type_hints

import msgspec
from msgspec import NODEFAULT, UNSET, Meta, Raw, UnsetType

from dragoman.conversation.parts import Json
from dragoman.dialects.shared.raw_json import UNREADABLE, decode_members
from dragoman.wire.json_reader import render_object


class WireObject(msgspec.Struct, gc=False, forbid_unknown_fields=True):
    """An object of the wire. Members that its schema does not name are kept as extra fields."""


class ClosedObject(msgspec.Struct, gc=False, forbid_unknown_fields=True):
    """An object of the wire that has the members of its schema and no others."""


class Holds(msgspec.Struct, frozen=True):
    """What a member holds that the strict decode leaves raw, or does not look at."""

    type: Any
    """The type by which the open decode judges it."""
    needed: bool = False
    """Whether it must be there, though the strict decode does without it."""


JsonLiteral = Annotated[Raw, Holds(str)]
"""A text, as its JSON literal."""
JsonObject = Annotated[Raw, Holds(dict[str, Raw])]
"""An object whose members are the client's own."""
Id = Annotated[str, Meta(min_length=1)]
"""An id, which is not empty."""
BareBytes = Annotated[Raw, Holds(Annotated[str, Meta(pattern=r"\A(?!data:)")])]
"""Bytes in base64, and no data URL in their place."""


def open_decoder(kind: Any) -> Callable[[Any], Any]:
    """A decoder that raises ValidationError, with the path, if a value does not fit. Unknown members may be there."""
    return msgspec.json.Decoder(_open_type(kind)).decode


def needing(kind: Any, field: str, *types: str) -> Callable[[Any], Any]:
    """An open decoder of an object that must have a field if it is of one of these types."""
    decode = open_decoder(kind)

    def decode_needing(raw: Any) -> Any:
        found = decode(raw)
        if getattr(found, "type", "") in types and getattr(found, field) is UNSET:
            raise msgspec.ValidationError(f"Object missing required field `{field}`")
        return found

    return decode_needing


def split_unknown(raw: Json, kind: type[msgspec.Struct]) -> tuple[Json, Mapping[str, Json]]:
    """The object with the members that its type has, and all others. Their values are written without spaces."""
    names = _find_member_names(kind)
    known: dict[str, bytes | Raw] = {}
    unknown: dict[str, Json] = {}
    for key, value in decode_members(raw).items():
        if key in names:
            known[key] = value
        else:
            unknown[key] = msgspec.json.encode(msgspec.json.decode(value))
    return (render_object(known), unknown) if unknown else (raw, {})


def index_by_tag(kinds: Any) -> Mapping[str, type[msgspec.Struct]]:
    """The types of a union by their tags."""
    return {str(kind.__struct_config__.tag): kind for kind in get_args(kinds) or (kinds,)}


def fits(decode: Callable[[Json], object], raw: Json) -> bool:
    """Whether the decoder takes the value."""
    try:
        decode(raw)
    except UNREADABLE:
        return False
    return True


@lru_cache(maxsize=256)
def _find_member_names(kind: type[msgspec.Struct]) -> frozenset[str]:
    """The members that a type has. One that must never be there, since another dialect has it, is not among them."""
    names = [field.encode_name for field in msgspec.structs.fields(kind) if field.type is not UnsetType]
    tag = kind.__struct_config__.tag_field
    return frozenset([*names, tag] if tag else names)


def _open_type(kind: Any) -> Any:
    """The type by which a value of this type is judged."""
    origin = get_origin(kind)
    if origin is Annotated:
        inner, *notes = get_args(kind)
        held = next((note for note in notes if isinstance(note, Holds)), None)
        if held is not None:
            return _open_type(held.type)
        return Annotated[_open_type(inner), *notes]
    if origin in (Union, UnionType):
        return reduce(or_, [_open_type(one) for one in get_args(kind)])
    if origin in (list, dict, tuple):
        return origin[tuple(_open_type(one) for one in get_args(kind))]
    if isinstance(kind, type) and issubclass(kind, msgspec.Struct):
        return _open_struct(kind)
    return kind


def _is_needed(kind: Any) -> bool:
    notes = get_args(kind)[1:] if get_origin(kind) is Annotated else ()
    return any(isinstance(note, Holds) and note.needed for note in notes)


@lru_cache(maxsize=256)
def _open_struct(kind: type[msgspec.Struct]) -> type[msgspec.Struct]:
    config = kind.__struct_config__
    types = get_type_hints(kind, include_extras=True)
    fields: list[Any] = []
    for field in msgspec.structs.fields(kind):
        inner = _open_type(types[field.name])
        if field.default is NODEFAULT or _is_needed(types[field.name]):
            fields.append((field.name, inner))
        else:
            fields.append((field.name, inner | UnsetType, UNSET))
    return msgspec.defstruct(
        kind.__name__,
        fields,
        rename=dict(zip(kind.__struct_fields__, kind.__struct_encode_fields__, strict=True)),
        tag_field=config.tag_field,
        tag=config.tag,
        forbid_unknown_fields=not issubclass(kind, WireObject),
        gc=False,
        kw_only=True,
    )
