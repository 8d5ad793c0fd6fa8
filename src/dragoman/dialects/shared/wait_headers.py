"""How a client is told to wait: the headers that SDKs obey, and the sentences that agents read."""

from __future__ import annotations

import math

from dragoman.conversation.failures import Failure, FailureKind
from dragoman.wire.error_wording import RETRY

_LONGEST_WAIT = 60.0
"""Seconds that agents wait at most. Anthropic's SDK would sleep for as long as it is told."""


_LONG = 1000.0
"""Seconds from which a time is told in hours and minutes."""


def wait_headers(failure: Failure) -> dict[str, str]:
    """`retry-after` in whole seconds, rounded up; and no retry at all if that is a long time, or in vain."""
    wait = failure.retry_after
    headers = {} if wait is None else {"retry-after": str(math.ceil(wait))}
    if failure.is_final or (wait or 0.0) > _LONGEST_WAIT:
        headers["x-should-retry"] = "false"
    return headers


def with_wait(failure: Failure, message: str, words: str) -> str:
    """The message, with the seconds to wait in the vendor's words unless it names them so already: its clients look
    for these."""
    if failure.kind is not FailureKind.RATE_LIMIT or failure.retry_after is None:
        return message
    named = RETRY.search(message)
    if named is not None and any(named.groups()) and words.removeprefix("Please ") in message.lower():
        return message
    return f"{message.rstrip('. ')}. {words} {_say_wait(failure.retry_after)}."


def _say_wait(seconds: float) -> str:
    """A time as OpenAI writes it: `1.5s`, `20s`, `1h30m`."""
    if seconds < _LONG:
        return f"{plain_seconds(float(f'{seconds:.3g}'))}s"
    minutes, rest = divmod(math.ceil(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return "".join([f"{number}{unit}" for number, unit in ((hours, "h"), (minutes, "m"), (rest, "s")) if number])


def plain_seconds(seconds: float) -> str:
    """A number of seconds in digits, without an exponent."""
    return f"{seconds:.6f}".rstrip("0").rstrip(".")
