"""Has a hot path become dearer? Instructions are counted, not time, so a busy machine changes nothing.

    python bench/guard.py [--write] [PATH ...]

Each path of `paths.py` runs under valgrind, a few times and many times; the difference, divided, is what one turn
costs, without start-up. The counts are compared with `bench/guard.json`: a path that costs over 4 % more fails, one
that costs over 4 % less asks for `--write`, which takes the counts as the new measure. They hold for one version of
Python and one kind of processor: elsewhere (`--ratios`) only the relations between the paths are compared, with more
tolerance.
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
from concurrent.futures import ThreadPoolExecutor
from importlib.metadata import version
from pathlib import Path
from statistics import median
from typing import Any

from paths import HEAVY, PATHS

HERE = Path(__file__).resolve().parent
BASELINE = HERE / "guard.json"
TOLERANCE = 0.04
"""Repeated counts of the same code differed by at most 0.3 %: addresses are not quite the same each time."""
TOLERANCE_ELSEWHERE = 0.12
FEW, MANY = 20, 120
FEW_HEAVY, MANY_HEAVY = 4, 12
_COUNT = re.compile(rb"I\s+refs:\s+([\d,]+)")


def counted(path: str) -> int:
    """Instructions of one turn."""
    turns = (FEW_HEAVY, MANY_HEAVY) if path.startswith(HEAVY) else (FEW, MANY)
    few, many = (_instructions(path, times) for times in turns)
    return (many - few) // (turns[1] - turns[0])


def _instructions(path: str, times: int) -> int:
    command = ["valgrind", "--tool=cachegrind", "--cache-sim=no", "--cachegrind-out-file=/dev/null"]
    command += [sys.executable, "-X", "frozen_modules=on", str(HERE / "paths.py"), path, str(times)]
    environment = {**os.environ, "PYTHONHASHSEED": "0", "PYTHONMALLOC": "pymalloc"}
    ran = subprocess.run(command, capture_output=True, env=environment, check=False, timeout=900)
    found = _COUNT.search(ran.stderr)
    if ran.returncode or found is None:
        raise SystemExit(f"{path} did not run under valgrind:\n{ran.stderr.decode(errors='replace')[-2000:]}")
    return int(found[1].replace(b",", b""))


def surroundings() -> dict[str, str]:
    """What the counts hold for."""
    libraries = {name: version(name) for name in ("msgspec", "orjson")}
    return {"python": platform.python_version(), "machine": platform.machine(), **libraries}


def compared(counts: dict[str, int], known: dict[str, int], elsewhere: bool) -> dict[str, float]:
    """How much dearer each path is than it was; elsewhere, than the median path is."""
    changes = {path: counts[path] / known[path] for path in counts if path in known}
    usual = median(changes.values()) if elsewhere and changes else 1.0
    return {path: change / usual - 1 for path, change in changes.items()}


def verdict(changes: dict[str, float], counts: dict[str, int], tolerance: float) -> int:
    for path, count in counts.items():
        change = changes.get(path)
        told = "new" if change is None else f"{change:+.1%}"
        mark = "" if change is None or abs(change) <= tolerance else "  DEARER" if change > 0 else "  cheaper"
        print(f"{path:40} {count:>12,} {told:>8}{mark}")
    worse = [path for path, change in changes.items() if change > tolerance]
    better = [path for path, change in changes.items() if change < -tolerance]
    if worse:
        print(f"\n{len(worse)} paths cost more than {tolerance:.0%} above the baseline.")
    elif better:
        print("\nCheaper than the baseline: take it with --write, so that it stays so.")
    return 1 if worse else 0


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("paths", nargs="*")
    parser.add_argument("--write", action="store_true", help="take these counts as the baseline")
    parser.add_argument("--ratios", action="store_true", help="compare relations only, as on another machine")
    given = parser.parse_args()
    if shutil.which("valgrind") is None:
        raise SystemExit("valgrind is not installed; on Debian: apt-get install valgrind")
    names = given.paths or list(PATHS)
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        counts = dict(zip(names, pool.map(counted, names), strict=True))
    known: dict[str, Any] = (
        json.loads(BASELINE.read_text()) if BASELINE.exists() else {"instructions": {}, "for": surroundings()}
    )
    if given.write:
        known = {"for": surroundings(), "instructions": known["instructions"] | counts}
        BASELINE.write_text(json.dumps(known, indent=2) + "\n")
    elsewhere = given.ratios or known["for"] != surroundings()
    if elsewhere:
        print(f"The baseline holds for {known['for']}: only relations between the paths are compared.\n")
    changes = compared(counts, known["instructions"], elsewhere)
    return verdict(changes, counts, TOLERANCE_ELSEWHERE if elsewhere else TOLERANCE)


if __name__ == "__main__":
    sys.exit(main())
