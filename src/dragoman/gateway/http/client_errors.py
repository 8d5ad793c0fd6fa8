"""What a client is told of a request that failed before it had an answer: an unreadable body is 4xx, an internal error
500."""

from __future__ import annotations

import traceback

from dragoman.config.schema.log import LogLevel
from dragoman.conversation.failures import Failure, FailureKind
from dragoman.engine.answer.client_failures import failure_of
from dragoman.errors import DragomanError
from dragoman.gateway.callers.caller import Refused
from dragoman.gateway.http.inbound import BodyEncodingRefused, BodyTooLarge, BodyTooSlow
from dragoman.gateway.http.outbound import Outbound
from dragoman.gateway.records.records import Records
from dragoman.store.errors import StoreUnavailable

BODY_ERRORS = (BodyTooLarge, BodyTooSlow, BodyEncodingRefused)
"""Errors of a body that could not be received."""


def as_failure(error: Refused | DragomanError | BodyTooLarge | BodyTooSlow | BodyEncodingRefused) -> Failure:
    """The failure for an exception, whose traceback is let go.

    An exception and the frames of its traceback often refer to each other. The frames hold the body, and the garbage
    collector, which counts objects and not bytes, would let many of them pile up.
    """
    error.__traceback__ = None
    if isinstance(error, Refused):
        return error.failure
    if isinstance(error, BodyTooLarge):
        return Failure(FailureKind.TOO_LARGE, str(error), 413)
    if isinstance(error, BodyTooSlow):
        return Failure(FailureKind.BAD_REQUEST, str(error), 408)
    if isinstance(error, BodyEncodingRefused):
        return Failure(FailureKind.BAD_REQUEST, str(error), 415)
    if isinstance(error, StoreUnavailable):
        return Failure(FailureKind.OVERLOADED, str(error), 503, retry_after=1.0)
    return failure_of(error)


async def tell_fault(records: Records, outbound: Outbound, dialect: str, fault: Exception) -> None:
    """Tell the client what went wrong, in its dialect. Of a fault of our own the log gets all, the client the id."""
    if isinstance(fault, Refused):
        await outbound.refusal(dialect, as_failure(fault), list(fault.headers))
    elif isinstance(fault, (DragomanError, *BODY_ERRORS)):
        await outbound.refusal(dialect, as_failure(fault))
    else:
        trace = records.redactor.text("".join(traceback.format_exception(fault)))
        records.lines.add(LogLevel.ERROR, {"event": "crash", "id": outbound.id, "error": trace})
        if outbound.started:
            raise fault
        message = f"the gateway itself failed; its log tells more under {outbound.id}"
        await outbound.refusal(dialect, Failure(FailureKind.SERVER, message, 500))
