"""What goes wrong on the way, as the closed set of kinds that clients are told."""

from __future__ import annotations

from collections.abc import Mapping

from dragoman.conversation.failures import Failure, FailureKind
from dragoman.upstream.transport import TimedOut, TooLarge, TransportFailure
from dragoman.upstream.transport.incoming import Incoming
from dragoman.wire.error_bodies import parse_failure

ERROR_LIMIT = 1024 * 1024
UNREADABLE = "Unable to read error response from provider"


def transport_failure(fault: TransportFailure) -> Failure:
    """No answer, or half of one."""
    if isinstance(fault, TimedOut):
        return Failure(FailureKind.TIMEOUT, str(fault), 504)
    if isinstance(fault, TooLarge):
        return Failure(FailureKind.SERVER, str(fault), 502)
    return Failure(FailureKind.NETWORK, str(fault), 502)


async def refusal(incoming: Incoming, provider: str) -> Failure:
    """The provider's own words. An error's body is read even where a stream was asked for."""
    headers: Mapping[str, str] = dict(incoming.headers)
    try:
        body = await incoming.read(ERROR_LIMIT)
    except TransportFailure:
        await incoming.close()
        return parse_failure(incoming.status, headers, UNREADABLE.encode(), provider)
    return parse_failure(incoming.status, headers, body, provider)
