"""The gateway beside nginx, LiteLLM and Portkey: CPU per request and per event, time, memory, start.

    python bench/gateway.py [--quick] [--rounds N] [--only NAME ...] [--figures]

The gateways run on one core, the mock providers and the load on the other. A round measures every cell on every gateway
in a shuffled order; every request is answered before the next measurement begins. What counts is the ratio to another
gateway within a round, and of the rounds the median: machines change their speed for minutes at a time.

Results go to `bench/results/`, and their summary to `bench/results/README.md`; `--figures` writes it into the README
and the guide too. Without options it takes about half an hour (an estimate), with `--quick` two minutes.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import random
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import figures
import gateway_loop
import machine
import stage
import uvloop
from contestants import Cell, Contestant, Direct, Dragoman, LiteLLM, Nginx, Portkey, TwoWorkers
from load import Run, ask
from questions import REPAIRS

RESULTS = Path(__file__).resolve().parent / "results"
ALL: tuple[type[Contestant], ...] = (Direct, Nginx, Dragoman, TwoWorkers, Portkey, LiteLLM)
PAIRS = (
    ("openai-chat", "openai-chat"),
    ("openai-chat", "anthropic"),
    ("anthropic", "openai-chat"),
    ("openai-chat", "gemini"),
    ("openai-responses", "openai-chat"),
)
AGENTS = (
    ("openai-chat", "openai-chat"),
    ("openai-chat", "anthropic"),
    ("anthropic", "anthropic"),
    ("anthropic", "openai-chat"),
    ("openai-responses", "openai-chat"),
    ("gemini", "gemini"),
    ("gemini", "openai-chat"),
)
"""Each client dialect to its own upstream, where the mock provider has it, and to a foreign one."""
QUICK = (
    Cell("openai-chat", "openai-chat"),
    Cell("openai-chat", "openai-chat", connections=1),
    Cell("openai-chat", "anthropic"),
    Cell("openai-chat", "openai-chat", "short", "burst"),
    Cell("openai-chat", "anthropic", "short", "burst"),
    Cell("openai-chat", "anthropic", "agent"),
    Cell("openai-chat", "anthropic", "50 repairs"),
)
OPEN_STREAMS = 1000


def every_cell() -> list[Cell]:
    """All pairs, sizes, manners and numbers of connections that are worth a line."""
    whole = [
        Cell(*pair, size, "whole", count) for pair in PAIRS for size in ("tools", "short") for count in (1, 32, 256)
    ]
    whole += [Cell("gemini", "openai-chat")]
    whole += [Cell(*pair, "agent") for pair in AGENTS]
    whole += [Cell("openai-chat", "anthropic", size) for size in REPAIRS]
    streams = [Cell(*pair, "short", "burst", count) for pair in PAIRS for count in (32, 256)]
    return [*whole, *streams, *(Cell(*pair, "short", "paced", 32) for pair in PAIRS)]


def measured(one: Contestant, cell: Cell, share: float) -> dict[str, Any] | None:
    """One cell on one gateway, after a few requests to warm it; None where it cannot answer."""
    request = one.request(cell)
    budget = max(one.budget(cell) // cell.weight, 8)
    count = max(int(budget * share), 2 * min(cell.connections, budget))
    if cell.connections == 1:
        count = max(count // 4, 8)
    try:
        ask(one.port, request, min(cell.connections, 16), min(cell.connections, 16))
        before = machine.cpu_seconds(one.pid)
        run: Run = ask(one.port, request, count, cell.connections)
        cpu = machine.cpu_seconds(one.pid) - before
    except (RuntimeError, OSError) as fault:
        print(f"  {one.name} cannot: {cell.name}: {str(fault)[:200]}", file=sys.stderr)
        return None
    return {
        "cpu": cpu / run.answered * 1e6,
        "wall": run.seconds / run.answered * 1e6,
        "p50": run.median * 1e6,
        "p99": run.latency(0.99) * 1e6,
    }


def rounds(contestants: list[Contestant], cells: list[Cell], count: int, share: float) -> list[dict[str, Any]]:
    """All measurements, each with its round, cell and gateway."""
    found: list[dict[str, Any]] = []
    unable: set[tuple[str, Cell]] = set()
    for number in range(count):
        todo = [(one, cell) for one in contestants for cell in cells if one.has(cell)]
        random.shuffle(todo)
        for one, cell in todo:
            if (one.name, cell) in unable:
                continue
            seen = measured(one, cell, share)
            if seen is None:
                unable.add((one.name, cell))
            else:
                found.append({"round": number, "gateway": one.name, "cell": cell.name, "events": cell.events, **seen})
        print(f"round {number + 1} of {count}", file=sys.stderr)
    return found


async def _held(one: Contestant, request: bytes, count: int) -> float:
    """Memory while so many streams are open, each with its first words said."""
    opened = []
    try:
        for _ in range(count):
            reader, writer = await asyncio.open_connection("127.0.0.1", one.port)
            opened.append(writer)
            writer.write(request)
            await asyncio.wait_for(reader.readuntil(b" word0"), 60)
        await asyncio.sleep(1)
        return machine.memory_mb(one.pid)
    finally:
        for writer in opened:
            writer.close()


def memory(one: Contestant, count: int) -> dict[str, float]:
    """At rest after its first answer, and with so many streams open, if any."""
    rest = machine.memory_mb(one.pid)
    if not count:
        return {"rest": rest}
    cell = Cell("openai-chat", "openai-chat", "short", "hold", count)
    try:
        return {"rest": rest, "open": uvloop.run(_held(one, one.request(cell), count))}
    except (OSError, TimeoutError, asyncio.IncompleteReadError) as fault:
        print(f"  {one.name} did not hold {count} streams: {fault!r}", file=sys.stderr)
        return {"rest": rest}


def import_seconds(times: int = 5) -> float:
    """`import dragoman` in a fresh interpreter, without the interpreter's own start: the best of several."""
    code = "import time; t = time.perf_counter(); import dragoman; print(time.perf_counter() - t)"
    return min(
        float(subprocess.run([sys.executable, "-c", code], capture_output=True, check=True, text=True).stdout)
        for _ in range(times)
    )


@contextmanager
def chosen(names: list[str], folder: Path, ports: Any, quick: bool) -> Iterator[list[Contestant]]:
    kinds = [kind for kind in ALL if not names or kind.name in names]
    kinds = [kind for kind in kinds if not (quick and kind is TwoWorkers)]
    made = [kind(folder, ports) for kind in kinds]
    for absent in [one for one in made if not one.installed()]:
        print(f"{absent.name} is not installed: see bench/environment.sh", file=sys.stderr)
    yield [one for one in made if one.installed()]


def run(quick: bool, count: int, only: list[str]) -> dict[str, Any]:
    cells = list(QUICK) if quick else every_cell()
    began = time.time()
    with stage.providers() as (folder, ports), chosen(only, folder, ports, quick) as contestants:
        with stage.running(contestants) as starts:
            kept = [one for one in contestants if not isinstance(one, Direct)]
            memories = {one.name: memory(one, 0 if quick and one.name == "LiteLLM" else OPEN_STREAMS) for one in kept}
            found = rounds(contestants, cells, count, 0.5 if quick else 1.0)
            turns = gateway_loop.rounds(kept, count, quick)
            after = {one.name: machine.memory_mb(one.pid) for one in kept}
        again = {one.name: min(started(one), starts[one.name]) for one in kept if one.name != "LiteLLM"}
    return {
        "when": time.strftime("%Y-%m-%d", time.gmtime(began)),
        "commit": machine.commit(),
        "quick": quick,
        "rounds": count,
        "machine": machine.described(),
        "versions": {one.name: one.version() for one in contestants if one.version()},
        "starts": starts | again,
        "memory": memories,
        "memory_after": after,
        "import": import_seconds(),
        "measurements": found,
        "loop": turns,
    }


def started(one: Contestant, times: int = 3) -> float:
    """The best of several starts: the first one reads its files from the disk."""
    best = float("inf")
    for _ in range(times):
        best = min(best, one.start())
        one.stop()
    return best


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--rounds", type=int, default=0)
    parser.add_argument("--only", nargs="*", default=[], help="gateways by name")
    parser.add_argument("--figures", action="store_true", help="write the summary into README and guide too")
    given = parser.parse_args()
    found = run(given.quick, given.rounds or (3 if given.quick else 7), given.only)
    RESULTS.mkdir(exist_ok=True)
    (RESULTS / "gateway.json").write_text(json.dumps(found, indent=1))
    figures.publish(found, RESULTS, everywhere=given.figures)


if __name__ == "__main__":
    main()
