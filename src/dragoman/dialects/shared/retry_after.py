"""How a client is told to wait: the headers that SDKs obey, and the sentences that agents read."""

from __future__ import annotations

import math

from dragoman.conversation.failures import Failure, FailureKind
from dragoman.wire.error_wording import RETRY

_LONGEST_WAIT = 60.0
"""Seconds that agents wait at most. Anthropic's SDK would sleep for as long as it is told."""


def wait_headers(failure: Failure) -> dict[str, str]:
    """`retry-after` in whole seconds, rounded up; and no retry at all if that is a long time."""
    if failure.retry_after is None:
        return {}
    headers = {"retry-after": str(math.ceil(failure.retry_after))}
    return headers if failure.retry_after <= _LONGEST_WAIT else {**headers, "x-should-retry": "false"}


def with_wait(failure: Failure, message: str, words: str) -> str:
    """The message, with the seconds to wait in the vendor's words unless it names them already."""
    if failure.kind is not FailureKind.RATE_LIMIT or failure.retry_after is None:
        return message
    named = RETRY.search(message)
    if named is not None and any(named.groups()):
        return message
    return f"{message.rstrip('. ')}. {words} {failure.retry_after:.3g}s."
