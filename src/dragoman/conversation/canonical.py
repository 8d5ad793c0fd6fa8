"""What two values must agree in to be the same: meaning, decoded, without spelling and place."""

from __future__ import annotations

from collections.abc import Callable, Mapping
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

_FORMAT_SPELLING = SPELLING | {"name", "strict"}
"""A response format has a name only because one dialect asks for it, and is strict where it cannot be otherwise."""

_KINDS = {"Result": _RESULT_SPELLING, "ResponseFormat": _FORMAT_SPELLING}
_NO_ARGUMENTS = (
    {"type": "object"},
    {"type": "object", "properties": {}},
    {"type": "object", "additionalProperties": False},
)
_EMPTY_TEXT = [{"_": "Text", "literal": ""}]
_NOTHING = (b"null", b"[]")
_AUTO = {"_": "ToolChoice", "mode": "auto"}

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
    skipped = _KINDS.get(kind, SPELLING)
    plain: dict[str, Any] = {"_": kind}
    for field in msgspec.structs.fields(value):
        content = getattr(value, field.name)
        if field.name in skipped or content == field.default:
            continue
        if field.name == "extras" and all(bytes(value) in _NOTHING for value in content.fields.values()):
            continue  # fields that hold nothing say nothing
        meant = canonical(content)
        if meant != canonical(field.default):
            plain[field.name] = meant
    settle = _SETTLED.get(kind)
    if settle is not None:
        settle(plain)
    return plain


def _settle_tool(plain: dict[str, Any]) -> None:
    """No schema and an empty one both say: no arguments."""
    if plain.get("schema") in _NO_ARGUMENTS:
        del plain["schema"]


def _settle_result(plain: dict[str, Any]) -> None:
    """No content and an empty text are the same answer."""
    if plain["parts"] == _EMPTY_TEXT:
        plain["parts"] = []


def _settle_thinking(plain: dict[str, Any]) -> None:
    """A budget of nothing is off; on is said by any budget or effort."""
    if plain.get("budget") == 0:
        plain.setdefault("on", False)
    if plain.get("on") is False:
        plain.pop("budget", None)
    elif "budget" in plain or plain.get("effort", "none") != "none":
        plain.pop("on", None)


def _settle_settings(plain: dict[str, Any]) -> None:
    """Parallel calls without a choice mean the choice `auto`, and nothing where no call may be made.

    Whoever wants the likeliest tokens wants their probabilities.
    """
    if "top_logprobs" in plain:
        plain["logprobs"] = True
    elif plain.get("logprobs") is False:
        del plain["logprobs"]
    if "parallel_tool_calls" not in plain:
        return
    choice = plain.setdefault("tool_choice", _AUTO)
    if choice["mode"] == "none":
        del plain["parallel_tool_calls"]


_SETTLED: dict[str, Callable[[dict[str, Any]], None]] = {
    "Tool": _settle_tool,
    "Thinking": _settle_thinking,
    "Result": _settle_result,
    "Settings": _settle_settings,
}


def _canonical_json(text: bytes) -> Any:
    try:
        return _decode(text)
    except (msgspec.DecodeError, RecursionError):
        return text.decode("utf-8", "replace")
