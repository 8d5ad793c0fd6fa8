"""Failures between Dragoman and an upstream server.

    TransportFailure
    ├── Unsendable          the request cannot be sent as HTTP/1.1
    ├── PoolFull            too many requests already wait for this origin
    ├── TransportClosed     the transport was shut down
    ├── ConnectFailed       no connection: name not found, no route, refused
    │   ├── AddressRefused  the host resolves to an address that is not allowed
    │   ├── TlsFailed       no TLS, or no trusted certificate
    │   └── ProxyFailed     the proxy refused or failed
    ├── TimedOut            `phase` names the timeout
    ├── BrokenResponse      the answer is incomplete, malformed or contradictory
    │   └── UnknownEncoding the answer is compressed in an unsupported way
    └── TooLarge            headers or body exceed the limit

Each names the place (an origin, never a path or query, which may contain a key), what happened, and what to do. `sent`
tells whether the server may have received the request: if it is False, sending it again is always safe.
"""

from enum import StrEnum
from typing import ClassVar

from dragoman.errors import UpstreamError


class Phase(StrEnum):
    """The phases of a request, each with its own timeout."""

    QUEUE = "queue"
    CONNECT = "connect"
    SEND = "send"
    FIRST_BYTE = "first_byte"
    IDLE = "idle"
    TOTAL = "total"


class TransportFailure(UpstreamError):
    """A request without a usable answer."""

    sent: bool = True

    def __init__(self, where: str, what: str, advice: str) -> None:
        super().__init__(what, at=where, hint=advice)
        self.where = where
        self.what = what
        self.advice = advice

    def __str__(self) -> str:
        return f"{self.where}: {self.what}. {self.advice}"


class Unsendable(TransportFailure):
    """The request is not valid HTTP, or one of its values could inject a header."""

    sent = False


class PoolFull(TransportFailure):
    """The queue for this origin is full."""

    sent = False


class TransportClosed(TransportFailure):
    """The transport was closed before the request was complete."""


class ConnectFailed(TransportFailure):
    """The connection could not be opened."""

    sent = False


class AddressRefused(ConnectFailed):
    """The host resolves to an address that is not allowed, most likely in a private network."""


class TlsFailed(ConnectFailed):
    """The server has no trusted certificate, or does not use TLS."""


class ProxyFailed(ConnectFailed):
    """The proxy refused, or cannot be used."""


class TimedOut(TransportFailure):
    """A timeout. `phase` names it, and the setting to raise."""

    _MESSAGES: ClassVar[dict[Phase, str]] = {
        Phase.QUEUE: "no connection became free within {} s",
        Phase.CONNECT: "no connection within {} s",
        Phase.SEND: "the server accepted no more of the request for {} s",
        Phase.FIRST_BYTE: "no answer within {} s",
        Phase.IDLE: "no more of the answer for {} s",
        Phase.TOTAL: "the answer was not complete within {} s",
    }

    def __init__(self, where: str, phase: Phase, seconds: float | None) -> None:
        setting = Phase.IDLE if phase is Phase.SEND else phase
        shown = "its" if seconds is None else f"{seconds:g}"
        super().__init__(
            where, self._MESSAGES[phase].format(shown), f"Raise the {setting} timeout if this is too short"
        )
        self.phase = phase
        self.seconds = seconds
        self.sent = phase not in (Phase.QUEUE, Phase.CONNECT)


class BrokenResponse(TransportFailure):
    """The answer is incomplete or not valid HTTP."""


class UnknownEncoding(BrokenResponse):
    """The body is compressed with something other than gzip or deflate."""


class TooLarge(TransportFailure):
    """The answer exceeds a limit."""
