"""How much work a function does: counted in calls or lines, and in CPU time only for what needs neither."""

from __future__ import annotations

import gc
import sys
import time
from collections.abc import Callable
from types import FrameType
from typing import Any

from dragoman.conversation.bounded_cache import POOL

MOST_TRIES = 12
"""Noise makes a try dearer, so the cheapest counts. A second one is rarely needed."""


def count_calls(run: Callable[[], object]) -> int:
    """How many Python and C functions are called."""
    count = 0

    def tick(frame: FrameType, event: str, argument: object) -> None:
        nonlocal count
        count += event in ("call", "c_call")

    sys.setprofile(tick)
    try:
        run()
    finally:
        sys.setprofile(None)
    return count


def count_lines(run: Callable[[], object]) -> int:
    """How many lines are run, each turn of a loop counted."""
    count = 0

    def trace(frame: FrameType, event: str, argument: object) -> Any:
        nonlocal count
        count += event == "line"
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        run()
    finally:
        sys.settrace(before)
    return count


def measure_growth(small: Callable[[], object], large: Callable[[], object], *, times: float, most: float) -> float:
    """How much dearer the larger run is than its size says, which is `times` that of the smaller one.

    1 is linear. It is measured again while it is above `most`."""
    few = many = float("inf")
    small()
    for _ in range(MOST_TRIES):
        few = min(few, _cpu_seconds(small), _cpu_seconds(small))
        many = min(many, _cpu_seconds(large))
        if many < most * few * times:
            break
    return many / few / times


def _cpu_seconds(run: Callable[[], object]) -> float:
    """With nothing remembered: a small request would find its schemas in the caches, a large one would not.

    A clock that stood still measured nothing, so such a run does not count."""
    while True:
        POOL.clear()
        gc.collect()
        gc.disable()
        began = time.process_time()
        try:
            run()
            took = time.process_time() - began
        finally:
            gc.enable()
        if took > 0:
            return took
