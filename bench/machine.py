"""What the machine tells of processes: their CPU time, their memory, their open files, and where they may run."""

from __future__ import annotations

import os
import platform
import re
import subprocess
import time
from collections.abc import Iterable
from pathlib import Path

GATEWAY_CORE = 0
LOAD_CORE = 1


def pin(*cores: int, pid: int = 0) -> None:
    """Keep a process on these cores, where the machine has them."""
    there = os.sched_getaffinity(0) | set(range(os.cpu_count() or 1))
    os.sched_setaffinity(pid, (set(cores) & there) or there)


def commit() -> str:
    """The commit that is measured."""
    asked = ["git", "rev-parse", "--short=12", "HEAD"]
    return subprocess.run(asked, capture_output=True, check=True, text=True, cwd=Path(__file__).parent).stdout.strip()


def tree(pid: int) -> list[int]:
    """A process and all that it started."""
    found = [pid]
    for one in found:
        try:
            children = Path(f"/proc/{one}/task/{one}/children").read_text()
        except OSError:
            continue
        found += map(int, children.split())
    return found


def cpu_seconds(pid: int) -> float:
    """CPU time of a process and its descendants, to the nanosecond.

    `/proc/PID/stat` counts in hundredths of a second, which is a hundred requests of ours. Linux has a clock for every
    process; the number of that clock is the one which `clock_getcpuclockid` makes.
    """
    total = 0.0
    for one in tree(pid):
        try:
            total += time.clock_gettime((~one << 3) | 2)
        except OSError:
            continue
    return total


def memory_mb(pid: int) -> float:
    """Resident memory of a process; of several, pages that they share are shared out among them."""
    processes = tree(pid)
    kind = "Rss" if len(processes) == 1 else "Pss"
    return sum(_resident(one, kind) for one in processes) / 1024


def _resident(pid: int, kind: str) -> int:
    try:
        told = Path(f"/proc/{pid}/smaps_rollup").read_text()
    except OSError:
        return 0
    found = re.search(rf"^{kind}:\s+(\d+)", told, re.MULTILINE)
    return int(found[1]) if found else 0


def open_files(pid: int) -> int:
    return sum(_entries(f"/proc/{one}/fd") for one in tree(pid))


def _entries(folder: str) -> int:
    try:
        return len(os.listdir(folder))
    except OSError:
        return 0


def described() -> str:
    """The machine in one line."""
    model = re.search(r"^model name\s*:\s*(.+)$", Path("/proc/cpuinfo").read_text(), re.MULTILINE)
    cores = os.cpu_count()
    name = model[1].strip() if model else platform.machine()
    return f"{cores} cores of {name}, Linux {platform.release()}, Python {platform.python_version()}"


def first_line(command: Iterable[str]) -> str:
    """What a program says of its version; empty where there is no such program."""
    try:
        ran = subprocess.run([*command], capture_output=True, text=True, check=False, timeout=60)
    except OSError:
        return ""
    said = (ran.stdout or ran.stderr).strip().splitlines()
    return said[0] if said else ""
