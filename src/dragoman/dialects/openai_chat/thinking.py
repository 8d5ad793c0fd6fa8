"""The settings for thinking in Chat and on compatible servers, both ways."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec

from dragoman.conversation.literals import unquote
from dragoman.conversation.parts import Json
from dragoman.conversation.settings import Effort, Thinking
from dragoman.dialects.rendering import put_text


def parse_thinking(wire: dict[str, bytes], found: dict[str, Any], extras: dict[str, Json]) -> None:
    """`reasoning_effort`, OpenRouter's `reasoning` and DeepSeek's `thinking` are one intent."""
    fields: dict[str, Any] = {}
    spelled: list[str] = []
    for key, raw in wire.items():
        try:
            content = _THINKING_PARSERS[key](raw)
        except (msgspec.DecodeError, ValueError, TypeError):
            content = None
        if content is None or fields.keys() & content.keys():
            extras[key] = raw
            continue
        fields |= content
        spelled.append(key)
    if spelled:
        found["thinking"] = Thinking(**fields, spelled=" ".join(spelled))


def _effort(raw: bytes) -> dict[str, Any]:
    return {"effort": Effort(unquote(raw))}


def _openrouter_reasoning(raw: bytes) -> dict[str, Any] | None:
    wire = msgspec.json.decode(raw, type=dict[str, Any])
    if wire.keys() - {"effort", "max_tokens", "exclude", "enabled"} or not wire:
        return None
    found: dict[str, Any] = {}
    if wire.get("effort") is not None:
        found["effort"] = Effort(wire["effort"])
    if wire.get("max_tokens") is not None:
        found["budget"] = int(wire["max_tokens"])
    if wire.get("exclude") is not None:
        found["visible"] = not wire["exclude"]
    if wire.get("enabled") is not None:
        found["on"] = bool(wire["enabled"])
    return found or None


def _switch(raw: bytes) -> dict[str, Any] | None:
    wire = msgspec.json.decode(raw)
    if wire == {"type": "enabled"} or wire == {"type": "disabled"}:
        return {"on": wire["type"] == "enabled"}
    return None


_THINKING_PARSERS: dict[str, Callable[[bytes], dict[str, Any] | None]] = {
    "reasoning_effort": _effort,
    "reasoning": _openrouter_reasoning,
    "thinking": _switch,
}


def render_thinking(thinking: Thinking | None, out: dict[str, Json]) -> None:
    if thinking is None:
        return
    for key in _thinking_keys(thinking):
        if key == "reasoning_effort":
            put_text(out, key, thinking.effort)
        elif key == "thinking":
            if thinking.on is not None:
                out[key] = b'{"type":"enabled"}' if thinking.on else b'{"type":"disabled"}'
        elif key == "reasoning":
            out[key] = _openrouter(thinking)


def _thinking_keys(thinking: Thinking) -> list[str]:
    """The members that the client used, and the others that the setting needs."""
    keys = thinking.spelled.split()
    if "reasoning" in keys:
        return keys
    if thinking.budget is not None or thinking.visible is not None:
        return ["reasoning"]
    if thinking.effort is not None and "reasoning_effort" not in keys:
        keys.append("reasoning_effort")
    if thinking.on is not None and "thinking" not in keys:
        keys.append("thinking")
    return keys


def _openrouter(thinking: Thinking) -> Json:
    wire: dict[str, Any] = {}
    if thinking.effort is not None:
        wire["effort"] = thinking.effort
    if thinking.budget is not None:
        wire["max_tokens"] = thinking.budget
    if thinking.visible is not None:
        wire["exclude"] = not thinking.visible
    if thinking.on is not None:
        wire["enabled"] = thinking.on
    return msgspec.json.encode(wire)
