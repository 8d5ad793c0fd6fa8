"""What goes wrong on the way, as the closed set of kinds that clients see."""

from __future__ import annotations

from dragoman.conversation.failures import Failure, FailureKind
from dragoman.upstream.transport.failures import TimedOut, TooLarge, TransportFailure
from dragoman.upstream.transport.incoming import Incoming
from dragoman.wire.error_bodies import UNREADABLE

ERROR_LIMIT = 1024 * 1024


def transport_failure(fault: TransportFailure, name: str) -> Failure:
    """No answer, or half of one. Clients are told the target's name; its address is for the operator."""
    kind, status = FailureKind.NETWORK, 502
    if isinstance(fault, TimedOut):
        kind, status = FailureKind.TIMEOUT, 504
    elif isinstance(fault, TooLarge):
        kind = FailureKind.ANSWER_TOO_LARGE
    return Failure(kind, f"{name}: {fault.what}. {fault.advice}", status, place=fault.where)


async def error_body(incoming: Incoming) -> bytes:
    """The provider's own words. An error's body is read whole even if a stream was asked for."""
    try:
        return await incoming.read(ERROR_LIMIT)
    except TransportFailure:
        await incoming.close()
        return UNREADABLE.encode()
