"""The health of destinations: left alone for a while after repeated failures, then tried with one request."""

from __future__ import annotations

from weakref import WeakKeyDictionary

from dragoman.conversation.failures import Failure, FailureKind
from dragoman.upstream.destinations import Destination

COUNTED = frozenset({FailureKind.SERVER, FailureKind.OVERLOADED, FailureKind.TIMEOUT, FailureKind.NETWORK})
"""Failures that speak against the destination; a refused request does not."""


class Record:
    """What is known of one destination."""

    __slots__ = ("failures", "trying", "until")

    def __init__(self) -> None:
        self.failures = 0
        self.until = 0.0
        self.trying = False


class Health:
    """All records. Time is given by the caller."""

    def __init__(self) -> None:
        self._records: WeakKeyDictionary[Destination, Record] = WeakKeyDictionary()

    def open(self, destination: Destination, now: float) -> bool:
        """May it be tried? After its pause one request goes first; the others wait for what becomes of it."""
        record = self._records.get(destination)
        if record is None or record.failures < destination.failures:
            return True
        if now < record.until or record.trying:
            return False
        record.trying = True
        return True

    def succeeded(self, destination: Destination) -> None:
        if destination in self._records:
            del self._records[destination]

    def failed(self, destination: Destination, failure: Failure, now: float) -> None:
        if failure.kind not in COUNTED:
            return
        record = self._records.setdefault(destination, Record())
        record.failures += 1
        record.trying = False
        if record.failures >= destination.failures:
            record.until = now + destination.pause

    def resting(self, now: float) -> dict[str, float]:
        """Destinations that are left alone, and for how many seconds still."""
        return {
            destination.name: record.until - now
            for destination, record in self._records.items()
            if record.failures >= destination.failures and record.until > now
        }
