"""Gemini's own schema language and JSON Schema, both ways.

Gemini's `parameters` and `responseSchema` are a protocol buffer that resembles JSON Schema: types in capitals,
`nullable` beside the type, `defs` and `ref` without a dollar sign, keys in either case, large numbers in quotes.
`from_proto` gives the JSON Schema that means the same, and `to_proto` is its inverse on whatever it makes. A keyword
that neither knows stays as it is: a rule fits a schema to what a target accepts.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import msgspec

from dragoman.conversation.bounded_cache import remembered
from dragoman.conversation.parts import Json
from dragoman.dialects.shared.raw_json import encode

_decode = msgspec.json.decode
_SNAKE = re.compile(r"_([a-z])")

Walk = Callable[[Any], Any]

_NUMBERS = frozenset({"minItems", "maxItems", "minLength", "maxLength", "minProperties", "maxProperties"})
_NAMES: dict[str, str] = {"ref": "$ref", "defs": "$defs"}
_PROTO_NAMES: dict[str, str] = {name: proto for proto, name in _NAMES.items()}
_UNSPECIFIED = "TYPE_UNSPECIFIED"
_NULL = {"type": "null"}


def camel(name: str) -> str:
    """`any_of` → `anyOf`. Protocol buffers accept both spellings."""
    return _SNAKE.sub(lambda found: found[1].upper(), name) if "_" in name else name


@remembered
def from_proto(schema: Json) -> Json:
    """The JSON Schema that a proto schema means."""
    return encode(_from_proto(_decode(schema)))


@remembered
def to_proto(schema: Json) -> Json:
    """A JSON Schema in proto form."""
    return encode(_to_proto(_decode(schema)))


def _from_proto(node: Any) -> Any:
    if not isinstance(node, dict):
        return node
    out: dict[str, Any] = {}
    nullable = False
    for key, value in node.items():
        name = camel(key)
        if value is None and name not in ("default", "example"):
            continue
        if name == "nullable" and isinstance(value, bool):
            nullable = value
        elif name == "type" and isinstance(value, str):
            if value.upper() != _UNSPECIFIED:
                out[name] = value.lower()
        elif name == "type" and isinstance(value, list):
            kinds = [kind.lower() if isinstance(kind, str) else kind for kind in value]
            # null at the end is what `nullable` becomes, and that is taken; a list of types is not
            out[name] = ["null", *kinds[:-1]] if kinds[-1:] == ["null"] else kinds
        elif name in _NUMBERS and isinstance(value, str) and value.isdecimal():
            out[name] = int(value)
        elif name == "ref" and isinstance(value, str):
            out["$ref"] = value.replace("#/defs/", "#/$defs/", 1)
        else:
            out[_NAMES.get(name, name)] = _children(name, value, _from_proto)
    return _made_nullable(out) if nullable else out


def _made_nullable(node: dict[str, Any]) -> dict[str, Any]:
    """Null as one of the types or of the alternatives; `nullable` stays if there are neither."""
    kind, choices = node.get("type"), node.get("anyOf")
    if isinstance(kind, str):
        if kind != "null":
            node["type"] = [kind, "null"]
        if isinstance(node.get("enum"), list) and None not in node["enum"]:
            node["enum"] = [*node["enum"], None]
    elif isinstance(choices, list) and choices:
        if _NULL not in choices:
            node["anyOf"] = [*choices, _NULL]
    else:
        node["nullable"] = True
    return node


def _children(name: str, value: Any, walk: Walk) -> Any:
    """The schemas inside a keyword. A property may be named like a keyword, so only these places are walked."""
    if name in ("properties", "defs", "$defs") and isinstance(value, dict):
        return {key: walk(child) for key, child in value.items()}
    if name == "anyOf" and isinstance(value, list):
        return [walk(child) for child in value]
    if name in ("items", "additionalProperties"):
        return walk(value)
    return value


def _to_proto(node: Any) -> Any:
    if not isinstance(node, dict):
        return node
    out: dict[str, Any] = {}
    key: str
    for key, value in node.items():
        if key == "type":
            _proto_type(value, out)
        elif key == "enum" and isinstance(value, list) and isinstance(node.get("type"), list):
            out[key] = _without_last(None, value)
        elif key == "anyOf" and isinstance(value, list):
            _proto_choices(value, out)
        elif key == "$ref" and isinstance(value, str):
            out["ref"] = value.replace("#/$defs/", "#/defs/", 1)
        else:
            out[_PROTO_NAMES.get(key, key)] = _children(key, value, _to_proto)
    return out


def _proto_type(value: Any, out: dict[str, Any]) -> None:
    match value:
        case str():
            out["type"] = value.upper()
        case [str() as kind, "null"]:
            out["type"] = kind.upper()
            out["nullable"] = True
        case list():
            out["type"] = [kind.upper() if isinstance(kind, str) else kind for kind in value]
        case _:
            out["type"] = value


def _proto_choices(choices: list[Any], out: dict[str, Any]) -> None:
    kept = _without_last(_NULL, choices)
    if len(kept) < len(choices):
        out["nullable"] = True
    out["anyOf"] = [_to_proto(choice) for choice in kept]


def _without_last(unwanted: Any, values: list[Any]) -> list[Any]:
    """The values without the last one, if `_made_nullable` has added it."""
    kept = values[:-1]
    return kept if kept and values[-1] == unwanted and unwanted not in kept else values
