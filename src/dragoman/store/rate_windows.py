"""Windows that slide over a minute: the arithmetic of limits, and the counts of one process.

Time is cut into quarter seconds, and each counts until a minute after its beginning. A client that keeps exactly to its
limit is never refused, and none gets more than a quarter second's worth above it. The decision is a function over the
counts; where those are kept (here, or in a file that several workers share) is another matter.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator
from threading import Lock

from dragoman.store.clock import Clock
from dragoman.store.contracts.rate_limits import Allowed, KeyLimits, Limited

MINUTE = 60.0
SLICE = 0.25
_COUNTED = int(MINUTE / SLICE) - 1
"""Quarter seconds before the present one that still count."""
MOST_TOKENS = 1_000_000_000_000
"""That one request may reserve or settle: sums must fit into 64 bits whatever a provider claims."""

MANY_KEYS = 4096
"""From so many on, keys that are no longer in use are looked for."""

Bucket = tuple[int, int, int]
"""The number of a quarter second, its requests, its tokens."""


def slice_of(now: float) -> int:
    """The quarter second that a time lies in."""
    return int(now / SLICE)


def oldest_slice(now: float) -> int:
    """The first quarter second that still counts."""
    return int((now - MINUTE) // SLICE) + 1


def bound_tokens(tokens: int) -> int:
    """Tokens as they are counted."""
    return min(max(tokens, -MOST_TOKENS), MOST_TOKENS)


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

    def forget_from(self, first: int) -> None:
        while self.buckets and self.buckets[-1][0] >= first:
            _, requests, tokens = self.buckets.pop()
            self.requests -= requests
            self.tokens -= tokens

    def add(self, number: int, requests: int, tokens: int) -> None:
        self.requests += requests
        self.tokens += tokens
        if self.buckets and self.buckets[-1][0] >= number:
            number, had_requests, had_tokens = self.buckets.pop()
            requests, tokens = requests + had_requests, tokens + had_tokens
        self.buckets.append((number, requests, tokens))


def decide(tally: Tally, limits: KeyLimits, now: float, tokens: int = 0, count: int = 1) -> Allowed | Limited:
    """Whether so many more requests, of about so many tokens, may go on."""
    rpm, tpm = limits.requests_per_minute, limits.tokens_per_minute
    if rpm is not None and tally.requests + count > rpm:
        return Limited(_wait(tally, 1, tally.requests - rpm + count, now), "requests", rpm)
    used = tally.tokens
    wanted = tokens if tokens > 1 else 1
    if tpm is not None and used > 0 and used + wanted > tpm:
        return Limited(_wait(tally, 2, min(used, used + wanted - tpm), now), "tokens", tpm)
    left = None if tpm is None else tpm - used - tokens
    return Allowed(None if rpm is None else rpm - tally.requests - count, 0 if left is not None and left < 0 else left)


def _wait(tally: Tally, column: int, excess: int, now: float) -> float:
    """Seconds until enough old buckets no longer count."""
    for bucket in tally.buckets:
        excess -= bucket[column]
        if excess <= 0:
            return max(SLICE, bucket[0] * SLICE + MINUTE - now)
    return MINUTE


class RateWindows:
    """`RateLimits` of one process. Its coroutines never wait. Threads may share it."""

    def __init__(self, steady: Clock) -> None:
        self._now = steady
        self._keys: dict[str, Tally] = {}
        self._lock = Lock()
        self._many = MANY_KEYS

    async def reserve(self, key: str, limits: KeyLimits, tokens: int = 0, count: int = 1) -> Allowed | Limited:
        now = self._now()
        number = slice_of(now)
        if not -MOST_TOKENS <= tokens <= MOST_TOKENS:
            tokens = bound_tokens(tokens)
        with self._lock:
            tally = self._fresh(key, number)
            verdict = decide(tally, limits, now, tokens, count)
            if type(verdict) is Allowed:
                tally.add(number, count, tokens)
            return verdict

    def settle(self, key: str, tokens: int) -> None:
        self.add(key, 0, tokens)

    def add(self, key: str, requests: int, tokens: int) -> None:
        """Count without asking."""
        number = slice_of(self._now())
        if not -MOST_TOKENS <= tokens <= MOST_TOKENS:
            tokens = bound_tokens(tokens)
        with self._lock:
            self._fresh(key, number).add(number, requests, tokens)

    def tally(self, key: str) -> Tally:
        """What of a key still counts. Only for the thread that counts."""
        tally = self._keys.get(key)
        if tally is None:
            return Tally()
        tally.forget_before(oldest_slice(self._now()))
        return tally

    def counts(self) -> Iterator[tuple[str, Bucket]]:
        """Everything that still counts."""
        with self._lock:
            number = slice_of(self._now())
            tallies = [(key, tuple(self._fresh(key, number).buckets)) for key in self._keys]
        return ((key, bucket) for key, buckets in tallies for bucket in buckets)

    def forget(self, key: str) -> int:
        """Remove the counts of a key; how many there were."""
        with self._lock:
            tally = self._keys.pop(key, None)
        return 0 if tally is None else len(tally.buckets)

    def _forget(self, oldest: int) -> None:
        """Drop the keys of which nothing counts any more. What still counts stays, however much it is."""
        for tally in self._keys.values():
            tally.forget_before(oldest)
        self._keys = {key: tally for key, tally in self._keys.items() if tally.buckets}
        self._many = max(MANY_KEYS, 2 * len(self._keys))

    def _fresh(self, key: str, number: int) -> Tally:
        """What of a key still counts in this quarter second."""
        tally, oldest = self._keys.get(key), number - _COUNTED
        if tally is None:
            if len(self._keys) >= self._many:
                self._forget(oldest)
            tally = self._keys[key] = Tally()
        elif tally.buckets and tally.buckets[0][0] < oldest:
            tally.forget_before(oldest)
        return tally
