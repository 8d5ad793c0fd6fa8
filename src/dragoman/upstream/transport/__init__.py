"""A pooled HTTP/1.1 client over asyncio and httptools.

    async with Transport() as transport:
        answer = await transport.send(Outgoing("POST", url, headers, body), Timeouts(first_byte=60))
        async for piece in answer:
            ...

`docs/decisions/own-http-client.md` explains why Dragoman has its own client and what it leaves out.
"""

from dragoman.upstream.transport.address_guard import public_only
from dragoman.upstream.transport.failures import (
    AddressRefused,
    BrokenResponse,
    ConnectFailed,
    Phase,
    PoolFull,
    ProxyFailed,
    TimedOut,
    TlsFailed,
    TooLarge,
    TransportClosed,
    TransportFailure,
    UnknownEncoding,
    Unsendable,
)
from dragoman.upstream.transport.incoming import Incoming
from dragoman.upstream.transport.limits import Stats, Timeouts, TransportLimits
from dragoman.upstream.transport.outgoing import Outgoing
from dragoman.upstream.transport.proxy import Proxies
from dragoman.upstream.transport.tls import Tls

__all__ = [
    "AddressRefused",
    "BrokenResponse",
    "ConnectFailed",
    "Incoming",
    "Outgoing",
    "Phase",
    "PoolFull",
    "Proxies",
    "ProxyFailed",
    "Stats",
    "TimedOut",
    "Timeouts",
    "Tls",
    "TlsFailed",
    "TooLarge",
    "TransportClosed",
    "TransportFailure",
    "TransportLimits",
    "UnknownEncoding",
    "Unsendable",
    "public_only",
]
