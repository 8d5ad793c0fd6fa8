"""Has a hot path become dearer? Instructions are counted, not time, so a busy machine changes nothing.

    python bench/guard.py [--write] [--ceiling] [PATH ...]

Each path of `paths.py` runs under valgrind, a few times and many times; the difference, divided, is what one turn
costs, without start-up. The counts are compared with `bench/guard.json`. A path fails that costs more than the baseline
and its tolerance, or that has no baseline on any machine. `--write` lowers the baseline to these counts and adds paths
that have none; it never raises a count. With `--ceiling` a path fails, too, that costs more than at the commit that the
file names as the ceiling.

Counts hold for one kind of processor and one version of Python: the file has a baseline for each of some such kinds of
machines, and `--write` adds that of a new one. Without a baseline, or with other libraries than it was made with
(`--ratios`), only the relations between the paths are compared, with more tolerance.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import re
import shutil
import subprocess
import sys
from collections.abc import Collection
from concurrent.futures import ThreadPoolExecutor
from importlib.metadata import version
from pathlib import Path
from statistics import median
from typing import Any

from paths import PATHS

HERE = Path(__file__).resolve().parent
BASELINE = HERE / "guard.json"
TOLERANCE = 0.05
"""Repeated counts of the same code differed by at most 0.3 %, with SQLite's threads by 2 %."""
TOLERANCE_OF_COMPILING = 0.10
"""What `adapt` alone may cost more while the readers of requests are being rebuilt."""
COMPILING = ("adapt", "agent", "repairs")
TOLERANCE_ELSEWHERE = 0.12
JOBS = 2
_COUNT = re.compile(r"==(\d+)== I\s+refs:\s+([\d,]+)")

Counts = dict[str, int]


def count_all(names: list[str]) -> Counts:
    """Instructions of one turn of each path."""
    shares = [share for number in range(JOBS) if (share := names[number::JOBS])]
    with ThreadPoolExecutor(JOBS) as pool:
        counted = {name: count for counts in pool.map(_count, shares) for name, count in counts.items()}
    return {name: counted[name] for name in names}


def _count(names: list[str]) -> Counts:
    command = ["valgrind", "--tool=cachegrind", "--cache-sim=no", "--cachegrind-out-file=/dev/null"]
    command += [sys.executable, "-X", "frozen_modules=on", str(HERE / "paths.py"), "--few-and-many", *names]
    environment = {**os.environ, "PYTHONHASHSEED": "0", "PYTHONMALLOC": "pymalloc"}
    ran = subprocess.run(command, capture_output=True, text=True, env=environment, check=False, timeout=3600)
    if ran.returncode:
        raise SystemExit(f"a path did not run under valgrind:\n{ran.stderr[-3000:]}")
    by_child = {int(child): int(count.replace(",", "")) for child, count in _COUNT.findall(ran.stderr)}
    turns: dict[str, list[tuple[int, int]]] = {}
    for line in ran.stdout.splitlines():
        name, times, child = json.loads(line)
        turns.setdefault(name, []).append((times, by_child[child]))
    return {name: (many[1] - few[1]) // (many[0] - few[0]) for name, (few, many) in turns.items()}


def surroundings() -> dict[str, str]:
    """What the counts hold for."""
    libraries = {name: version(name) for name in ("msgspec", "orjson")}
    return {"python": platform.python_version(), "machine": platform.machine(), **libraries}


def name_machine() -> str:
    """The kind of machine that a baseline holds for."""
    return f"{platform.machine()}, Python {sys.version_info.major}.{sys.version_info.minor}"


def find_tolerance(path: str, elsewhere: bool) -> float:
    if elsewhere:
        return TOLERANCE_ELSEWHERE
    return TOLERANCE_OF_COMPILING if path.startswith(COMPILING) else TOLERANCE


def lower(known: Counts, counts: Counts) -> Counts:
    """The baseline after a run: no count is raised."""
    return known | {path: min(count, known.get(path, count)) for path, count in counts.items()}


def compare(counts: Counts, known: Counts, elsewhere: bool = False) -> dict[str, float]:
    """How much dearer each path is than it was; elsewhere, than the median path is."""
    changes = {path: counts[path] / known[path] for path in counts if path in known}
    usual = median(changes.values()) if elsewhere and changes else 1.0
    return {path: change / usual - 1 for path, change in changes.items()}


def find_faults(
    counts: Counts, known: Counts, ceiling: Counts, elsewhere: bool, counted: Collection[str] = ()
) -> dict[str, str]:
    """What is wrong with each path that fails. An empty ceiling is not looked at. `counted`: the paths that have a
    baseline on other kinds of machines."""
    changes, above = compare(counts, known, elsewhere), compare(counts, ceiling)
    faults = {path: "NO BASELINE" for path in counts if path not in known and path not in counted}
    faults |= {path: "ABOVE THE CEILING" for path, change in above.items() if change > 0}
    return faults | {path: "DEARER" for path, change in changes.items() if change > find_tolerance(path, elsewhere)}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("paths", nargs="*")
    parser.add_argument("--write", action="store_true", help="lower the baseline to these counts")
    parser.add_argument("--ceiling", action="store_true", help="fail above the ceiling, too")
    parser.add_argument("--ratios", action="store_true", help="compare relations only, as on another machine")
    given = parser.parse_args()
    if shutil.which("valgrind") is None:
        raise SystemExit("valgrind is not installed; on Debian: apt-get install valgrind")
    kind, machines = name_machine(), json.loads(BASELINE.read_text())["machines"]
    known: dict[str, Any] = find_baseline(machines, kind, given.write)
    elsewhere = given.ratios or known["for"] != surroundings()
    if elsewhere:
        print(f"The baseline holds for {known['for']}: only relations between the paths are compared.\n")
    counts = count_all(given.paths or list(PATHS))
    if given.write and not elsewhere:
        known["instructions"] = lower(known["instructions"], counts)
        BASELINE.write_text(json.dumps({"machines": {**machines, kind: known}}, indent=2) + "\n")
    ceiling: Counts = known["ceiling"]["instructions"]
    counted = {path for machine in machines.values() for path in machine["instructions"]}
    faults = find_faults(counts, known["instructions"], ceiling if given.ceiling else {}, elsewhere, counted)
    _print_table(counts, compare(counts, known["instructions"], elsewhere), compare(counts, ceiling), faults)
    return 1 if faults else 0


def find_baseline(machines: dict[str, Any], kind: str, write: bool) -> dict[str, Any]:
    """That of this kind of machine; without one, a new one to write, or the first to compare relations with."""
    if kind in machines:
        found: dict[str, Any] = machines[kind]
        return found
    empty = {"for": surroundings(), "ceiling": {"commit": "", "instructions": {}}, "instructions": {}}
    return empty if write else next(iter(machines.values()))


def _print_table(counts: Counts, changes: dict[str, float], above: dict[str, float], faults: dict[str, str]) -> None:
    print(f"{'path':46} {'instructions':>12} {'baseline':>9} {'ceiling':>9}")
    for path, count in counts.items():
        told, high = (f"{part[path]:+.1%}" if path in part else "-" for part in (changes, above))
        print(f"{path:46} {count:>12,} {told:>9} {high:>9}  {faults.get(path, '')}".rstrip())
    if faults:
        print(f"\n{len(faults)} paths fail.")


if __name__ == "__main__":
    sys.exit(main())
