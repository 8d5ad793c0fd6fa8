"""What a client is told of a request that failed before it had an answer."""

from __future__ import annotations

import traceback

from dragoman.config.schema import LogLevel
from dragoman.conversation.failures import Failure, FailureKind
from dragoman.errors import DragomanError
from dragoman.gateway.callers.callers import Refused
from dragoman.gateway.http.client_errors import BODY_ERRORS, as_failure
from dragoman.gateway.http.outbound import Outbound
from dragoman.gateway.records.records import Records


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
