"""Our own errors as what clients are told: what cannot be read is 400, a repair that is not allowed 422."""

from __future__ import annotations

from dragoman.conversation.failures import Failure, FailureKind
from dragoman.engine.client_failures import failure_of
from dragoman.errors import DragomanError
from dragoman.gateway.callers import Refused
from dragoman.gateway.inbound import BodyEncodingRefused, BodyTooLarge, BodyTooSlow

Unread = (BodyTooLarge, BodyTooSlow, BodyEncodingRefused)
"""A body that did not get as far as being read."""


def as_failure(error: Refused | DragomanError | BodyTooLarge | BodyTooSlow | BodyEncodingRefused) -> Failure:
    """The failure that an exception of ours stands for."""
    if isinstance(error, Refused):
        return error.failure
    if isinstance(error, BodyTooLarge):
        return Failure(FailureKind.TOO_LARGE, str(error), 413)
    if isinstance(error, BodyTooSlow):
        return Failure(FailureKind.BAD_REQUEST, str(error), 408)
    if isinstance(error, BodyEncodingRefused):
        return Failure(FailureKind.BAD_REQUEST, str(error), 415)
    return failure_of(error)
