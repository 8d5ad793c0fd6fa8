"""What goes wrong on the way, as the closed set of kinds that clients see."""

from __future__ import annotations

from dragoman.conversation.failures import Failure, FailureKind
from dragoman.upstream.transport.failures import TimedOut, TooLarge, TransportFailure
from dragoman.upstream.transport.incoming import Incoming
from dragoman.wire.error_bodies import UNREADABLE

ERROR_LIMIT = 1024 * 1024


def transport_failure(fault: TransportFailure) -> Failure:
    """No answer, or half of one."""
    if isinstance(fault, TimedOut):
        return Failure(FailureKind.TIMEOUT, str(fault), 504)
    if isinstance(fault, TooLarge):
        return Failure(FailureKind.ANSWER_TOO_LARGE, str(fault), 502)
    return Failure(FailureKind.NETWORK, str(fault), 502)


async def error_body(incoming: Incoming) -> bytes:
    """The provider's own words. An error's body is read whole even if a stream was asked for."""
    try:
        return await incoming.read(ERROR_LIMIT)
    except TransportFailure:
        await incoming.close()
        return UNREADABLE.encode()
