"""All keys of the file as a table: path, type, default, meaning. The documentation is generated from it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import datetime
from enum import Enum
from functools import cache
from typing import Any

import msgspec
from msgspec import NODEFAULT, Struct, inspect

from dragoman.config.build import CONFIG, default_of
from dragoman.config.schema.config_file import Config
from dragoman.config.secret import Secret

ENTRY = "NAME"  # a name that the user chooses: providers.NAME.profile
ITEM = "[]"  # an item of a list: overrides[].match


class ReferenceRow(Struct, frozen=True):
    """One key of the file."""

    path: str
    type: str
    default: str
    meaning: str
    example: str = ""
    at_start: bool = False
    """Whether it is read once, and a reload keeps what runs."""


def reference() -> tuple[ReferenceRow, ...]:
    """All keys in the order of the schema, sections before their members."""
    return tuple(_inner_rows(CONFIG, ""))


@cache
def start_keys() -> tuple[str, ...]:
    """The paths of the keys that are read at the start."""
    return tuple([row.path for row in reference() if row.at_start])


def json_schema() -> dict[str, Any]:
    """A JSON Schema for editors. It describes each key, marks unknown ones, and allows `${VAR}` everywhere."""
    schema = msgspec.json.schema(Config, schema_hook=_secret_schema)
    for name, definition in schema["$defs"].items():
        definition["description"] = " ".join(definition.get("description", name).split())
        for key, value in definition.get("properties", {}).items():
            definition["properties"][key] = _or_variable(value)
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "dragoman.yaml",
        **schema,
    }


def _secret_schema(cls: type) -> dict[str, Any]:
    if cls is Secret:
        return {"type": "string"}
    raise NotImplementedError(cls)


def _or_variable(schema: dict[str, Any]) -> dict[str, Any]:
    """A number or boolean may also be written as `${VAR}`."""
    if schema.get("type") not in ("integer", "number", "boolean"):
        return schema
    about: dict[str, Any] = {key: schema.pop(key) for key in ("description", "examples", "default") if key in schema}
    return {**about, "anyOf": [schema, {"type": "string", "pattern": r"^\$\{.*\}$"}]}


def _rows(struct: inspect.StructType, path: str) -> Iterator[ReferenceRow]:
    for field in struct.fields:
        here = f"{path}.{field.encode_name}" if path else field.encode_name
        about = field.type.extra_json_schema or {} if isinstance(field.type, inspect.Metadata) else {}
        inner = strip_bounds(field.type)
        examples = about.get("examples", [])
        yield ReferenceRow(
            here,
            type_name(inner),
            _default_text(field, inner),
            about.get("description", ""),
            _text(examples[0]) if examples else "",
            isinstance(field.type, inspect.Metadata) and "at_start" in (field.type.extra or {}),
        )
        yield from _inner_rows(inner, here)


def _inner_rows(kind: inspect.Type, path: str) -> Iterator[ReferenceRow]:
    if isinstance(kind, inspect.StructType):
        yield from _rows(kind, path)
    elif isinstance(kind, inspect.UnionType):
        for choice in kind.types:
            yield from _inner_rows(strip_bounds(choice), path)
    elif isinstance(kind, inspect.VarTupleType):
        yield from _inner_rows(strip_bounds(kind.item_type), f"{path}{ITEM}")
    elif isinstance(kind, inspect.DictType):
        yield from _inner_rows(strip_bounds(kind.value_type), f"{path}.{ENTRY}")


def strip_bounds(kind: inspect.Type) -> inspect.Type:
    """A type without its `Meta`."""
    while isinstance(kind, inspect.Metadata):
        kind = kind.type
    return kind


NAMES: dict[type, str] = {
    inspect.StrType: "text",
    inspect.CustomType: "secret",
    inspect.IntType: "whole number",
    inspect.FloatType: "number",
    inspect.BoolType: "true or false",
    inspect.DateTimeType: "date or time",
    inspect.AnyType: "anything",
    inspect.NoneType: "null",
    inspect.StructType: "section",
}


def type_name(kind: inspect.Type) -> str:
    """The name of a type, for readers."""
    kind = strip_bounds(kind)
    if isinstance(kind, inspect.EnumType):
        return " \u00b7 ".join(f"`{member.value}`" for member in kind.cls)
    if isinstance(kind, inspect.UnionType):
        return " or ".join(type_name(t) for t in kind.types if not isinstance(t, inspect.NoneType))
    if isinstance(kind, inspect.VarTupleType):
        return f"list of {type_name(kind.item_type)}"
    if isinstance(kind, inspect.DictType):
        return f"name → {type_name(kind.value_type)}"
    return NAMES[type(kind)]


def _default_text(field: inspect.Field, kind: inspect.Type) -> str:
    if field.required:
        return "required"
    if isinstance(kind, inspect.StructType):
        return ""
    default = default_of(field)
    return "" if default is NODEFAULT or default in (None, (), {}) else _text(default)


def _text(value: Any) -> str:
    """A value as YAML on one line. JSON is YAML."""
    if isinstance(value, str) and not isinstance(value, Enum):
        return json.dumps(value, ensure_ascii=False)
    return plain_text(value)


def plain_text(value: Any) -> str:
    """A value as JSON; an enum member as its bare value."""
    if isinstance(value, Enum):
        return str(value.value)
    if isinstance(value, datetime):
        return value.isoformat()
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return json.dumps(value, ensure_ascii=False, default=str)
