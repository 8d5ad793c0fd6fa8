"""Conversations in which a model has called tools for some turns, in each dialect's own words."""

from __future__ import annotations

from typing import Any

TOOL = {"type": "function", "function": {"name": "look", "parameters": {"type": "object", "properties": {}}}}
USER = {"role": "user", "content": "Look."}


def tool_turns(count: int) -> list[dict[str, Any]]:
    """A user's turn, and so many turns of one call and its result."""
    return [USER, *(message for number in range(count) for message in _turn(number))]


def _turn(number: int) -> tuple[dict[str, Any], dict[str, Any]]:
    call = {"id": f"c{number}", "type": "function", "function": {"name": "look", "arguments": "{}"}}
    return (
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": f"c{number}", "content": "trees"},
    )


def looking(messages: list[dict[str, Any]], **more: Any) -> dict[str, Any]:
    """A Chat request with these messages and the tool."""
    return {"messages": messages, "tools": [TOOL], **more}
