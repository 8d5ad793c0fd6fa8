"""Which tool calls have results, in a conversation in Chat format.

These functions only find defects. Each provider reports them in its own words.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class UnansweredCalls:
    """An assistant message with unanswered calls: its index, the index after its results, and the call ids."""

    at: int
    until: int
    missing: tuple[str, ...]


def call_ids(message: Any) -> tuple[str, ...]:
    """The ids of the tool calls in a message."""
    calls = message.get("tool_calls") if isinstance(message, dict) else None
    if not isinstance(calls, list):
        return ()
    return tuple(str(call.get("id")) for call in calls if isinstance(call, dict))


def find_unanswered_calls(messages: list[Any]) -> Iterator[UnansweredCalls]:
    """Assistant messages with calls that the tool messages directly after them do not answer."""
    for at, message in enumerate(messages):
        ids = call_ids(message)
        if not ids:
            continue
        answered = {str(messages[i].get("tool_call_id")) for i in _run(messages, at + 1)}
        missing = tuple(one for one in ids if one not in answered)
        if missing:
            yield UnansweredCalls(at, at + 1 + len(_run(messages, at + 1)), missing)


def orphan_results(messages: list[Any]) -> Iterator[int]:
    """Indexes of tool messages that answer no call of the assistant message directly before them."""
    known: tuple[str, ...] = ()
    for at, message in enumerate(messages):
        if role(message) == "tool":
            if str(message.get("tool_call_id")) not in known:
                yield at
        else:
            known = call_ids(message) if role(message) == "assistant" else ()


def after_opening(messages: list[Any]) -> list[Any]:
    """The messages after the opening system and developer messages."""
    start = 0
    while start < len(messages) and role(messages[start]) in ("system", "developer"):
        start += 1
    return messages[start:]


def role(message: Any) -> str:
    """The role of a message; empty if it has none."""
    found = message.get("role") if isinstance(message, dict) else None
    return found if isinstance(found, str) else ""


def _run(messages: list[Any], start: int) -> range:
    end = start
    while end < len(messages) and role(messages[end]) == "tool":
        end += 1
    return range(start, end)
