"""Limits and timeouts of the transport."""

import msgspec

from dragoman.upstream.transport.failures import Phase


class Timeouts(msgspec.Struct, frozen=True):
    """Timeouts in seconds; None waits forever."""

    connect: float | None = 10
    first_byte: float | None = 600
    idle: float | None = 120
    total: float | None = None
    """From `send` to the last byte."""
    queue: float | None = 60

    def of(self, phase: Phase) -> float | None:
        """The timeout of a phase. Sending and receiving share `idle`."""
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


class TransportLimits(msgspec.Struct, frozen=True):
    """Limits per origin and per answer."""

    per_origin: int = 2048
    queued: int = 8192
    idle_seconds: float = 55
    max_headers: int = 65536
    buffer: int = 131072
    """How many bytes may wait for a slow reader before the transport stops reading from the socket. TCP then slows the
    server down."""


class Stats(msgspec.Struct, frozen=True):
    """The sockets to one origin."""

    open: int
    """All of them, also those being opened."""
    idle: int
    """Those that no request uses."""
    queued: int
    """Requests that wait for one."""
