"""Cooldowns of destinations and of their keys: left alone for a while after failures, then tried again.

What one process finds out, those that share its state learn, too: a destination that keeps failing, one that named the
seconds to wait, and a key that is refused or limited.
"""

from __future__ import annotations

from time import perf_counter
from typing import Protocol
from weakref import WeakKeyDictionary

from msgspec import Struct

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
_TOO_MANY = 429
_LONGEST_QUIET = 60.0
"""That a destination is left alone because it named a time to wait."""
_KEY_MARK = "\n"
"""Between a destination's name and the number of its key. No name has a line end."""


class SharedPauses(Protocol):
    """Pauses by name that several processes know. No method waits."""

    def rest(self, name: str, seconds: float) -> None: ...

    def clear(self, name: str) -> None: ...

    def remaining(self, name: str) -> float: ...

    def resting(self) -> dict[str, float]: ...


class Record(Struct, eq=False):
    """What is known of one destination."""

    failures: int = 0
    until: float = 0.0
    trying: bool = False
    from_others: bool = False
    """Others have found out, and left it alone until then."""


class Health:
    """All records. Time is given by the caller. `shared`: what other processes know."""

    def __init__(self, shared: SharedPauses | None = None) -> None:
        self._shared = shared
        self.records: WeakKeyDictionary[HttpDestination, Record] = WeakKeyDictionary()
        """Of destinations that failed lately. Mostly there are none."""
        self._keys: WeakKeyDictionary[HttpDestination, dict[int, float]] = WeakKeyDictionary()

    def open(self, destination: HttpDestination, now: float) -> bool:
        """May it be tried? After its pause one request goes first; the others wait for what becomes of it."""
        record = self.records.get(destination)
        if record is None or record.failures < destination.failures or record.from_others:
            left = self._shared.remaining(destination.name) if self._shared is not None else 0.0
            if left > 0.0:
                self.records[destination] = Record(destination.failures, now + left, from_others=True)
                return False
            if record is None or record.failures < destination.failures:
                return True
            if now < record.until:  # for others it works again
                del self.records[destination]
                return True
        if now < record.until or record.trying:
            return False
        record.trying = True
        return True

    def succeeded(self, destination: HttpDestination) -> None:
        record = self.records.pop(destination, None)
        if record is not None and self._shared is not None and record.failures >= destination.failures:
            self._shared.clear(destination.name)

    def recovered(self, destination: HttpDestination) -> None:
        """A check has passed: nobody leaves it alone any more."""
        self.records.pop(destination, None)
        if self._shared is not None and self._shared.remaining(destination.name) > 0.0:
            self._shared.clear(destination.name)

    def began(self, destination: HttpDestination) -> None:
        """A stream has begun to come: enough for one that was being tried again, not yet a success."""
        record = self.records.get(destination)
        if record is not None and record.trying:
            del self.records[destination]

    def failed(self, destination: HttpDestination, failure: Failure, now: float) -> None:
        """Count it; if it does not count, the destination has at least answered."""
        if failure.kind not in COUNTED:
            self.succeeded(destination)
            self._quieten(destination, failure)
            return
        record = self.records.setdefault(destination, Record())
        record.failures += 1
        record.trying = record.from_others = False
        if record.failures >= destination.failures:
            record.until = now + destination.pause
            if self._shared is not None:
                self._shared.rest(destination.name, destination.pause)

    def _quieten(self, destination: HttpDestination, failure: Failure) -> None:
        """A destination with one key that says how long to wait is left alone by everybody who has another."""
        if self._shared is None or failure.kind is not FailureKind.RATE_LIMIT or destination.key_count > 1:
            return
        if destination.as_caller:  # the limit is that of one caller
            return
        if failure.retry_after is not None and failure.status == _TOO_MANY:
            self._shared.rest(destination.name, min(failure.retry_after, _LONGEST_QUIET))

    def signed(self, destination: HttpDestination) -> tuple[tuple[str, str], ...]:
        """The headers for a destination, with a key of its pool that is not left alone."""
        return destination.signed(self.key(destination, perf_counter()) if destination.key_count > 1 else 0)

    def released(self, destination: HttpDestination) -> None:
        """The request was abandoned: it tells nothing, and another may try."""
        record = self.records.get(destination)
        if record is not None:
            record.trying = False

    def resting(self, now: float) -> dict[str, float]:
        """Destinations that are left alone, and for how many seconds still."""
        found = {
            destination.name: record.until - now
            for destination, record in self.records.items()
            if record.failures >= destination.failures and record.until > now and not record.from_others
        }
        if self._shared is None:
            return found
        return {name: left for name, left in self._shared.resting().items() if _KEY_MARK not in name} | found

    def key(self, destination: HttpDestination, now: float) -> int:
        """The key to begin with: the first that is not left alone, else the one that comes back first."""
        paused = self._keys.get(destination) or {}
        shared = self._shared.resting() if self._shared is not None else {}
        if not paused and not shared:
            return 0
        name = destination.name + _KEY_MARK
        return min(
            range(len(destination.keys)),
            key=lambda key: max(paused.get(key, 0.0), now + shared.get(f"{name}{key}", 0.0)),
        )

    def pause_key(self, destination: HttpDestination, key: int, failure: Failure, now: float) -> None:
        """Leave a key alone: as long as the provider says, shortly for a limit, long if it was refused."""
        usual = _SHORT if failure.kind is FailureKind.RATE_LIMIT else _LONG
        pause = usual if failure.retry_after is None else failure.retry_after
        key %= len(destination.keys)
        self._keys.setdefault(destination, {})[key] = now + pause
        if self._shared is not None:
            self._shared.rest(f"{destination.name}{_KEY_MARK}{key}", pause)
