"""How long to wait: read from a provider's headers, body or message, and told to a client in the headers that SDKs
obey and the sentences that agents read."""

from __future__ import annotations

import math
from collections.abc import Mapping
from email.utils import parsedate_to_datetime

from dragoman.conversation.failures import Failure, FailureKind
from dragoman.wire.error_wording import cut_matched_part
from dragoman.wire.late_pattern import LatePattern

_SENTENCE = LatePattern(
    r"(?:retry|try again|\bresets?)(?: again)? (?:in|after) (?:(?P<h>\d+)\s?h(?:ours?|r)?(?![a-z])\s?)?"
    r"(?:(?P<m>\d+)\s?m(?:in(?:ute)?s?)?(?![a-z])\s?)?"
    r"(?:(?P<s>\d+(?:\.\d+)?)\s?(?:s\b|sec))?(?:(?P<ms>\d+(?:\.\d+)?)\s?ms)?",
)
_LONGEST_WAIT = 31 * 86_400.0
"""Seconds. Numbers in error bodies are anybody's: a longer wait is no number that a client can use."""
_LONGEST_SLEEP = 60.0
"""Seconds that agents wait at most. Anthropic's SDK would sleep for as long as it is told."""
_LONG = 1000.0
"""Seconds from which a time is told in hours and minutes."""


def find_wait(headers: Mapping[str, str], written: float | None, message: str) -> float | None:
    """How long to wait: by the headers first, as official SDKs do, then as `written` in the body, then by the words."""
    milliseconds = parse_seconds(headers.get("retry-after-ms", ""))
    if milliseconds is not None:
        return milliseconds / 1000
    if value := headers.get("retry-after"):
        seconds = parse_seconds(value)
        return seconds if seconds is not None else _until(value, headers.get("date", ""))
    return written if written is not None else _find_wait_in_sentence(message)


def _until(then: str, now: str) -> float | None:
    """The seconds from the date of the answer to the date in `retry-after`."""
    try:
        seconds = (parsedate_to_datetime(then) - parsedate_to_datetime(now)).total_seconds()
        return min(max(0.0, seconds), _LONGEST_WAIT)
    except (TypeError, ValueError, OverflowError):
        return None


def _find_wait_in_sentence(message: str) -> float | None:
    found = _SENTENCE.search(cut_matched_part(message))
    if found is None or not any(found.groups()):
        return None
    hours, minutes, seconds, milliseconds = (float(found[unit] or 0) for unit in ("h", "m", "s", "ms"))
    return min(hours * 3600 + minutes * 60 + seconds + milliseconds / 1000, _LONGEST_WAIT)


def parse_seconds(text: str) -> float | None:
    try:
        seconds = float(text)
    except ValueError:
        return None
    return min(seconds, _LONGEST_WAIT) if seconds >= 0 else None


def render_wait(failure: Failure) -> dict[str, str]:
    """`retry-after` in whole seconds, rounded up; and no retry at all if that is a long time, or in vain."""
    wait = failure.retry_after
    headers = {} if wait is None else {"retry-after": str(math.ceil(wait))}
    if failure.is_final or (wait or 0.0) > _LONGEST_SLEEP:
        headers["x-should-retry"] = "false"
    return headers


def tell_wait(failure: Failure, message: str, words: str) -> str:
    """The message, with the seconds to wait in the vendor's words unless it names them so already: its clients look
    for these."""
    if failure.kind is not FailureKind.RATE_LIMIT or failure.retry_after is None:
        return message
    named = _SENTENCE.search(message)
    if named is not None and any(named.groups()) and words.removeprefix("Please ") in message.lower():
        return message
    return f"{message.rstrip('. ')}. {words} {_say_wait(failure.retry_after)}."


def _say_wait(seconds: float) -> str:
    """A time as OpenAI writes it: `1.5s`, `20s`, `1h30m`."""
    if seconds < _LONG:
        return f"{format_seconds(float(f'{seconds:.3g}'))}s"
    minutes, rest = divmod(math.ceil(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return "".join([f"{number}{unit}" for number, unit in ((hours, "h"), (minutes, "m"), (rest, "s")) if number])


def format_seconds(seconds: float) -> str:
    """A number of seconds in digits, without an exponent."""
    return f"{seconds:.6f}".rstrip("0").rstrip(".")
