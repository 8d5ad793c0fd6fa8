"""A tool conversation of any length, as an agent that reads code would send it to a Chat endpoint."""

from __future__ import annotations

import json
from typing import Any

_QUESTION = (
    "Look at the function that gives a connection back to its pool and say whether the waiting time is counted before "
    'or after it; name "the exact line" that decides it.\nThank you — a short answer is enough. '
)
_SYSTEM = "You are an engineer who reads code with care. " * 7
_TOOL = {
    "type": "function",
    "function": {
        "name": "read_file",
        "description": "Read some lines of a file",
        "parameters": {
            "type": "object",
            "properties": {"path": {"type": "string"}, "start": {"type": "integer"}, "end": {"type": "integer"}},
            "required": ["path"],
        },
    },
}


def request(count: int, stream: bool = True) -> dict[str, Any]:
    """A request of `count` messages: a system text, then rounds of question, call, result and answer."""
    messages: list[dict[str, Any]] = [{"role": "system", "content": _SYSTEM}]
    turn = 0
    while len(messages) < count:
        messages.append(_message(turn))
        turn += 1
    return {
        "model": "mock",
        "messages": messages,
        "tools": [_TOOL],
        "temperature": 0.2,
        "max_tokens": 1024,
        "stream": stream,
    }


def _message(turn: int) -> dict[str, Any]:
    match turn % 4:
        case 0:
            return {"role": "user", "content": f"[{turn}] {_QUESTION * 2}"}
        case 1:
            arguments = json.dumps({"path": f"src/pool/part_{turn}.py", "start": turn, "end": turn + 80})
            call = {
                "id": f"call_{turn:05d}abcdefgh",
                "type": "function",
                "function": {"name": "read_file", "arguments": arguments},
            }
            return {"role": "assistant", "content": None, "tool_calls": [call]}
        case 2:
            return {
                "role": "tool",
                "tool_call_id": f"call_{turn - 1:05d}abcdefgh",
                "content": f"[{turn}] {_QUESTION * 3}",
            }
        case _:
            return {"role": "assistant", "content": f"[{turn}] {_QUESTION}"}


def body(count: int, stream: bool = True) -> bytes:
    return json.dumps(request(count, stream)).encode()
