"""The agent's request as a careless Chat client sends it: with defects that have to be repaired and reported.

    body(50)    the 200 messages of `agent.py` with 50 defects

The kinds take turns: a field of a stream left on a call or on its result, a call id with characters that few targets
take, arguments that are not JSON. For Anthropic each defect makes one entry of the report.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from functools import cache
from itertools import islice
from typing import Any

import agent

Message = dict[str, Any]


def _leave_stream_field(message: Message, result: Message) -> None:
    message["done"] = True


def _spoil_id(message: Message, result: Message) -> None:
    call = message["tool_calls"][0]
    call["id"] = result["tool_call_id"] = f"call:{call['id']} €"


def _spoil_arguments(message: Message, result: Message) -> None:
    call = message["tool_calls"][0]
    call["function"]["arguments"] = f"path = {call['id']}"


def _leave_field_on_result(message: Message, result: Message) -> None:
    result["finish_reason"] = "stop"


Defect = Callable[[Message, Message], None]
DEFECTS: tuple[Defect, ...] = (
    _leave_stream_field,
    _spoil_id,
    _spoil_arguments,
    _leave_field_on_result,
)


def request(count: int) -> dict[str, Any]:
    """The request with `count` defects. 200 messages hold 90 calls: for more defects than these can have, it grows."""
    messages = agent.MESSAGES
    while len(_calls(asked := agent.chat(messages))) * len(DEFECTS) < count:
        messages += 20
    for spoil, at in islice(_spots(_calls(asked)), count):
        spoil(asked["messages"][at], asked["messages"][at + 1])
    return asked


def _calls(asked: dict[str, Any]) -> list[int]:
    """Where the calls are that have a result."""
    return [at for at, message in enumerate(asked["messages"][:-1]) if "tool_calls" in message]


def _spots(calls: list[int]) -> Iterator[tuple[Defect, int]]:
    """Every defect at every call, so that the first few hold all kinds."""
    for offset in range(len(DEFECTS)):
        for number, at in enumerate(calls):
            yield DEFECTS[(number + offset) % len(DEFECTS)], at


@cache
def body(count: int) -> bytes:
    return json.dumps(request(count), separators=(",", ":")).encode()
