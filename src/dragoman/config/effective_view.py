"""The effective configuration: every value with its origin, secrets masked."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import msgspec
from msgspec import Struct

from dragoman.config.build import join_path
from dragoman.config.load import Loaded
from dragoman.config.reference import plain_text
from dragoman.config.secret import Secret, is_secret_name, mask

PLAIN = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_./-]*")
NOT_TEXT = re.compile(r"(?i)null|true|false|yes|no|on|off|y|n|~|[\d._]+")


class EffectiveValue(Struct, frozen=True):
    """One effective value, with secrets masked."""

    path: str
    key: str
    depth: int
    text: str
    origin: str


def effective(loaded: Loaded) -> tuple[EffectiveValue, ...]:
    """All values in the order of the schema. Sections have no text."""
    return tuple(_members(loaded.config, "", 0, loaded))


def render_yaml(loaded: Loaded) -> str:
    """YAML, with the origin of each value as a comment."""
    lines = [(f"{'  ' * v.depth}{_key(v.key)}:{' ' + v.text if v.text else ''}", v.origin) for v in effective(loaded)]
    width = min(64, max((len(line) for line, origin in lines if origin), default=0))
    return "\n".join(f"{line:<{width}}  # {origin}" if origin else line for line, origin in lines) + "\n"


def _key(key: str) -> str:
    return key if PLAIN.fullmatch(key) and not NOT_TEXT.fullmatch(key) else plain_text(key)


def _members(value: Any, path: str, depth: int, loaded: Loaded) -> Iterator[EffectiveValue]:
    for key, member in _items(value):
        here = join_path(path, key)
        if isinstance(member, Struct) or (isinstance(member, dict) and member and _holds_structs(member)):
            yield EffectiveValue(here, key, depth, "", "")
            yield from _members(member, here, depth + 1, loaded)
        else:
            yield EffectiveValue(here, key, depth, plain_text(_safe(member, key)), _origin(here, loaded))


def _items(value: Any) -> Iterator[tuple[str, Any]]:
    if isinstance(value, dict):
        yield from value.items()
    else:
        yield from ((name, getattr(value, name)) for name in value.__struct_fields__)


def _holds_structs(value: dict[str, Any]) -> bool:
    return any(isinstance(member, Struct) for member in value.values())


def _safe(value: Any, key: str) -> Any:
    """The value with secrets masked: keys are known by their type, headers and options by their name."""
    if isinstance(value, Secret):
        return str(value)
    if isinstance(value, dict):
        return {name: _safe(member, name) for name, member in value.items()}
    if isinstance(value, list | tuple):
        return [_safe(member, key) for member in value]
    if isinstance(value, str) and is_secret_name(key):
        return mask(value)
    return value


def _origin(path: str, loaded: Loaded) -> str:
    origins = loaded.origins
    if path in origins:
        return origins[path]
    inner = [origin for other, origin in origins.items() if other.startswith((f"{path}.", f"{path}["))]
    return inner[0] if inner else "default"


def render_plain(loaded: Loaded) -> dict[str, Any]:
    """The effective configuration as a dict: path → value and origin."""
    return {
        value.path: {"value": msgspec.yaml.decode(value.text.encode()) if value.text else None, "origin": value.origin}
        for value in effective(loaded)
        if value.origin
    }
