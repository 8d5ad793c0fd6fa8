"""How a command that serves is told to end."""

from __future__ import annotations

import signal


def until_told() -> None:
    """Let SIGINT and SIGTERM raise KeyboardInterrupt from now on.

    A shell starts its background jobs with SIGINT ignored, and Python keeps it so: the command could not be ended.
    """
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.default_int_handler)
