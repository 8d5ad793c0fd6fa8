"""The effective configuration: every value, where it comes from, and no secret."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import msgspec
from msgspec import Struct

from dragoman.config.build import child
from dragoman.config.load import Loaded
from dragoman.config.reference import plain_text
from dragoman.config.secret import Secret, is_secret_name, masked

PLAIN = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_./-]*")
NOT_TEXT = re.compile(r"(?i)null|true|false|yes|no|on|off|y|n|~|[\d._]+")


class Value(Struct, frozen=True):
    """One effective value, fit to be seen."""

    path: str
    key: str
    depth: int
    text: str
    origin: str


def effective(loaded: Loaded) -> tuple[Value, ...]:
    """All values in the order of the schema; sections have no text of their own."""
    return tuple(_members(loaded.config, "", 0, loaded))


def as_yaml(loaded: Loaded) -> str:
    """YAML with each value's origin as a comment."""
    lines = [(f"{'  ' * v.depth}{_key(v.key)}:{' ' + v.text if v.text else ''}", v.origin) for v in effective(loaded)]
    width = min(64, max((len(line) for line, origin in lines if origin), default=0))
    return "\n".join(f"{line:<{width}}  # {origin}" if origin else line for line, origin in lines) + "\n"


def _key(key: str) -> str:
    return key if PLAIN.fullmatch(key) and not NOT_TEXT.fullmatch(key) else plain_text(key)


def _members(value: Any, path: str, depth: int, loaded: Loaded) -> Iterator[Value]:
    for key, member in _items(value):
        here = child(path, key)
        if isinstance(member, Struct) or (isinstance(member, dict) and member and _holds_structs(member)):
            yield Value(here, key, depth, "", "")
            yield from _members(member, here, depth + 1, loaded)
        else:
            yield Value(here, key, depth, _seen(member, key), _origin(here, loaded))


def _items(value: Any) -> Iterator[tuple[str, Any]]:
    if isinstance(value, dict):
        yield from value.items()
    else:
        yield from ((name, getattr(value, name)) for name in value.__struct_fields__)


def _holds_structs(value: dict[str, Any]) -> bool:
    return any(isinstance(member, Struct) for member in value.values())


def _seen(value: Any, key: str) -> str:
    return plain_text(_safe(value, key))


def _safe(value: Any, key: str) -> Any:
    """The value with secrets masked: keys by their type, headers and options by their name."""
    if isinstance(value, Secret):
        return str(value)
    if isinstance(value, dict):
        return {name: _safe(member, name) for name, member in value.items()}
    if isinstance(value, list | tuple):
        return [_safe(member, key) for member in value]
    if isinstance(value, str) and is_secret_name(key):
        return masked(value)
    return value


def _origin(path: str, loaded: Loaded) -> str:
    origins = loaded.origins
    if path in origins:
        return origins[path]
    inner = [origin for other, origin in origins.items() if other.startswith((f"{path}.", f"{path}["))]
    return inner[0] if inner else "default"


def as_plain(loaded: Loaded) -> dict[str, Any]:
    """The same as data: path → value and origin."""
    return {
        value.path: {"value": msgspec.yaml.decode(value.text.encode()) if value.text else None, "origin": value.origin}
        for value in effective(loaded)
        if value.origin
    }
