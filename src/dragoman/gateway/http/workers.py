"""Several processes that share one port. The first process forwards signals and replaces workers that ended.

It waits in one place, for signals and for the next look at the configuration. Nothing happens inside a signal handler,
there is no timer, and no thread, which would not survive a fork.
"""

from __future__ import annotations

import os
import select
import signal
import socket
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from typing import NoReturn

QUICK_SECONDS = 1.0
"""A worker that ends within this time did not start properly."""
WATCH_SECONDS = 1.0
MAX_QUICK_ENDS = 3
"""Give up after this many in a row."""
_STOPS = frozenset({signal.SIGTERM, signal.SIGINT})
_SIGNALS = (*_STOPS, signal.SIGHUP, signal.SIGCHLD)


class WorkerProcess:
    """A running worker: its place among the others, and when it began."""

    __slots__ = ("place", "since")

    def __init__(self, place: int) -> None:
        self.place = place
        self.since = time.monotonic()


class Workers:
    """Forked workers. They inherit the listening socket and all imported modules.

    `work` runs in a worker and is given its place, a number below `count`. `note_ended` is told the process id and the
    exit code of a worker that ended by itself. `check_config` is called on SIGHUP, and with
    `watch` every second, so that the next worker gets the newest file. Signals are caught from the beginning, so that a
    stop at any moment is a proper one.
    """

    def __init__(
        self,
        count: int,
        work: Callable[[int], int],
        check_config: Callable[[], None],
        note_ended: Callable[[int, int], None],
        *,
        watch: bool = True,
    ) -> None:
        self._count = count
        self._work = work
        self._check_config = check_config
        self._note_ended = note_ended
        self._watch = watch
        self._running: dict[int, WorkerProcess] = {}
        self._stopping = False
        self._quick_ends = 0
        self._signals_in, self._signals_out = socket.socketpair()
        self._catch_signals()

    def run(self) -> int:
        """Run until a signal. Returns 0, or 1 if the workers do not start."""
        for place in range(self._count):
            self._fork(place)
        while self._running:
            self._handle(self._wait())
            self._reap()
        for number in (*_STOPS, signal.SIGHUP):
            signal.signal(number, signal.SIG_IGN)  # one more must not end us while Python shuts down
        return 1 if self._quick_ends >= MAX_QUICK_ENDS else 0

    def _catch_signals(self) -> None:
        """Have the interpreter write the number of each signal to a socket."""
        self._signals_in.setblocking(False)
        self._signals_out.setblocking(False)
        for number in _SIGNALS:
            signal.signal(number, lambda *_: None)
        signal.set_wakeup_fd(self._signals_out.fileno(), warn_on_full_buffer=False)

    def _wait(self) -> set[int]:
        """The signals that came, after at most a second if the configuration is watched."""
        watching = self._watch and not self._stopping
        ready, _, _ = select.select([self._signals_in], [], [], WATCH_SECONDS if watching else None)
        if ready:
            return set(self._signals_in.recv(4096))
        self._check_config()
        return set()

    def _handle(self, signals: set[int]) -> None:
        if not _STOPS.isdisjoint(signals):
            self._stop()
        elif signal.SIGHUP in signals:
            self._check_config()
            self._pass_on(signal.SIGHUP)

    def _fork(self, place: int) -> None:
        """Start a worker. It must not take a signal for the first process before its own handlers are set."""
        _flush_output()
        before = signal.pthread_sigmask(signal.SIG_BLOCK, _SIGNALS)
        child = os.fork()
        if child == 0:
            self._become_worker(place, before)
        self._running[child] = WorkerProcess(place)
        signal.pthread_sigmask(signal.SIG_SETMASK, before)

    def _become_worker(self, place: int, mask: set[signal.Signals | int]) -> NoReturn:
        """Run the work in the child, then exit without the clean-up of the first process."""
        signal.set_wakeup_fd(-1)
        for number in _SIGNALS:
            signal.signal(number, signal.SIG_DFL)
        signal.signal(signal.SIGHUP, signal.SIG_IGN)  # until it listens: it has just been given the newest file
        signal.pthread_sigmask(signal.SIG_SETMASK, mask)
        code = 1
        try:
            code = self._work(place)
        except Exception:
            sys.excepthook(*sys.exc_info())
        finally:
            _flush_output()
            os._exit(code)

    def _reap(self) -> None:
        """Note the workers that ended, and replace them."""
        while self._running:
            child, status = os.waitpid(-1, os.WNOHANG)
            if child == 0:
                return
            self._ended(child, os.waitstatus_to_exitcode(status))

    def _ended(self, child: int, code: int) -> None:
        ended = self._running.pop(child, None)
        if ended is None or self._stopping:
            return
        self._quick_ends = self._quick_ends + 1 if time.monotonic() - ended.since < QUICK_SECONDS else 0
        self._note_ended(child, code)
        if self._quick_ends >= MAX_QUICK_ENDS:
            self._stop()
        else:
            self._fork(ended.place)

    def _stop(self) -> None:
        """A terminal tells the workers of Ctrl-C too, and a second SIGINT would cut their requests: send SIGTERM."""
        self._stopping = True
        self._pass_on(signal.SIGTERM)

    def _pass_on(self, number: signal.Signals) -> None:
        for child in tuple(self._running):
            try:
                os.kill(child, number)
            except ProcessLookupError:  # it has ended; `run` will notice
                continue


def _flush_output() -> None:
    """Write what the two processes would both write. A full disk or a reader that is gone ends neither of them."""
    for stream in (sys.stdout, sys.stderr):
        with suppress(OSError):
            if stream is not None:
                stream.flush()
