"""An agent's loop through the gateways: what its turns cost, for every client dialect.

Each of several conversations sends a few turns, so that a gateway may remember what it likes, and then the turn that is
measured. Ratios are within one round.
"""

from __future__ import annotations

import random
import sys
from typing import Any

import loop
import machine
import questions
from contestants import Cell, Contestant
from load import ask_each

PAIRS = (
    ("openai-chat", "openai-chat"),
    ("openai-chat", "anthropic"),
    ("openai-responses", "openai-chat"),
    ("openai-responses", "anthropic"),
    ("anthropic", "anthropic"),
    ("anthropic", "openai-chat"),
    ("gemini", "gemini"),
    ("gemini", "openai-chat"),
)
"""Each client dialect to its own upstream, where the mock provider has it, and to a foreign one."""
TURNS = loop.SHOWN
QUICK_PAIRS, QUICK_TURNS = PAIRS[:2], (2, loop.LAST)
FEWEST, MOST = 4, 24
"""Conversations for one measurement."""


def rounds(contestants: list[Contestant], count: int, quick: bool) -> list[dict[str, Any]]:
    """All measurements, each with its round, pair, turn and gateway."""
    found: list[dict[str, Any]] = []
    unable: set[tuple[str, Cell]] = set()
    cells = [Cell(*pair, "agent", connections=1) for pair in (QUICK_PAIRS if quick else PAIRS)]
    for number in range(count):
        todo = [(one, cell) for one in contestants for cell in cells if one.has(cell)]
        random.shuffle(todo)
        for one, cell in todo:
            for turn in QUICK_TURNS if quick else TURNS:
                cost = None if (one.name, cell) in unable else measured(one, cell, turn)
                if cost is None:
                    unable.add((one.name, cell))
                    continue
                pair = cell.name.partition(",")[0]
                found.append({"round": number, "gateway": one.name, "pair": pair, "turn": turn, "cpu": cost})
        print(f"round {number + 1} of {count} of the loop", file=sys.stderr)
    return found


def measured(one: Contestant, cell: Cell, turn: int) -> float | None:
    """Microseconds of CPU time for a request of this turn; None where the gateway cannot answer."""
    conversations = min(max(one.budget(cell) // 50, FEWEST), MOST)
    named = {} if cell.client in questions.METHODS else {"model": one.model(cell), "stream": cell.streamed}
    bodies = [loop.body(cell.client, number, **named) for number in range(max(1, turn - loop.LEAD), turn + 1)]
    spent = 0.0
    try:
        for conversation in range(conversations):
            first = b"[%d, 0] " % conversation  # they differ from their first question on
            *before, last = [one.post(cell, body.replace(b"[0] ", first)) for body in bodies]
            ask_each(one.port, before)
            begin = machine.cpu_seconds(one.pid)
            ask_each(one.port, [last])
            spent += machine.cpu_seconds(one.pid) - begin
    except (RuntimeError, OSError) as fault:
        print(f"  {one.name} cannot: {cell.name}, turn {turn}: {str(fault)[:200]}", file=sys.stderr)
        return None
    return spent / conversations * 1e6
