"""Shutdown: running requests may finish. Those that do not get an error in their own dialect."""

from __future__ import annotations

import asyncio

from dragoman.conversation.failures import Failure, FailureKind
from dragoman.gateway.services import Services

GOING_AWAY = Failure(FailureKind.OVERLOADED, "the gateway is shutting down", 503, retry_after=1.0)


def is_ending(services: Services) -> bool:
    """Whether a cancellation just caught comes from the shutdown, and not from a client that disconnected.

    Then the task continues, so that it can send a last error.
    """
    if not services.ending:
        return False
    task = asyncio.current_task()
    if task is not None:
        task.uncancel()
    return True
