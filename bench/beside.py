"""Small requests beside a large one: how long do others wait while it is read, compiled and sent?

    python bench/beside.py [--rounds 5]

A hundred connections ask for short answers, alone, and then while another one sends one large request after the other,
each new to the gateway. The goal is a p99 of at most twice the calm. Both are measured in every round, and the median
of the ratios counts.
"""

from __future__ import annotations

import argparse
import asyncio
import base64
import json
import random
import statistics
from collections.abc import Callable, Iterator
from itertools import count, repeat

import machine
import stage
import uvloop
from contestants import Cell, Dragoman
from load import Run, asked

SMALL, CONNECTIONS = 2_000, 100
GOAL = 2.0
SIZE = 10 * 1024 * 1024
MESSAGES = 5_000
TO_CHAT = Cell("openai-chat", "openai-chat", "short")
TO_CLAUDE = Cell("openai-chat", "anthropic", "short")


def pictures(model: str, seed: int) -> bytes:
    """Ten pictures, together 10 MB."""
    data = random.Random(seed)
    parts = [{"type": "text", "text": "What do you see?"}]
    for _ in range(10):
        url = "data:image/png;base64," + base64.b64encode(data.randbytes(SIZE * 3 // 40)).decode()
        parts.append({"type": "image_url", "image_url": {"url": url}})  # type: ignore[dict-item]
    return json.dumps({"model": model, "messages": [{"role": "user", "content": parts}]}).encode()


def history(model: str, seed: int) -> bytes:
    """5,000 messages of an agent."""
    messages: list[dict[str, object]] = [{"role": "user", "content": f"Task {seed}: look at every file."}]
    for at in range((MESSAGES - 2) // 2):
        call = {"id": f"call_{seed}_{at}", "type": "function", "function": {"name": "look", "arguments": "{}"}}
        messages += [
            {"role": "assistant", "content": None, "tool_calls": [call]},
            {"role": "tool", "tool_call_id": f"call_{seed}_{at}", "content": f"line {at} of the file"},
        ]
    return json.dumps({"model": model, "messages": [*messages, {"role": "user", "content": "Well?"}]}).encode()


LARGE: dict[str, tuple[Cell, Callable[[str, int], bytes]]] = {
    "10 MB of pictures, Chat → Chat": (TO_CHAT, pictures),
    "10 MB of pictures, Chat → Anthropic": (TO_CLAUDE, pictures),
    "5,000 messages, Chat → Chat": (TO_CHAT, history),
    "5,000 messages, Chat → Anthropic": (TO_CLAUDE, history),
}


async def small(port: int, request: bytes) -> Run:
    """Small requests on a hundred connections, each answered before the next."""
    return await asked(port, repeat(request, SMALL), CONNECTIONS)


async def beside(port: int, request: bytes, large: Iterator[bytes]) -> tuple[Run, int]:
    """The same while large requests are sent, and how many of these were answered."""
    stop, answered = asyncio.Event(), 0

    async def others() -> None:
        nonlocal answered
        while not stop.is_set():
            answered += (await asked(port, iter([next(large)]), 1)).answered

    task = asyncio.create_task(others())
    run = await small(port, request)
    stop.set()
    await task
    return run, answered


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=5)
    rounds = parser.parse_args().rounds
    print(f"{machine.described()}, commit {machine.commit()}\n")
    print("| beside | p99 alone, ms | p99 beside, ms | ratio | large ones answered |\n|---|---:|---:|---:|---:|")
    with stage.providers() as (folder, ports):
        ours = Dragoman(folder, ports)
        with stage.running([ours]):
            request = ours.request(TO_CHAT)
            for name, (cell, make) in LARGE.items():
                made = [ours.post(cell, make(ours.model(cell), seed)) for seed in range(8)]
                calm, busy, answered = [], [], 0
                for _ in range(rounds):
                    calm.append(uvloop.run(small(ours.port, request)).latency(0.99) * 1000)
                    run, more = uvloop.run(beside(ours.port, request, (made[at % 8] for at in count())))
                    busy.append(run.latency(0.99) * 1000)
                    answered += more
                ratio = statistics.median(one / other for one, other in zip(busy, calm, strict=True))
                mark = "✓" if ratio <= GOAL else "✗"
                shown = f"{statistics.median(calm):.1f} | {statistics.median(busy):.1f} | {ratio:.1f} {mark}"
                print(f"| {name} | {shown} | {answered} |", flush=True)


if __name__ == "__main__":
    main()
