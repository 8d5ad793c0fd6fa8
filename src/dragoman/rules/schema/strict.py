"""Strict mode, both ways.

In a strict schema an object is closed and every property is required; what was optional may be null instead. The way
back turns "required but may be null" into "optional". Going there and back gives the schema again, unless it had
optional properties that may be null too.
"""

from __future__ import annotations

from typing import Any

import msgspec

from .compiled import Compiled, SchemaNote
from .compiler import MAX_NESTING, compile_schema, nesting
from .forms import OPENAI_STRICT
from .type_keyword import OUTSIDE, allows_null
from .vocabulary import LISTS, MAPS, SINGLES, Schema, child, is_null, kinds, listing, mapping, names, without


def to_strict(schema: bytes) -> Compiled:
    """The schema with every field required, optional ones nullable, and closed to others."""
    return compile_schema(schema, OPENAI_STRICT)


def from_strict(schema: bytes) -> Compiled:
    """A strict schema in everyday terms: nullable fields optional, no `additionalProperties: false`."""
    try:
        value = msgspec.json.decode(schema) if nesting(schema) <= MAX_NESTING else None
    except (msgspec.DecodeError, UnicodeDecodeError):
        return Compiled(schema)
    notes: list[SchemaNote] = []
    relaxed = _relaxed(value, "", notes)
    return Compiled(msgspec.json.encode(relaxed), tuple(notes)) if notes else Compiled(schema)


def _relaxed(node: Any, at: str, notes: list[SchemaNote]) -> Any:
    if not isinstance(node, dict):
        return node
    if isinstance(node.get("properties"), dict) and node.get("additionalProperties") is False:
        node = _reopened(node, at, notes)
    return {key: _inside(key, value, child(at, key), notes) for key, value in node.items()}


def _inside(key: str, value: Any, at: str, notes: list[SchemaNote]) -> Any:
    if key in MAPS and isinstance(value, dict):
        return {name: _relaxed(each, child(at, name), notes) for name, each in value.items()}
    if key in LISTS and isinstance(value, list):
        return [_relaxed(each, child(at, index), notes) for index, each in enumerate(value)]
    return _relaxed(value, at, notes) if key in SINGLES else value


def _reopened(node: Schema, at: str, notes: list[SchemaNote]) -> Schema:
    fields, listed = mapping(node, "properties"), names(node)
    optional = {name for name, value in fields.items() if name in listed and allows_null(value) and not is_null(value)}
    out = without(node, "additionalProperties", "required")
    out["properties"] = {name: _not_null(each) if name in optional else each for name, each in fields.items()}
    needed = [name for name in listed if name not in optional]
    if needed:
        out["required"] = needed
    made = f", made {', '.join(sorted(optional))} optional" if optional else ""
    notes.append(SchemaNote(at, f"opened the object to other properties{made}"))
    return out


def _not_null(node: Any) -> Any:
    """The schema without null among its values."""
    if not isinstance(node, dict):
        return node
    out = without(node, "nullable")
    real = [kind for kind in kinds(node) if kind != "null"]
    if isinstance(node.get("type"), list) and real:
        out["type"] = real[0] if len(real) == 1 else real
    if None in listing(node, "enum"):
        out["enum"] = [value for value in node["enum"] if value is not None] or [None]
    options = [option for option in listing(node, "anyOf") if not is_null(option)]
    if not options:
        return out
    if len(options) == 1 and isinstance(options[0], dict):
        return _unwrapped(_merged(_not_null(options[0]), out))
    return {**out, "anyOf": options}


def _unwrapped(node: Schema) -> Schema:
    """A choice of one is that one."""
    options = listing(node, "anyOf")
    if len(options) != 1 or not isinstance(options[0], dict):
        return node
    return _unwrapped(_merged(options[0], node))


def _merged(option: Schema, node: Schema) -> Schema:
    """The only option, with what stands beside it. Annotations come last, as the way there would write them."""
    both = {**option, **without(node, "anyOf")}
    return {**without(both, *OUTSIDE), **{key: value for key, value in both.items() if key in OUTSIDE}}
