"""Several processes that share one port. The first process forwards signals and replaces workers that ended."""

from __future__ import annotations

import os
import signal
import sys
import time
from collections.abc import Callable
from types import FrameType
from typing import NoReturn

QUICK_SECONDS = 1.0
"""A worker that ends within this time did not start properly."""
WATCH_SECONDS = 1.0
MAX_QUICK_ENDS = 3
"""Give up after this many in a row."""


class Workers:
    """Forked workers. They inherit the listening socket and all imported modules.

    `check_config` is called on SIGHUP, and with `watch` every second, so that the next worker gets the newest file.
    """

    def __init__(
        self, count: int, work: Callable[[], int], check_config: Callable[[], None], watch: bool = True
    ) -> None:
        self._count = count
        self._work = work
        self._check_config = check_config
        self._watch = watch
        self._started: dict[int, float] = {}
        self._stopping = False
        self._quick_ends = 0

    def run(self) -> int:
        """Run until a signal. Returns 0, or 1 if the workers do not start."""
        for _ in range(self._count):
            self._fork()
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, self._stop)
        signal.signal(signal.SIGHUP, self._reload)
        signal.signal(signal.SIGALRM, lambda *_: self._check_config())
        if self._watch:
            signal.setitimer(signal.ITIMER_REAL, WATCH_SECONDS, WATCH_SECONDS)
        while self._started:
            ended, status = os.wait()
            self._ended(ended, os.waitstatus_to_exitcode(status))
        signal.setitimer(signal.ITIMER_REAL, 0)  # a tick while Python shuts down would end us with its signal
        return 1 if self._quick_ends >= MAX_QUICK_ENDS else 0

    def _fork(self) -> None:
        sys.stdout.flush()
        sys.stderr.flush()
        child = os.fork()
        if child == 0:
            _child(self._work)
        self._started[child] = time.monotonic()

    def _ended(self, child: int, code: int) -> None:
        started = self._started.pop(child, None)
        if started is None or self._stopping:
            return
        self._quick_ends = self._quick_ends + 1 if time.monotonic() - started < QUICK_SECONDS else 0
        print(f"dragoman: worker {child} ended with {code}", file=sys.stderr, flush=True)
        if self._quick_ends >= MAX_QUICK_ENDS:
            self._stop(signal.SIGTERM, None)
        else:
            self._fork()

    def _stop(self, number: int, _: FrameType | None) -> None:
        self._stopping = True
        self._pass_on(number, None)

    def _reload(self, number: int, _: FrameType | None) -> None:
        self._check_config()
        self._pass_on(number, None)

    def _pass_on(self, number: int, _: FrameType | None) -> None:
        for child in tuple(self._started):
            try:
                os.kill(child, number)
            except ProcessLookupError:  # it has ended; `run` will notice
                continue


def _child(work: Callable[[], int]) -> NoReturn:
    """Run a worker, then exit without the clean-up of the first process."""
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGALRM):
        signal.signal(number, signal.SIG_DFL)
    code = 1
    try:
        code = work()
    except Exception:
        sys.excepthook(*sys.exc_info())
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)
