"""Arguments of a call, between a tool's own property names and those the target was given."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec


def rename_arguments(arguments: bytes, names: Mapping[str, str]) -> bytes:
    """The arguments with property names exchanged, at any depth; the same bytes when none occurs.

    With `dict(compiled.names)` it turns what the model sent into what the tool expects. With the pairs turned round it
    gives a call of the history the names of the schema that the target gets. Renamed properties have names that nothing
    else in the schema has, so one flat table is enough.
    """
    escaped = b"\\u" in arguments  # a name may then be spelled in another way than ours
    if not escaped and not any(msgspec.json.encode(name)[1:-1] in arguments for name in names):
        return arguments
    value = msgspec.json.decode(arguments)
    renamed = _rename(value, names)
    return arguments if renamed == value else msgspec.json.encode(renamed)


def _rename(value: Any, names: Mapping[str, str]) -> Any:
    if isinstance(value, dict):
        return {names.get(key, key): _rename(each, names) for key, each in value.items()}
    return [_rename(each, names) for each in value] if isinstance(value, list) else value
