"""What can go wrong between us and an upstream server.

    TransportFailure
    ├── Unsendable          the request itself cannot be written as HTTP/1.1
    ├── PoolFull            too many requests wait for this origin already
    ├── TransportClosed     the transport was shut down
    ├── ConnectFailed       no connection: name, route, refusal
    │   ├── AddressRefused  the host leads to an address that our guard does not allow
    │   ├── TlsFailed       a connection, but no trust
    │   └── ProxyFailed     the proxy did not let us through
    ├── TimedOut            `phase` says which patience ran out
    ├── BrokenResponse      the answer is cut, malformed or contradicts itself
    │   └── UnknownEncoding the answer is compressed in a way we did not ask for and cannot read
    └── TooLarge            headers or body beyond the limit that was set

Each names the place (an origin, never a path or a query, which may hold a key), what happened and what to do.
`sent` tells whether the server may have seen the request: where it is False, sending again is always safe.
"""

from enum import StrEnum
from typing import ClassVar

from dragoman.errors import UpstreamError


class Phase(StrEnum):
    """The stretches of an exchange that have a patience of their own."""

    QUEUE = "queue"
    CONNECT = "connect"
    SEND = "send"
    FIRST_BYTE = "first_byte"
    IDLE = "idle"
    TOTAL = "total"


class TransportFailure(UpstreamError):
    """An exchange that gave no usable answer."""

    sent: bool = True

    def __init__(self, where: str, what: str, advice: str) -> None:
        super().__init__(what, at=where, hint=advice)
        self.where = where
        self.what = what
        self.advice = advice

    def __str__(self) -> str:
        return f"{self.where}: {self.what}. {self.advice}"


class Unsendable(TransportFailure):
    """The request cannot be written without breaking HTTP, or without letting a value pose as a header."""

    sent = False


class PoolFull(TransportFailure):
    """The queue for this origin is as long as it may get."""

    sent = False


class TransportClosed(TransportFailure):
    """The transport was shut down before the exchange was over."""


class ConnectFailed(TransportFailure):
    """No connection came about."""

    sent = False


class AddressRefused(ConnectFailed):
    """The host leads somewhere it may not: into a private network, most likely."""


class TlsFailed(ConnectFailed):
    """The server answered, but did not prove who it is, or spoke no TLS."""


class ProxyFailed(ConnectFailed):
    """The proxy on the way refused, or cannot be used."""


class TimedOut(TransportFailure):
    """A patience ran out; `phase` names it, and with it the setting to raise."""

    _SAYS: ClassVar[dict[Phase, str]] = {
        Phase.QUEUE: "no connection became free within {} s",
        Phase.CONNECT: "no connection within {} s",
        Phase.SEND: "the server took no more of the request for {} s",
        Phase.FIRST_BYTE: "no answer began within {} s",
        Phase.IDLE: "the answer stood still for {} s",
        Phase.TOTAL: "the exchange was not over within {} s",
    }

    def __init__(self, where: str, phase: Phase, seconds: float | None) -> None:
        setting = Phase.IDLE if phase is Phase.SEND else phase
        shown = "its" if seconds is None else f"{seconds:g}"
        super().__init__(where, self._SAYS[phase].format(shown), f"Raise the {setting} timeout if that was too short")
        self.phase = phase
        self.seconds = seconds
        self.sent = phase not in (Phase.QUEUE, Phase.CONNECT)


class BrokenResponse(TransportFailure):
    """The answer ended too early or is not the HTTP it claims to be."""


class UnknownEncoding(BrokenResponse):
    """The body is compressed with something other than gzip or deflate."""


class TooLarge(TransportFailure):
    """The answer went over a limit."""
