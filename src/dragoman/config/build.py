"""From a tree to typed values, with every problem found on the way.

The walk follows the schema's own types, so a key that is added there is checked here. A problem does not end it:
a user who made three mistakes is told of three.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

from msgspec import NODEFAULT, inspect

from dragoman.config.client_keys import PLAIN_KEY_NAMES, hash_hint
from dragoman.config.errors import Problem
from dragoman.config.schema import Config, Key
from dragoman.config.secret import Secret, is_secret_name
from dragoman.config.variables import resolved
from dragoman.config.yaml_tree import Node
from dragoman.errors import near_match

Origins = dict[str, Node]
CONFIG = inspect.type_info(Config)


class _Bad:
    """Stands for a value that could not be made."""


BAD = _Bad()


def kind_of(value: object) -> str:
    """A value's kind in the words of this file's messages."""
    kinds = {bool: "a yes or no", int: "a number", float: "a number", str: "a text", dict: "a mapping", list: "a list"}
    return kinds.get(type(value), "nothing")


def shown(value: object) -> str:
    """A value as a message quotes it: texts in quotes, long ones cut, collections by their kind."""
    if isinstance(value, str):
        return f'"{value if len(value) <= 60 else value[:57] + "…"}"'
    if isinstance(value, dict | list):
        return kind_of(value)
    return {True: "true", False: "false", None: "null"}.get(value, str(value))  # type: ignore[call-overload, no-any-return]


def child(path: str, key: str) -> str:
    """`providers.fast`; a key with a dot or a space in it is quoted: `models."gpt-4.1"`."""
    step = key if re.fullmatch(r"[A-Za-z0-9_-]+", key) else f'"{key}"'
    return f"{path}.{step}" if path else step


class Builder:
    """Builds values of the schema; `problems` and `origins` are its findings."""

    def __init__(self, file: str) -> None:
        self.file = file
        self.problems: list[Problem] = []
        self.origins: Origins = {}

    def refuse(self, says: str, node: Node) -> _Bad:
        self.problems.append(Problem(says, self.file, node.line))
        return BAD

    def build(self, wanted: inspect.Type, node: Node, path: str) -> Any:
        while isinstance(wanted, inspect.Metadata):
            wanted = wanted.type
        return BUILDERS[type(wanted)](self, wanted, node, path)

    def leaf(self, node: Node, path: str, value: Any) -> Any:
        self.origins[path] = node
        return value

    def wrong(self, node: Node, path: str, wants: str) -> _Bad:
        hint = " Put it in quotes." if wants == "a text" and kind_of(node.value) in ("a number", "a yes or no") else ""
        return self.refuse(f"{path or 'the file'} is {self.quoted(node, path)}; it must be {wants}.{hint}", node)

    def quoted(self, node: Node, path: str) -> str:
        """A value as a message may show it: what came from the environment or is a secret, only by its kind."""
        if node.variables:
            return f"what ${{{node.variables[0]}}} holds"
        last = re.split(r"[.\[]", path)[-1 if not path.endswith("]") else -2]
        return kind_of(node.value) if is_secret_name(last) else shown(node.value)


def _struct(b: Builder, wanted: inspect.StructType, node: Node, path: str) -> Any:
    if node.value is None:
        node = Node({}, node.line)
    if not isinstance(node.value, dict):
        return b.wrong(node, path, "a mapping")
    b.origins[path] = node
    fields = {field.encode_name: field for field in wanted.fields}
    values: dict[str, Any] = {}
    for key, value in node.value.items():
        if key not in fields:
            _unknown(b, wanted, value, path, key, fields)
            continue
        field = fields[key]
        if value.value is None and not field.required and not _takes_null(field.type):
            continue  # `key:` with nothing behind it, or an unset variable: the default
        values[field.name] = b.build(field.type, value, child(path, key))
    missing = [key for key, field in fields.items() if field.required and key not in node.value]
    for key in missing:
        b.refuse(f"{child(path, key)} is missing", node)
    if missing or any(value is BAD for value in values.values()):
        return BAD
    return wanted.cls(**values)


def _unknown(b: Builder, wanted: inspect.StructType, node: Node, path: str, key: str, fields: dict[str, Any]) -> None:
    if wanted.cls is Key and key in PLAIN_KEY_NAMES and isinstance(node.value, str):
        b.refuse(f"{child(path, key)} is a key in plain text; {hash_hint(node.value)}", node)
        return
    b.refuse(f"{child(path, key)} is not a key; {near_match(key, fields)}", node)


def _takes_null(wanted: inspect.Type) -> bool:
    while isinstance(wanted, inspect.Metadata):
        wanted = wanted.type
    return isinstance(wanted, inspect.UnionType) and wanted.includes_none


def _mapping(b: Builder, wanted: inspect.DictType, node: Node, path: str) -> Any:
    if node.value is None:
        return {}
    if not isinstance(node.value, dict):
        return b.wrong(node, path, "a mapping")
    built = {key: b.build(wanted.value_type, value, child(path, key)) for key, value in node.value.items()}
    return BAD if any(value is BAD for value in built.values()) else b.leaf(node, path, built)


def _sequence(b: Builder, wanted: inspect.VarTupleType, node: Node, path: str) -> Any:
    if not isinstance(node.value, list):
        return b.wrong(node, path, "a list")
    # An unset variable leaves no hole: a pool of two keys of which one is set is a pool of one.
    items = [item for item in node.value if not (item.value is None and item.variables)]
    built = tuple(b.build(wanted.item_type, item, f"{path}[{i}]") for i, item in enumerate(items))
    return BAD if any(value is BAD for value in built) else b.leaf(node, path, built)


def _union(b: Builder, wanted: inspect.UnionType, node: Node, path: str) -> Any:
    if node.value is None and wanted.includes_none:
        return b.leaf(node, path, None)
    options = [option for option in wanted.types if not isinstance(option, inspect.NoneType)]
    mapping = [option for option in options if isinstance(option, inspect.DictType)]
    scalar = [option for option in options if not isinstance(option, inspect.DictType)]
    if mapping and isinstance(node.value, bool):
        node = replace(node, value=node.text)  # a rule's option may be called `on`, which YAML takes for true
    chosen = mapping if mapping and isinstance(node.value, dict) else scalar
    return b.build(chosen[0], node, path)


def _text(b: Builder, wanted: inspect.StrType, node: Node, path: str) -> Any:
    value = node.text if node.variables and node.text is not None else node.value
    return b.leaf(node, path, value) if isinstance(value, str) else b.wrong(node, path, "a text")


def _secret(b: Builder, wanted: inspect.CustomType, node: Node, path: str) -> Any:
    value = node.text if node.variables and node.text is not None else node.value
    if not isinstance(value, str):
        return b.wrong(node, path, "a text")
    return b.leaf(node, path, Secret(value.strip()))


def _number(b: Builder, wanted: inspect.IntType | inspect.FloatType, node: Node, path: str) -> Any:
    whole = isinstance(wanted, inspect.IntType)
    value = _unquoted(node)
    numeric = isinstance(value, int | float) and not isinstance(value, bool) and abs(value) < float("inf")  # nor NaN
    if not numeric or (whole and isinstance(value, float)) or not _in_range(wanted, value):
        return b.wrong(node, path, f"a {'whole ' if whole else ''}number{_range(wanted)}")
    return b.leaf(node, path, value if whole else float(value))


def _in_range(wanted: inspect.IntType | inspect.FloatType, value: float) -> bool:
    return not (
        (wanted.ge is not None and value < wanted.ge)
        or (wanted.gt is not None and value <= wanted.gt)
        or (wanted.le is not None and value > wanted.le)
    )


def _range(wanted: inspect.IntType | inspect.FloatType) -> str:
    low = (
        f" of {wanted.ge} or more" if wanted.ge is not None else f" above {wanted.gt}" if wanted.gt is not None else ""
    )
    return f" from {wanted.ge} to {wanted.le}" if wanted.le is not None else low


def _flag(b: Builder, wanted: inspect.BoolType, node: Node, path: str) -> Any:
    value = _unquoted(node)
    return b.leaf(node, path, value) if isinstance(value, bool) else b.wrong(node, path, "true or false")


def _unquoted(node: Node) -> Any:
    """`"${PORT}"` may be a number although it is quoted: inside `{ }` YAML demands the quotes."""
    return resolved(node.text) if node.variables and node.text is not None else node.value


def _choice(b: Builder, wanted: inspect.EnumType, node: Node, path: str) -> Any:
    names = [str(member.value) for member in wanted.cls]
    if isinstance(node.value, str) and node.value in names:
        return b.leaf(node, path, wanted.cls(node.value))
    return b.refuse(f"{path} is {b.quoted(node, path)}; {near_match(str(node.value), names)}", node)


def _time(b: Builder, wanted: inspect.DateTimeType, node: Node, path: str) -> Any:
    try:
        when = datetime.fromisoformat(node.value)
    except (TypeError, ValueError):
        return b.wrong(node, path, "a date (2030-01-01) or a time (2030-01-01T12:00:00Z)")
    return b.leaf(node, path, when if when.tzinfo else when.replace(tzinfo=UTC))


def _anything(b: Builder, wanted: inspect.AnyType, node: Node, path: str) -> Any:
    return b.leaf(node, path, node.plain())


BUILDERS: dict[type, Callable[[Builder, Any, Node, str], Any]] = {
    inspect.StructType: _struct,
    inspect.DictType: _mapping,
    inspect.VarTupleType: _sequence,
    inspect.UnionType: _union,
    inspect.StrType: _text,
    inspect.CustomType: _secret,
    inspect.IntType: _number,
    inspect.FloatType: _number,
    inspect.BoolType: _flag,
    inspect.EnumType: _choice,
    inspect.DateTimeType: _time,
    inspect.AnyType: _anything,
}


def build_config(root: Node, file: str) -> tuple[Config | None, Builder]:
    """The typed configuration, or None when the builder has problems."""
    builder = Builder(file)
    built = builder.build(CONFIG, root, "")
    return (None if builder.problems else built), builder


def default_of(field: inspect.Field) -> Any:
    """A field's default, made if it is made by a factory."""
    if field.default is not NODEFAULT:
        return field.default
    return field.default_factory() if field.default_factory is not NODEFAULT else NODEFAULT
