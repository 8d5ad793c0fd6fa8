"""Keys that stand twice in one object, at any depth: two readers may disagree about which of them counts."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from dragoman.wire.json_reader import readable, too_deep


class _Doubled(dict[str, Any]):
    """An object in which keys stand twice. Readers keep the last one."""

    keys_twice: tuple[str, ...] = ()


def duplicates(body: bytes) -> tuple[list[str], bytes]:
    """Pointers to the keys that stand twice, and the body with only the last of each.

    A body that is no JSON has none: its reader will say what is wrong with it.
    """
    if not body.strip():
        return [], body
    doubled: list[_Doubled] = []
    try:
        tree = json.loads(readable(body)[0], object_pairs_hook=lambda pairs: _object(pairs, doubled))
    except RecursionError:
        raise too_deep() from None
    except ValueError:
        return [], body
    if not doubled:
        return [], body
    return list(_pointers(tree, "")), json.dumps(tree, ensure_ascii=False, separators=(",", ":")).encode()


def _object(pairs: list[tuple[str, Any]], doubled: list[_Doubled]) -> dict[str, Any]:
    plain = dict(pairs)
    if len(plain) == len(pairs):
        return plain
    seen: set[str] = set()
    found = _Doubled(plain)
    found.keys_twice = tuple({key: None for key, _ in pairs if key in seen or seen.add(key)})  # type: ignore[func-returns-value]
    doubled.append(found)
    return found


def _pointers(tree: Any, at: str) -> Iterator[str]:
    if isinstance(tree, _Doubled):
        yield from (f"{at}/{escaped(key)}" for key in tree.keys_twice)
    items: Any = tree.items() if isinstance(tree, dict) else enumerate(tree) if isinstance(tree, list) else ()
    for key, value in items:
        yield from _pointers(value, f"{at}/{escaped(str(key))}")


def escaped(key: str) -> str:
    """A key as a step of a JSON pointer."""
    return key.replace("~", "~0").replace("/", "~1")
