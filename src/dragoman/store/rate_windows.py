"""Requests and tokens per minute, over a window that slides.

Time is cut into quarter seconds and each counts until a minute after its beginning: a client that keeps exactly to
its limit is never refused, and none gets more than a quarter second's worth above it. The decision is a function
over the counts; where those are kept (here, or in a file shared by several workers) is another matter.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from threading import Lock

from msgspec import Struct

from dragoman.config.schema import ClientKey

MINUTE = 60.0
SLICE = 0.25


class Limits(Struct, frozen=True):
    """What one key may use in any minute; None is no limit."""

    requests_per_minute: int | None = None
    tokens_per_minute: int | None = None

    @classmethod
    def of(cls, key: ClientKey) -> Limits:
        return cls(key.requests_per_minute, key.tokens_per_minute)


class Allowed(Struct, frozen=True):
    """The request may go on; what is left after it, where there is a limit."""

    requests_left: int | None = None
    tokens_left: int | None = None


class Limited(Struct, frozen=True):
    """The request must wait: for how many seconds, and for what."""

    retry_after: float
    what: str
    limit: int


Bucket = tuple[int, int, int]  # number of the quarter second, requests, tokens


def slice_of(now: float) -> int:
    """The quarter second that a time lies in."""
    return int(now / SLICE)


def oldest_slice(now: float) -> int:
    """The first quarter second that still counts."""
    return int((now - MINUTE) / SLICE) + 1


class Tally:
    """The quarter seconds of one key that still count, oldest first, and their sums."""

    __slots__ = ("buckets", "requests", "tokens")

    def __init__(self, buckets: Iterable[Bucket] = ()) -> None:
        self.buckets = deque(buckets)
        self.requests = sum(bucket[1] for bucket in self.buckets)
        self.tokens = sum(bucket[2] for bucket in self.buckets)

    def forget_before(self, oldest: int) -> None:
        while self.buckets and self.buckets[0][0] < oldest:
            _, requests, tokens = self.buckets.popleft()
            self.requests -= requests
            self.tokens -= tokens

    def add(self, number: int, requests: int, tokens: int) -> None:
        self.requests += requests
        self.tokens += tokens
        if self.buckets and self.buckets[-1][0] >= number:
            number, had_requests, had_tokens = self.buckets.pop()
            requests, tokens = requests + had_requests, tokens + had_tokens
        self.buckets.append((number, requests, tokens))


def decide(tally: Tally, limits: Limits, now: float, tokens: int = 0) -> Allowed | Limited:
    """Whether one more request, of about so many tokens, may go on.

    A request that alone is larger than the limit is let through when nothing else counts: else it never could be.
    """
    rpm, tpm = limits.requests_per_minute, limits.tokens_per_minute
    if rpm is not None and tally.requests >= rpm:
        return Limited(_wait(tally, 1, tally.requests - rpm + 1, now), "requests", rpm)
    used = tally.tokens
    wanted = max(tokens, 1)
    if tpm is not None and used > 0 and used + wanted > tpm:
        return Limited(_wait(tally, 2, min(used, used + wanted - tpm), now), "tokens", tpm)
    return Allowed(
        None if rpm is None else rpm - tally.requests - 1,
        None if tpm is None else max(0, tpm - used - tokens),
    )


def _wait(tally: Tally, column: int, excess: int, now: float) -> float:
    """Seconds until enough old buckets no longer count."""
    for bucket in tally.buckets:
        excess -= bucket[column]
        if excess <= 0:
            return max(SLICE, bucket[0] * SLICE + MINUTE - now)
    return MINUTE


class Windows:
    """The counts of one process."""

    def __init__(self) -> None:
        self.failed = 0
        self._keys: dict[str, Tally] = {}
        self._lock = Lock()

    def allow(self, key: str, limits: Limits, now: float, tokens: int = 0) -> Allowed | Limited:
        """Decide, and count the request where it may go on."""
        with self._lock:
            tally = self._fresh(key, now)
            verdict = decide(tally, limits, now, tokens)
            if isinstance(verdict, Allowed):
                tally.add(slice_of(now), 1, tokens)
            return verdict

    def spend(self, key: str, tokens: int, now: float) -> None:
        """Count tokens beyond (or below) the estimate that `allow` was given."""
        with self._lock:
            self._fresh(key, now).add(slice_of(now), 0, tokens)

    def close(self) -> None:
        return None

    def _fresh(self, key: str, now: float) -> Tally:
        tally = self._keys.get(key)
        if tally is None:
            tally = self._keys[key] = Tally()
        tally.forget_before(oldest_slice(now))
        return tally
