"""What two values must agree in to be the same: meaning, decoded, without spelling and place."""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum
from hashlib import blake2b
from typing import Any

import msgspec

SPELLING = frozenset(
    {
        "at",
        "empty_tools",
        "field",
        "inline",
        "limit_as",
        "listed",
        "nulls",
        "prefill",
        "schema_as",
        "seed_as",
        "span",
        "spelled",
        "stop_listed",
        "wrapper",
    }
)
"""Fields that say where a value stood or how it was written, not what it means."""

_RESULT_SPELLING = SPELLING | {"name"}
"""A result names its tool only to repeat what its call says."""

_decode = msgspec.json.decode
_order = msgspec.json.Encoder(order="deterministic").encode


def canonical(value: Any) -> Any:
    """The value as plain JSON: literals decoded, spelling left out, defaults left out."""
    if isinstance(value, msgspec.Struct):
        return _canonical_struct(value)
    if isinstance(value, bytes):
        return _canonical_json(value)
    if isinstance(value, Enum):
        return value.value
    if isinstance(value, (tuple, list)):
        return [canonical(item) for item in value]
    if isinstance(value, Mapping):
        return {key: canonical(item) for key, item in value.items()}
    return value


def digest(value: Any) -> str | None:
    """A short fingerprint of a value, or None of nothing."""
    if value is None:
        return None
    return blake2b(_order(canonical(value)), digest_size=8).hexdigest()


def _canonical_struct(value: msgspec.Struct) -> dict[str, Any]:
    kind = type(value).__name__
    skipped = _RESULT_SPELLING if kind == "Result" else SPELLING
    plain: dict[str, Any] = {"_": kind}
    for field in msgspec.structs.fields(value):
        content = getattr(value, field.name)
        if field.name in skipped or content == field.default:
            continue
        meant = canonical(content)
        if meant != canonical(field.default):
            plain[field.name] = meant
    return plain


def _canonical_json(text: bytes) -> Any:
    try:
        return _decode(text)
    except msgspec.DecodeError:
        return text.decode("utf-8", "replace")
