"""The end of a gateway's life: what is under way may finish; what does not is told so in its own dialect."""

from __future__ import annotations

import asyncio

from dragoman.conversation.failures import Failure, FailureKind
from dragoman.gateway.services import Services

GOING_AWAY = Failure(FailureKind.OVERLOADED, "the gateway is shutting down", 503, retry_after=1.0)


def is_ending(services: Services) -> bool:
    """Whether a cancellation just caught is the shutdown's, and not that of a client who left.

    Then the task may go on for the few words that are still to be said.
    """
    if not services.ending:
        return False
    task = asyncio.current_task()
    if task is not None:
        task.uncancel()
    return True
