"""What the usage of OpenAI's two dialects has in common: counts, and counts inside details."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from dragoman.conversation.parts import Extras, Json
from dragoman.dialects.parsing import extras_of
from dragoman.dialects.raw_json import encode

_LARGEST = 2**53


def count_in(usage: Mapping[str, Any], key: str) -> int:
    """A count; 0 where the value cannot be one."""
    found = usage.get(key)
    return int(found) if isinstance(found, (int, float)) and 0 <= found < _LARGEST else 0


def details_in(usage: Mapping[str, Any], key: str) -> dict[str, Any]:
    found = usage.get(key)
    return found if isinstance(found, dict) else {}


def other_counts(
    usage: Mapping[str, Any], known: frozenset[str], details: Mapping[str, tuple[str, ...]], dialect: str
) -> Extras | None:
    """What the usage says besides the counts that we know: costs, times, tokens of sounds and pictures."""
    fields: dict[str, Json] = {}
    for key, value in usage.items():
        if key in details:
            others = {name: count for name, count in details_in(usage, key).items() if name not in details[key]}
            if others:
                fields[key] = encode(others)
        elif key not in known and value is not None:
            fields[key] = encode(value)
    return extras_of(dialect, fields)
