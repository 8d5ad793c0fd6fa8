"""Stop signals for commands that run until they are stopped."""

from __future__ import annotations

import signal
import socket
from collections.abc import Callable, Iterator
from contextlib import contextmanager

_NUMBERS = (signal.SIGINT, signal.SIGTERM)


def raise_on_stop_signals() -> None:
    """Let SIGINT and SIGTERM raise KeyboardInterrupt from now on.

    A shell starts background jobs with SIGINT ignored, and Python keeps that. Without this they could not be stopped.
    """
    for number in _NUMBERS:
        signal.signal(number, signal.default_int_handler)


def raise_on_interrupt() -> None:
    """Let SIGINT raise KeyboardInterrupt from now on, also if a shell had it ignored."""
    signal.signal(signal.SIGINT, signal.default_int_handler)


@contextmanager
def stop_signals() -> Iterator[Callable[[], object]]:
    """A function that waits until a stop signal arrives. One that arrived since the beginning counts.

    The interpreter writes a byte for each signal, in whatever thread it arrives. An exception instead is lost if it
    is raised in a destructor, and the command would go on for ever.
    """
    reader, writer = socket.socketpair()
    writer.setblocking(False)
    for number in _NUMBERS:
        signal.signal(number, lambda *_: None)
    signal.set_wakeup_fd(writer.fileno(), warn_on_full_buffer=False)
    try:
        yield lambda: reader.recv(1)
    finally:
        signal.set_wakeup_fd(-1)
        reader.close()
        writer.close()
