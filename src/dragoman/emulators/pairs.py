"""Which tool calls have their results, in the Chat form of a conversation.

Facts only: each provider words its own complaint.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Gap:
    """An assistant turn whose calls lack results, and where the next message stands."""

    at: int
    until: int
    missing: tuple[str, ...]


def call_ids(message: Any) -> tuple[str, ...]:
    """The ids of the calls a message makes."""
    calls = message.get("tool_calls") if isinstance(message, dict) else None
    if not isinstance(calls, list):
        return ()
    return tuple(str(call.get("id")) for call in calls if isinstance(call, dict))


def gaps(messages: list[Any]) -> Iterator[Gap]:
    """Assistant turns whose calls are not all answered by the tool messages directly after them."""
    for at, message in enumerate(messages):
        wanted = call_ids(message)
        if not wanted:
            continue
        answered = {str(messages[i].get("tool_call_id")) for i in _run(messages, at + 1)}
        missing = tuple(one for one in wanted if one not in answered)
        if missing:
            yield Gap(at, at + 1 + len(_run(messages, at + 1)), missing)


def orphans(messages: list[Any]) -> Iterator[int]:
    """Tool messages that answer no call of the assistant turn directly before their run."""
    known: tuple[str, ...] = ()
    for at, message in enumerate(messages):
        if role(message) == "tool":
            if str(message.get("tool_call_id")) not in known:
                yield at
        else:
            known = call_ids(message) if role(message) == "assistant" else ()


def role(message: Any) -> str:
    found = message.get("role") if isinstance(message, dict) else None
    return found if isinstance(found, str) else ""


def _run(messages: list[Any], start: int) -> range:
    end = start
    while end < len(messages) and role(messages[end]) == "tool":
        end += 1
    return range(start, end)
