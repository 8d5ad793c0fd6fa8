"""Typed values from a YAML tree, with all problems collected.

The builder follows the types of the schema, so every key of the schema is checked. It continues after a problem: a user
who makes three mistakes gets three messages.
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
from dragoman.config.schema.config_file import Config
from dragoman.config.schema.keys import ClientKey
from dragoman.config.secret import Secret, is_secret_name
from dragoman.config.variables import resolve_scalar
from dragoman.config.yaml_tree import Node
from dragoman.errors import near_match

Origins = dict[str, Node]
CONFIG = inspect.type_info(Config)
FOREIGN_KEYS = {
    "model_list": "A file of LiteLLM is translated by `dragoman import litellm`",
    "llms": "A file of LazyRouter is translated by `dragoman import lazyrouter`",
}


class _Invalid:
    """Marks a value that could not be built."""


INVALID = _Invalid()


def kind_of(value: object) -> str:
    """The kind of a value, as messages name it."""
    kinds = {
        bool: "true or false",
        int: "a number",
        float: "a number",
        str: "a text",
        dict: "a mapping",
        list: "a list",
    }
    return kinds.get(type(value), "nothing")


def quote(value: object) -> str:
    """A value as messages show it: texts in quotes and shortened, collections by their kind."""
    if isinstance(value, str):
        return f'"{value if len(value) <= 60 else value[:57] + "…"}"'
    if isinstance(value, dict | list):
        return kind_of(value)
    if value is None:
        return "null"
    return str(value).lower() if isinstance(value, bool) else str(value)


def join_path(path: str, key: str) -> str:
    """`providers.fast`. A key with a dot or a space is quoted: `models."gpt-4.1"`."""
    step = key if re.fullmatch(r"[A-Za-z0-9_-]+", key) else f'"{key}"'
    return f"{path}.{step}" if path else step


class Builder:
    """Builds values of the schema, and collects `problems` and the `origins` of values."""

    def __init__(self, file: str) -> None:
        self.file = file
        self.problems: list[Problem] = []
        self.origins: Origins = {}
        self.dropped: set[str] = set()
        """Names of entries that could not be built. What refers to them is right."""
        self.incomplete = False
        """A whole section could not be built: what refers to it cannot be checked."""

    def refuse(self, message: str, node: Node) -> _Invalid:
        self.problems.append(Problem(message, self.file, node.line))
        return INVALID

    def build(self, expected: inspect.Type, node: Node, path: str) -> Any:
        while isinstance(expected, inspect.Metadata):
            expected = expected.type
        return BUILDERS[type(expected)](self, expected, node, path)

    def leaf(self, node: Node, path: str, value: Any) -> Any:
        self.origins[path] = node
        return value

    def wrong_type(self, node: Node, path: str, expected: str) -> _Invalid:
        hint = (
            " Put it in quotes."
            if expected == "a text" and kind_of(node.value) in ("a number", "true or false")
            else ""
        )
        return self.refuse(f"{path or 'the file'} is {self.quoted(node, path)}; it must be {expected}.{hint}", node)

    def quoted(self, node: Node, path: str) -> str:
        """A value as messages may show it. A secret or a value from the environment is not shown."""
        if node.variables and node.value is None:
            return f"${{{node.variables[0]}}}, which is not set"
        if node.variables:
            return f"the value of ${{{node.variables[0]}}}"
        last = re.split(r"[.\[]", path)[-1 if not path.endswith("]") else -2]
        return kind_of(node.value) if is_secret_name(last) else quote(node.value)


def _struct(b: Builder, expected: inspect.StructType, node: Node, path: str) -> Any:
    if node.value is None:
        node = Node({}, node.line)
    if node.value is False and any(field.name == "enabled" for field in expected.fields):  # `state: off`
        node = Node({"enabled": Node(False, node.line)}, node.line)
    if not isinstance(node.value, dict):
        return b.wrong_type(node, path, "a mapping")
    b.origins[path] = node
    fields = {field.encode_name: field for field in expected.fields}
    values: dict[str, Any] = {}
    for key, value in node.value.items():
        if key not in fields:
            _refuse_unknown(b, expected, value, key, path=path, known=fields)
            b.incomplete = b.incomplete or not path
            continue
        field = fields[key]
        if value.value is None and not field.required and not _takes_null(field.type):
            continue  # `key:` without a value, or an unset variable: use the default
        values[field.name] = b.build(field.type, value, join_path(path, key))
    missing = [key for key, field in fields.items() if field.required and key not in node.value]
    for key in missing:
        b.refuse(f"{join_path(path, key)} is missing", node)
    invalid = [name for name, value in values.items() if value is INVALID]
    b.incomplete = b.incomplete or bool(invalid and not path)
    if missing or any(field.required and field.name in invalid for field in fields.values()):
        return INVALID
    return expected.cls(**{name: value for name, value in values.items() if name not in invalid})


def _refuse_unknown(
    b: Builder, expected: inspect.StructType, node: Node, key: str, *, path: str, known: dict[str, Any]
) -> None:
    if expected.cls is ClientKey and key in PLAIN_KEY_NAMES and isinstance(node.value, str):
        b.refuse(f"{join_path(path, key)} is a key in plain text; {hash_hint(node.value)}", node)
        return
    hint = FOREIGN_KEYS.get(join_path(path, key)) or near_match(key, known)
    b.refuse(f"{join_path(path, key)} is not a known key. {hint}", node)


def _takes_null(expected: inspect.Type) -> bool:
    while isinstance(expected, inspect.Metadata):
        expected = expected.type
    return isinstance(expected, inspect.UnionType) and expected.includes_none


def _mapping(b: Builder, expected: inspect.DictType, node: Node, path: str) -> Any:
    if node.value is None:
        return {}
    if not isinstance(node.value, dict):
        return b.wrong_type(node, path, "a mapping")
    texts = isinstance(expected.value_type, inspect.StrType)
    # A text that is only an unset variable is skipped, as in a list: a header without its value is not sent.
    given = {key: value for key, value in node.value.items() if not (texts and value.value is None and value.variables)}
    built = {key: b.build(expected.value_type, value, join_path(path, key)) for key, value in given.items()}
    b.dropped |= {key for key, value in built.items() if value is INVALID}
    return b.leaf(node, path, {key: value for key, value in built.items() if value is not INVALID})


def _sequence(b: Builder, expected: inspect.VarTupleType, node: Node, path: str) -> Any:
    if not isinstance(node.value, list):
        return b.wrong_type(node, path, "a list")
    # An unset variable is skipped: a list of two keys of which one is set is a list of one.
    items = [item for item in node.value if not (item.value is None and item.variables)]
    built = tuple(b.build(expected.item_type, item, f"{path}[{i}]") for i, item in enumerate(items))
    return b.leaf(node, path, tuple([value for value in built if value is not INVALID]))


def _union(b: Builder, expected: inspect.UnionType, node: Node, path: str) -> Any:
    if node.value is None and expected.includes_none:
        return b.leaf(node, path, None)
    options = [option for option in expected.types if not isinstance(option, inspect.NoneType)]
    mapping = [option for option in options if isinstance(option, inspect.DictType)]
    scalar = [option for option in options if not isinstance(option, inspect.DictType)]
    if mapping and isinstance(node.value, bool):
        node = replace(node, value=node.text)  # a rule may have an option `on`, which YAML parses as true
    chosen = mapping if mapping and isinstance(node.value, dict) else scalar
    return b.build(chosen[0], node, path)


def _text(b: Builder, expected: inspect.StrType, node: Node, path: str) -> Any:
    value = node.text if node.variables and node.text is not None else node.value
    return b.leaf(node, path, value) if isinstance(value, str) else b.wrong_type(node, path, "a text")


def _secret(b: Builder, expected: inspect.CustomType, node: Node, path: str) -> Any:
    value = node.text if node.variables and node.text is not None else node.value
    if not isinstance(value, str):
        return b.wrong_type(node, path, "a text")
    return b.leaf(node, path, Secret(value.strip()))


def _number(b: Builder, expected: inspect.IntType | inspect.FloatType, node: Node, path: str) -> Any:
    whole_number = isinstance(expected, inspect.IntType)
    value = _unquote(node)
    numeric = isinstance(value, int | float) and not isinstance(value, bool) and abs(value) < float("inf")  # nor NaN
    if not numeric or (whole_number and isinstance(value, float)) or not _in_range(expected, value):
        return b.wrong_type(node, path, f"a {'whole ' if whole_number else ''}number{_range(expected)}")
    return b.leaf(node, path, value if whole_number else float(value))


def _in_range(expected: inspect.IntType | inspect.FloatType, value: float) -> bool:
    return not (
        (expected.ge is not None and value < expected.ge)
        or (expected.gt is not None and value <= expected.gt)
        or (expected.le is not None and value > expected.le)
        or (expected.lt is not None and value >= expected.lt)
    )


def _range(expected: inspect.IntType | inspect.FloatType) -> str:
    if expected.ge is not None and expected.le is not None:
        return f" from {expected.ge} to {expected.le}"
    low = f" of {expected.ge} or more" if expected.ge is not None else ""
    low = f" above {expected.gt}" if expected.gt is not None else low
    high = f" up to {expected.le}" if expected.le is not None else ""
    high = f" below {expected.lt}" if expected.lt is not None else high
    return f"{low} and{high}" if low and high else low + high


def _flag(b: Builder, expected: inspect.BoolType, node: Node, path: str) -> Any:
    value = _unquote(node)
    return b.leaf(node, path, value) if isinstance(value, bool) else b.wrong_type(node, path, "true or false")


def _unquote(node: Node) -> Any:
    """The value of `"${PORT}"`, which may be a number although it is quoted: inside `{ }` YAML requires quotes."""
    return resolve_scalar(node.text) if node.variables and node.text is not None else node.value


def _choice(b: Builder, expected: inspect.EnumType, node: Node, path: str) -> Any:
    names = [str(member.value) for member in expected.cls]
    if isinstance(node.value, str) and node.value in names:
        return b.leaf(node, path, expected.cls(node.value))
    return b.refuse(f"{path} is {b.quoted(node, path)}. {near_match(str(node.value), names)}", node)


def _time(b: Builder, expected: inspect.DateTimeType, node: Node, path: str) -> Any:
    try:
        when = datetime.fromisoformat(node.value)
    except (TypeError, ValueError):
        return b.wrong_type(node, path, "a date (2030-01-01) or a time (2030-01-01T12:00:00Z)")
    return b.leaf(node, path, when if when.tzinfo else when.replace(tzinfo=UTC))


def _anything(b: Builder, expected: inspect.AnyType, node: Node, path: str) -> Any:
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
    """The typed configuration, or None if there is none. What the builder has problems with is left out of it."""
    builder = Builder(file)
    built = builder.build(CONFIG, root, "")
    return (None if built is INVALID else built), builder


def default_of(field: inspect.Field) -> Any:
    """The default of a field; a factory is called."""
    if field.default is not NODEFAULT:
        return field.default
    return field.default_factory() if field.default_factory is not NODEFAULT else NODEFAULT
