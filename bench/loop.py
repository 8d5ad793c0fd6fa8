"""An agent's loop: what its turns cost in `adapt`, from the first to the two hundredth, with a memory and without.

On every turn the client sends the whole conversation again and two messages more, with 25 tools; cache markers move
over its last turns, and on every tenth turn the last result is another. Ratios are within one process and interleaved:
machines change their speed.

    python bench/loop.py [--rounds 7] [--client openai-chat] [--fields]

With `--fields` the model's turns are as SDKs write them: with empty fields, ids and signatures.
"""

from __future__ import annotations

import argparse
import gc
import json
import statistics
import time
from typing import Any

import agent

from dragoman.engine.library.adapt import adapt
from dragoman.engine.library.policy import State
from dragoman.engine.memory.conversation_memory import ConversationMemory

LAST = 200
SHOWN = (2, 50, 100, 150, LAST)
LEAD = 3
"""Turns before one that is measured: they fill the memory."""
FOREIGN = {"anthropic": "openai/gpt-4o"}
OWN = {
    "openai-chat": "openai/gpt-4o",
    "openai-responses": "openai-responses/gpt-5.1",
    "anthropic": "anthropic/claude-sonnet-4-5",
    "gemini": "gemini/gemini-2.5-flash",
}
GOAL = 1.5
"""What the last turn may cost of the second."""


def body(client: str, turn: int, fields: bool = False, **named: Any) -> bytes:
    """The request of a turn. `named`: members that say which model is asked, and how. `fields`: as SDKs write it."""
    made = agent.WRITERS[client](2 * turn + 2)
    if fields:
        _add_fields(made)
    if turn % 10 == 0:
        _replace_last(made[{"openai-responses": "input", "gemini": "contents"}.get(client, "messages")][-1])
    if client == "anthropic":
        _mark(made["messages"])
    return json.dumps(made | named, separators=(",", ":")).replace(_DESCRIBED, _FULLY).encode()


_DESCRIBED = "Use an absolute path, and prefer one call with a range to many. "
_FULLY = (
    _DESCRIBED + "It returns the lines with their numbers, says if there are more of them, and fails if nothing is " * 3
)
"""Descriptions of the length that agents write: 25 tools are 40 kB."""


def _replace_last(item: dict[str, Any]) -> None:
    for key in ("output", "content"):
        if isinstance(item.get(key), str):
            item[key] = "Cut off."


EMPTY = {"refusal": None, "annotations": [], "audio": None, "function_call": None}
"""What OpenAI's SDK dumps of an answer beside its words and calls."""


def _add_fields(made: dict[str, Any]) -> None:
    """Write the model's turns as SDKs do."""
    for message in made.get("messages", ()):
        if message["role"] == "assistant" and isinstance(message["content"], list):
            message["content"] = [{**part, "citations": None} for part in message["content"]]
        elif message["role"] == "assistant":
            message |= EMPTY
    for number, item in enumerate(made.get("input", ())):
        kind = "fc" if item.get("type") == "function_call" else "msg" if item.get("role") == "assistant" else ""
        if kind:
            item |= {"id": f"{kind}_{number:048x}", "status": "completed"}
    for content in made.get("contents", ()):
        if content["role"] == "model":
            content["parts"] = [{**part, "thoughtSignature": "CiQB" + "A" * 200} for part in content["parts"]]


def _mark(messages: list[dict[str, Any]]) -> None:
    """Markers on the last two turns of the user's side, as Claude Code sets them."""
    for message in [one for one in messages if one["role"] == "user"][-2:]:
        message["content"][-1] |= {"cache_control": {"type": "ephemeral"}}


def measure(client: str, target: str, rounds: int, fields: bool = False) -> dict[str, dict[int, float]]:
    """Microseconds of CPU time for each turn that is shown: remembered, new to the process, and without a memory."""
    bodies = {turn: body(client, turn, fields) for last in SHOWN for turn in range(max(1, last - LEAD), last + 1)}
    found: dict[str, dict[int, list[float]]] = {kind: {turn: [] for turn in SHOWN} for kind in ("warm", "cold", "off")}
    for _ in range(rounds):
        for turn in SHOWN:
            state = State(memory=ConversationMemory())
            for before in range(max(1, turn - LEAD), turn):
                adapt(bodies[before], source=client, target=target, state=state)
            found["warm"][turn].append(_timed(bodies[turn], client, target, state))
            found["cold"][turn].append(_timed(bodies[turn], client, target, State(memory=ConversationMemory())))
            found["off"][turn].append(_timed(bodies[turn], client, target, None))
    return {kind: {turn: min(times) for turn, times in turns.items()} for kind, turns in found.items()}


def _timed(request: bytes, client: str, target: str, state: State | None) -> float:
    start = time.process_time_ns()
    adapt(request, source=client, target=target, state=state)  # type: ignore[arg-type]
    return (time.process_time_ns() - start) / 1000


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--client", choices=OWN)
    parser.add_argument("--fields", action="store_true", help="write the model's turns as SDKs do")
    args = parser.parse_args()
    gc.freeze()
    print("CPU µs in adapt          " + "".join(f"{f'turn {turn}':>10}" for turn in SHOWN) + "   last/second  cold/off")
    for client in [args.client] if args.client else OWN:
        size = len(body(client, LAST)) // 1000
        for target in (OWN[client], FOREIGN.get(client, OWN["anthropic"])):
            times = measure(client, target, args.rounds, args.fields)
            print(f"{client} ({size} kB) → {target}")
            for kind, row in times.items():
                print(f"  {kind:22} " + "".join(f"{row[turn]:10.0f}" for turn in SHOWN), end="")
                print(f"{row[LAST] / row[2]:13.2f}" if kind != "cold" else f"{_ratio(times):23.2f}")


def _ratio(times: dict[str, dict[int, float]]) -> float:
    """What a turn costs that is new to a process with a memory, of what it costs without one."""
    return statistics.median([times["cold"][turn] / times["off"][turn] for turn in SHOWN[1:]])


if __name__ == "__main__":
    main()
