"""Ports for servers that tests start by number, and the end of those that they listen at.

They lie outside of the range that systems give to outgoing connections: a port that was free a moment ago, or whose
server is about to start again, is not taken by one of those.
"""

from __future__ import annotations

import socket
from contextlib import suppress
from random import SystemRandom

_FIRST, _LAST = 12_000, 32_000


def free_port(beside: int = 0) -> int:
    """A port; with `beside` the one so far above it is free, too."""
    chance = SystemRandom()  # tests may seed the other one, in all processes alike
    for _ in range(1000):
        port = chance.randrange(_FIRST, _LAST - beside)
        if _is_free(port) and _is_free(port + beside):
            return port
    raise RuntimeError("no free port")


def _is_free(port: int) -> bool:
    with socket.socket() as probe:
        try:
            probe.bind(("127.0.0.1", port))
        except OSError:
            return False
    return True


def stop_listening(listening: socket.socket) -> None:
    """Close a socket at which a thread waits. Closing alone does not wake it, and another socket may get its number."""
    with suppress(OSError):
        listening.shutdown(socket.SHUT_RDWR)
    listening.close()
