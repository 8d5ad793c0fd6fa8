"""How much, and how long: the bounds of the transport."""

import msgspec

from dragoman.upstream.transport.failures import Phase


class Timeouts(msgspec.Struct, frozen=True):
    """Patience in seconds; None waits for ever. `total` runs from `send` to the last byte, the others per wait."""

    connect: float | None = 10
    first_byte: float | None = 600
    idle: float | None = 120
    total: float | None = None
    queue: float | None = 60

    def of(self, phase: Phase) -> float | None:
        """The patience for a phase; sending and receiving share `idle`."""
        match phase:
            case Phase.QUEUE:
                return self.queue
            case Phase.CONNECT:
                return self.connect
            case Phase.FIRST_BYTE:
                return self.first_byte
            case Phase.TOTAL:
                return self.total
            case _:
                return self.idle


class Limits(msgspec.Struct, frozen=True):
    """Bounds per origin and per answer.

    `buffer` is how much of a body may wait for a slow reader before the socket is left alone; the kernel then slows
    the server down.
    """

    per_origin: int = 2048
    queued: int = 8192
    idle_seconds: float = 55
    max_headers: int = 65536
    buffer: int = 131072


class Stats(msgspec.Struct, frozen=True):
    """Sockets open (or being opened), those of them idle, and requests that wait for one."""

    open: int
    idle: int
    queued: int
