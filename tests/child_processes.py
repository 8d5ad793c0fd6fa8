"""Servers that tests start end with them: when the run is over, and also when the process of the tests is killed."""

from __future__ import annotations

import atexit
import ctypes
import os
import signal
import sys
from collections.abc import Callable

_PR_SET_PDEATHSIG = 1
_LIBC = ctypes.CDLL(None, use_errno=True) if sys.platform == "linux" else None
_ends: list[Callable[[], None]] = []


def dies_with_us(
    number: signal.Signals = signal.SIGKILL, before: Callable[[], None] | None = None
) -> Callable[[], None] | None:
    """What `Popen` calls as `preexec_fn`: the kernel sends the child this signal when the thread that started it ends.

    `before` runs in the child besides.
    """
    if _LIBC is None:
        return before
    libc, parent = _LIBC, os.getpid()

    def ask_the_kernel() -> None:
        if before is not None:
            before()
        libc.prctl(_PR_SET_PDEATHSIG, int(number), 0, 0, 0)
        if os.getppid() != parent:  # it has ended meanwhile
            os.kill(os.getpid(), number)

    return ask_the_kernel


def at_end(close: Callable[[], None]) -> None:
    """Call `close` when the run is over. Workers of xdist leave without what `atexit` knows."""
    if not _ends:
        atexit.register(end_all)
    _ends.append(close)


def end_all() -> None:
    while _ends:
        _ends.pop()()
