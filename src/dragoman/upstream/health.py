"""The health of destinations and of their keys: left alone for a while after failures, then tried again."""

from __future__ import annotations

from weakref import WeakKeyDictionary

from dragoman.conversation.failures import Failure, FailureKind
from dragoman.upstream.destinations import HttpDestination

COUNTED = frozenset(
    {
        FailureKind.SERVER,
        FailureKind.OVERLOADED,
        FailureKind.TIMEOUT,
        FailureKind.NETWORK,
        FailureKind.BROKEN_STREAM,
    }
)
"""Failures that speak against the destination; a refused request does not."""
_SHORT, _LONG = 30.0, 600.0


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
        self._records: WeakKeyDictionary[HttpDestination, Record] = WeakKeyDictionary()
        self._keys: WeakKeyDictionary[HttpDestination, dict[int, float]] = WeakKeyDictionary()

    def open(self, destination: HttpDestination, now: float) -> bool:
        """May it be tried? After its pause one request goes first; the others wait for what becomes of it."""
        record = self._records.get(destination)
        if record is None or record.failures < destination.failures:
            return True
        if now < record.until or record.trying:
            return False
        record.trying = True
        return True

    def succeeded(self, destination: HttpDestination) -> None:
        if self._records:
            self._records.pop(destination, None)

    def began(self, destination: HttpDestination) -> None:
        """A stream has begun to come: enough for one that was being tried again, not yet a success."""
        record = self._records.get(destination) if self._records else None
        if record is not None and record.trying:
            del self._records[destination]

    def failed(self, destination: HttpDestination, failure: Failure, now: float) -> None:
        """Count it; where it does not count, the destination has at least answered."""
        if failure.kind not in COUNTED:
            self.succeeded(destination)
            return
        record = self._records.setdefault(destination, Record())
        record.failures += 1
        record.trying = False
        if record.failures >= destination.failures:
            record.until = now + destination.pause

    def released(self, destination: HttpDestination) -> None:
        """The request was abandoned: it tells nothing, and another may try."""
        record = self._records.get(destination)
        if record is not None:
            record.trying = False

    def resting(self, now: float) -> dict[str, float]:
        """Destinations that are left alone, and for how many seconds still."""
        return {
            destination.name: record.until - now
            for destination, record in self._records.items()
            if record.failures >= destination.failures and record.until > now
        }

    def key(self, destination: HttpDestination, now: float) -> int:
        """The key to begin with: the first that is not left alone, else the one that comes back first."""
        spoilt = self._keys.get(destination)
        if not spoilt:
            return 0
        return min(range(len(destination.keys)), key=lambda key: max(spoilt.get(key, 0.0), now))

    def spoilt(self, destination: HttpDestination, key: int, failure: Failure, now: float) -> None:
        """Leave a key alone: as long as the provider says, shortly for a limit, long where it was refused."""
        usual = _SHORT if failure.kind is FailureKind.RATE_LIMIT else _LONG
        pause = usual if failure.retry_after is None else failure.retry_after
        self._keys.setdefault(destination, {})[key % len(destination.keys)] = now + pause
