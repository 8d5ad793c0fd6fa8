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

from dragoman.config.schema import Key

MINUTE = 60.0
SLICE = 0.25


class Limits(Struct, frozen=True):
    """What one key may use in any minute; None is no limit."""

    requests_per_minute: int | None = None
    tokens_per_minute: int | None = None

    @classmethod
    def of(cls, key: Key) -> Limits:
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


def decide(buckets: Iterable[Bucket], limits: Limits, now: float, tokens: int = 0) -> Allowed | Limited:
    """Whether one more request, of about so many tokens, may go on. Buckets come oldest first.

    A request that alone is larger than the limit is let through when nothing else counts: else it never could be.
    """
    counted = [bucket for bucket in buckets if bucket[0] >= oldest_slice(now)]
    rpm, tpm = limits.requests_per_minute, limits.tokens_per_minute
    requests = sum(bucket[1] for bucket in counted)
    used = sum(bucket[2] for bucket in counted)
    if rpm is not None and requests >= rpm:
        return Limited(_wait(counted, 1, requests - rpm + 1, now), "requests", rpm)
    wanted = max(tokens, 1)
    if tpm is not None and used and used + wanted > tpm:
        return Limited(_wait(counted, 2, min(used, used + wanted - tpm), now), "tokens", tpm)
    return Allowed(
        None if rpm is None else rpm - requests - 1,
        None if tpm is None else max(0, tpm - used - tokens),
    )


def _wait(buckets: list[Bucket], column: int, excess: int, now: float) -> float:
    """Seconds until enough old buckets no longer count."""
    for bucket in buckets:
        excess -= bucket[column]
        if excess <= 0:
            return max(SLICE, bucket[0] * SLICE + MINUTE - now)
    return MINUTE


class Windows:
    """The counts of one process."""

    def __init__(self) -> None:
        self._keys: dict[str, deque[Bucket]] = {}
        self._lock = Lock()

    def allow(self, key: str, limits: Limits, now: float, tokens: int = 0) -> Allowed | Limited:
        """Decide, and count the request where it may go on."""
        with self._lock:
            verdict = decide(self._fresh(key, now), limits, now, tokens)
            if isinstance(verdict, Allowed):
                self._add(key, now, 1, tokens)
            return verdict

    def spend(self, key: str, tokens: int, now: float) -> None:
        """Count tokens beyond (or below) the estimate that `allow` was given."""
        with self._lock:
            self._fresh(key, now)
            self._add(key, now, 0, tokens)

    def _fresh(self, key: str, now: float) -> deque[Bucket]:
        buckets = self._keys.setdefault(key, deque())
        oldest = oldest_slice(now)
        while buckets and buckets[0][0] < oldest:
            buckets.popleft()
        return buckets

    def _add(self, key: str, now: float, requests: int, tokens: int) -> None:
        buckets, current = self._keys[key], slice_of(now)
        if buckets and buckets[-1][0] >= current:
            number, had_requests, had_tokens = buckets.pop()
            buckets.append((number, had_requests + requests, had_tokens + tokens))
        else:
            buckets.append((current, requests, tokens))
