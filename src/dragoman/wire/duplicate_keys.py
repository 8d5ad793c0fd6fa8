"""Duplicate keys in JSON objects, at any depth. Two parsers may disagree about which one counts."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from dragoman.wire.json_pointers import escape
from dragoman.wire.json_reader import readable, too_deep


class _ObjectWithDuplicates(dict[str, Any]):
    """An object with duplicate keys. Parsers keep the last one."""

    duplicate_keys: tuple[str, ...] = ()


def find_duplicates(body: bytes) -> tuple[list[str], bytes]:
    """Pointers to duplicate keys, and the body with only the last of each.

    A body that is not JSON has none; its parser reports the error.
    """
    if not body.strip():
        return [], body
    found: list[_ObjectWithDuplicates] = []
    try:
        tree = json.loads(readable(body)[0], object_pairs_hook=lambda pairs: _object(pairs, found))
    except RecursionError:
        raise too_deep() from None
    except ValueError:
        return [], body
    if not found:
        return [], body
    return list(_pointers(tree, "")), json.dumps(tree, ensure_ascii=False, separators=(",", ":")).encode()


def _object(pairs: list[tuple[str, Any]], found: list[_ObjectWithDuplicates]) -> dict[str, Any]:
    plain = dict(pairs)
    if len(plain) == len(pairs):
        return plain
    seen: set[str] = set()
    result = _ObjectWithDuplicates(plain)
    result.duplicate_keys = tuple({key: None for key, _ in pairs if key in seen or seen.add(key)})  # type: ignore[func-returns-value]
    found.append(result)
    return result


def _pointers(tree: Any, at: str) -> Iterator[str]:
    if isinstance(tree, _ObjectWithDuplicates):
        yield from (f"{at}/{escape(key)}" for key in tree.duplicate_keys)
    items: Any = tree.items() if isinstance(tree, dict) else enumerate(tree) if isinstance(tree, list) else ()
    for key, value in items:
        yield from _pointers(value, f"{at}/{escape(str(key))}")
