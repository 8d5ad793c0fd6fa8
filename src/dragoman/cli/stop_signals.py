"""Stop signals for commands that run until they are stopped."""

from __future__ import annotations

import signal


def raise_on_stop_signals() -> None:
    """Let SIGINT and SIGTERM raise KeyboardInterrupt from now on.

    A shell starts background jobs with SIGINT ignored, and Python keeps that. Without this they could not be stopped.
    """
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.default_int_handler)
