"""Exceptions as the failures that clients get: an unreadable body is 4xx, an internal error 500."""

from __future__ import annotations

from dragoman.conversation.failures import Failure, FailureKind
from dragoman.engine.answer.client_failures import failure_of
from dragoman.errors import DragomanError
from dragoman.gateway.callers.callers import Refused
from dragoman.gateway.http.inbound import BodyEncodingRefused, BodyTooLarge, BodyTooSlow

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
    return failure_of(error)
