"""A parser for protobuf's JSON, as strict and as lenient as the real one.

It accepts camelCase and snake_case, null for any field, one object in place of a list, numbers as text and enum values
in any case. It reports all unknown fields at once. The parsed message has one spelling: camelCase keys, no nulls, lists
where the field is a list, enum values in upper case.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Any

import orjson

from dragoman.emulators.signatures import decode_base64, is_masked

Table = dict[str, dict[str, str]]
_PREFIX = "Invalid JSON payload received. "


@dataclass(slots=True)
class ProtoJsonParser:
    """Parses messages by a table of fields, and collects all violations."""

    table: Table
    enums: dict[str, frozenset[str]]
    package: str
    violations: list[tuple[str, str]] = field(default_factory=list)

    def parse(self, message: str, value: dict[str, Any]) -> dict[str, Any]:
        """The body as a message of that type."""
        return self._message(message, value, "")

    def _message(self, message: str, value: dict[str, Any], at: str) -> dict[str, Any]:
        fields = self.table[message]
        parse: dict[str, Any] = {}
        for key, member in value.items():
            name = key if key in fields else camel(key)
            if name not in fields:
                self._unknown(key, at, "Cannot find field.")
            elif member is not None:
                parse[name] = self._field(fields[name], member, key, at)
        return parse

    def _field(self, kind: str, value: Any, key: str, at: str) -> Any:
        path = f"{at}.{snake(key)}" if at else snake(key)
        if kind.startswith("["):
            return self._list(kind[1:-1], value, path)
        if isinstance(value, list) and kind != "any":
            self._unknown(key, at, "Proto field is not repeating, cannot start list.")
            return None
        if kind.startswith("{"):
            return self._map(kind[1:-1], value, path)
        return self._single(kind, value, path)

    def _list(self, kind: str, value: Any, path: str) -> list[Any]:
        members = value if isinstance(value, list) else [value]
        return [self._single(kind, member, f"{path}[{i}]") for i, member in enumerate(members)]

    def _map(self, kind: str, value: Any, path: str) -> dict[str, Any]:
        if not isinstance(value, dict):
            self._invalid(path, "Map", value)
            return {}
        return {key: self._single(kind, member, f"{path}[{i}].value") for i, (key, member) in enumerate(value.items())}

    def _single(self, kind: str, value: Any, path: str) -> Any:
        if kind == "any":
            return value
        if kind == "struct":
            return self._struct(value, path)
        if kind in _SCALARS:
            return self._scalar(kind, value, path)
        if kind in self.enums:
            return self._enum(kind, value, path)
        if not isinstance(value, dict):
            self._invalid(path, f"type.googleapis.com/{self.package}.{kind}", value)
            return {}
        return self._message(kind, value, path)

    def _struct(self, value: Any, path: str) -> dict[str, Any]:
        if isinstance(value, dict):
            return value
        self._invalid(path, "type.googleapis.com/google.protobuf.Struct", value)
        return {}

    def _scalar(self, kind: str, value: Any, path: str) -> Any:
        if kind == "bytes" and isinstance(value, str) and not is_masked(value) and decode_base64(value) is None:
            self._violate(path, f"Invalid value at '{path}' (TYPE_BYTES), Base64 decoding failed for \"{value[:40]}\"")
        elif not _fits(kind, value):
            self._invalid(path, _SCALARS[kind], value)
            return None
        return float(value) if kind in ("int", "float") else value

    def _enum(self, kind: str, value: Any, path: str) -> Any:
        if isinstance(value, int) and not isinstance(value, bool):
            return value
        if isinstance(value, str) and value.upper() in self.enums[kind]:
            return value.upper()
        self._invalid(path, f"type.googleapis.com/{self.package}.{kind}", value)
        return None

    def _unknown(self, key: str, at: str, reason: str) -> None:
        place = f" at '{at}'" if at else ""
        self._violate(at, f'{_PREFIX}Unknown name "{key}"{place}: {reason}')

    def _invalid(self, path: str, kind: str, value: Any) -> None:
        self._violate(path, f"Invalid value at '{path}' ({kind}), {orjson.dumps(value).decode()[:200]}")

    def _violate(self, at: str, sentence: str) -> None:
        self.violations.append((at, sentence))


_SCALARS = {
    "string": "TYPE_STRING",
    "bool": "TYPE_BOOL",
    "int": "TYPE_INT32",
    "float": "TYPE_FLOAT",
    "bytes": "TYPE_BYTES",
}


def _fits(kind: str, value: Any) -> bool:
    if kind in ("string", "bytes"):
        return isinstance(value, str)
    if kind == "bool":
        return isinstance(value, bool)
    if isinstance(value, str):
        return re.fullmatch(r"-?\d+(\.\d+)?([eE][+-]?\d+)?", value) is not None
    if isinstance(value, bool) or not isinstance(value, int | float):
        return False
    return kind == "float" or float(value).is_integer()


def camel(name: str) -> str:
    """`thought_signature` → `thoughtSignature`."""
    head, *tail = name.split("_")
    return head + "".join(word[:1].upper() + word[1:] for word in tail)


def snake(name: str) -> str:
    """`thoughtSignature` → `thought_signature`, the spelling of paths in Google's sentences."""
    return re.sub(r"(?<=[a-z0-9])([A-Z])", lambda found: "_" + found[1].lower(), name)
