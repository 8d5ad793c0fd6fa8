"""Any value of a conversation as plain JSON, and back: for what has no shorter notation.

`{"is": "Media", "kind": "image", …}`: a value says its type, what is at its default is left out, and JSON that a value
holds as text stands there as itself.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum
from functools import lru_cache
from typing import Any, NewType, Union, get_args, get_origin

import msgspec

from dragoman.conversation import conversation, messages, parts, settings, tools
from dragoman.errors import MalformedRequest

TAG = "is"

_decode = msgspec.json.decode
_encode = msgspec.json.Encoder().encode

TYPES: dict[str, type[msgspec.Struct]] = {
    name: found
    for module in (parts, messages, tools, settings, conversation)
    for name, found in vars(module).items()
    if isinstance(found, type) and issubclass(found, msgspec.Struct) and found is not msgspec.Struct
}


def as_plain(value: Any) -> Any:
    """The value as JSON-able data."""
    if isinstance(value, msgspec.Struct):
        return {TAG: type(value).__name__} | _fields_of(value)
    if isinstance(value, bytes):
        return _decode(value)
    if isinstance(value, Enum):
        return value.value
    if isinstance(value, tuple):
        return [as_plain(item) for item in value]
    if isinstance(value, Mapping):
        return {key: as_plain(item) for key, item in value.items()}
    return value


def _fields_of(value: msgspec.Struct) -> dict[str, Any]:
    found = ((name, default, getattr(value, name)) for name, (_, default) in _fields(type(value)).items())
    return {name: as_plain(content) for name, default, content in found if content != default}


def from_plain(data: Any, expected: Any = Any) -> Any:
    """The value again. Raises MalformedRequest if the data is none."""
    try:
        return _build(data, expected)
    except (msgspec.ValidationError, TypeError, KeyError, AttributeError) as fault:
        raise MalformedRequest(f"not a value of a conversation: {fault}") from None


def _build(data: Any, expected: Any) -> Any:
    options = _options(expected)
    if bytes in options:
        return None if data is None and type(None) in options else _encode(data)
    if isinstance(data, dict) and TAG in data and not any(get_origin(one) in _MAPPINGS for one in options):
        return _build_struct(data)
    if isinstance(data, list):
        item = next((get_args(one)[0] for one in options if get_origin(one) is tuple), Any)
        return tuple(_build(one, item) for one in data)
    if isinstance(data, dict):
        content = next((get_args(one)[1] for one in options if get_args(one)[1:]), Any)
        return {key: _build(one, content) for key, one in data.items()}
    return msgspec.convert(data, expected)


_MAPPINGS = (Mapping, dict)
"""If one of them is expected, the tag is a key like others."""


def _build_struct(data: dict[str, Any]) -> msgspec.Struct:
    kind = TYPES[data[TAG]]
    fields = _fields(kind)
    return kind(**{name: _build(content, fields[name][0]) for name, content in data.items() if name != TAG})


@lru_cache(maxsize=64)
def _fields(kind: type[msgspec.Struct]) -> dict[str, tuple[Any, Any]]:
    """Name → type and default."""
    return {field.name: (field.type, field.default) for field in msgspec.structs.fields(kind)}


def _options(expected: Any) -> tuple[Any, ...]:
    """The types that a union allows; a plain type is its own only option. A new type counts as what it stands for."""
    options = get_args(expected) if get_origin(expected) is Union or _is_new_union(expected) else (expected,)
    return tuple(_stood_for(option) for option in options)


def _stood_for(option: Any) -> Any:
    return _stood_for(option.__supertype__) if isinstance(option, NewType) else option


def _is_new_union(expected: Any) -> bool:
    return type(expected).__name__ == "UnionType"
