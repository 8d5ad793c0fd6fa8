"""What the usage of OpenAI's two dialects has in common: counts, and counts inside details."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from dragoman.conversation.parts import Extras, Json
from dragoman.conversation.replies import token_count
from dragoman.dialects.shared.parsing import extras_of
from dragoman.dialects.shared.raw_json import encode


def count_in(usage: Mapping[str, Any], key: str) -> int:
    """A count within bounds; 0 if the value cannot be one."""
    return token_count(usage.get(key))


def details_in(usage: Mapping[str, Any], key: str) -> dict[str, Any]:
    found = usage.get(key)
    return found if isinstance(found, dict) else {}


def other_counts(
    usage: Mapping[str, Any], known: frozenset[str], details: Mapping[str, frozenset[str]], dialect: str
) -> Extras | None:
    """What the usage says in addition to the counts that we know: costs, times, tokens of sounds and pictures."""
    fields: dict[str, Json] = {}
    for key, value in usage.items():
        if key in details:
            found, read = details_in(usage, key), details[key]
            if not found.keys() <= read:
                fields[key] = encode({name: count for name, count in found.items() if name not in read})
        elif key not in known and value is not None:
            fields[key] = encode(value)
    return extras_of(dialect, fields)
