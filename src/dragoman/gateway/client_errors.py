"""Our own errors as what clients are told: what cannot be read is 400, a repair that is not allowed 422."""

from __future__ import annotations

from dragoman.conversation.failures import Failure, FailureKind
from dragoman.engine.client_failures import failure_of
from dragoman.errors import DragomanError
from dragoman.gateway.callers import Refused
from dragoman.gateway.inbound import BodyPacked, BodyTooLarge, BodyTooSlow

Unread = (BodyTooLarge, BodyTooSlow, BodyPacked)
"""A body that did not get as far as being read."""


def as_failure(fault: Refused | DragomanError | BodyTooLarge | BodyTooSlow | BodyPacked) -> Failure:
    """The failure that an exception of ours stands for."""
    if isinstance(fault, Refused):
        return fault.failure
    if isinstance(fault, BodyTooLarge):
        return Failure(FailureKind.TOO_LARGE, str(fault), 413)
    if isinstance(fault, BodyTooSlow):
        return Failure(FailureKind.BAD_REQUEST, str(fault), 408)
    if isinstance(fault, BodyPacked):
        return Failure(FailureKind.BAD_REQUEST, str(fault), 415)
    return failure_of(fault)
