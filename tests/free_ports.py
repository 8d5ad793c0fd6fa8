"""Ports for servers that tests start by number.

They lie outside of the range that systems give to outgoing connections: a port that was free a moment ago, or whose
server is about to start again, is not taken by one of those.
"""

from __future__ import annotations

import socket
from random import SystemRandom

_FIRST, _LAST = 12_000, 32_000


def free_port() -> int:
    chance = SystemRandom()  # tests may seed the other one, in all processes alike
    for _ in range(1000):
        port = chance.randrange(_FIRST, _LAST)
        with socket.socket() as probe:
            try:
                probe.bind(("127.0.0.1", port))
            except OSError:
                continue
            return port
    raise RuntimeError("no free port")
