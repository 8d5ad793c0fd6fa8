"""What Redis has counted for all replicas, as this one last saw it.

Every answer about a key brings the quarter seconds that have changed since the answer before. So a replica knows what
was used, by whomever, and when each part of it becomes free. While Redis says nothing that decides, and a Redis that
has lost its counts gets them back from there.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec

from dragoman.store.clock import Clock
from dragoman.store.contracts.rate_limits import Allowed, KeyLimits, Limited
from dragoman.store.rate_windows import MANY_KEYS, MINUTE, Bucket, Tally, oldest_slice


class CountReply:
    """What the script `count` answers."""

    __slots__ = ("at", "buckets", "is_counted", "requests", "since", "tokens", "wait", "what")

    def __init__(self, reply: list[Any]) -> None:
        self.is_counted = reply[0] == 1
        self.what: str = reply[1].decode()
        self.wait = float(reply[2])
        self.at = float(reply[3])
        self.requests: int = reply[4]
        self.tokens: int = reply[5]
        self.since: int = reply[6]
        self.buckets: list[Bucket] = list(zip(reply[7::3], reply[8::3], reply[9::3], strict=True))

    def verdict(self, limits: KeyLimits) -> Allowed | Limited:
        rpm, tpm = limits.requests_per_minute, limits.tokens_per_minute
        if not self.is_counted:
            return Limited(self.wait, self.what, (rpm if self.what == "requests" else tpm) or 0)
        return Allowed(
            None if rpm is None else max(0, rpm - self.requests),
            None if tpm is None else max(0, tpm - self.tokens),
        )


class CopiedTally(msgspec.Struct, eq=False):
    """The counts of one key in quarter seconds of Redis' clock, which is `ahead` of this replica's."""

    tally: Tally = msgspec.field(default_factory=Tally)
    ahead: float = 0.0
    asked: float = 0.0
    received: float = 0.0
    is_whole: bool = False

    @property
    def since(self) -> int:
        """From which quarter second on Redis should tell; 0 for all."""
        return self.tally.buckets[-1][0] if self.is_whole and self.tally.buckets else 0

    def take(self, reply: CountReply, now: float) -> None:
        tally = self.tally
        tally.forget_from(reply.since)
        for number, requests, tokens in reply.buckets:
            tally.add(number, requests, tokens)
        tally.forget_before(oldest_slice(reply.at))
        # Redis may have been told of earlier times: then everything is asked for once.
        self.is_whole = (tally.requests, tally.tokens) == (reply.requests, reply.tokens)
        self.ahead, self.received = reply.at - now, now

    def asked_anew(self) -> CopiedTally:
        """A copy that the next answer replaces as a whole."""
        copy = CopiedTally()
        copy.tally, copy.ahead = Tally(self.tally.buckets), self.ahead
        copy.asked, copy.received = self.asked, self.received
        return copy

    def at(self, now: float) -> Tally:
        """What still counts."""
        self.tally.forget_before(oldest_slice(now + self.ahead))
        return self.tally


class CopiedCounts:
    """The copies of all keys that this replica has asked about within a minute."""

    def __init__(self, steady: Clock) -> None:
        self._now = steady
        self._copies: dict[str, CopiedTally] = {}
        self._many = MANY_KEYS

    def asked_anew(self) -> CopiedCounts:
        """A copy of these, for a Redis that may count otherwise."""
        new = CopiedCounts(self._now)
        new._copies = {key: copy.asked_anew() for key, copy in self._copies.items() if self.knows(key)}
        return new

    def since(self, key: str) -> int:
        copy = self._copies.get(key)
        return 0 if copy is None else copy.since

    def take(self, key: str, reply: CountReply, is_asked: bool = False) -> None:
        """An answer about a key; if a request was about to use it, the copy is kept fresh for a minute."""
        copy = self._copies.get(key)
        if copy is None:
            if len(self._copies) >= self._many:
                self._copies = {one: copy for one, copy in self._copies.items() if self.knows(one)}
                self._many = max(MANY_KEYS, 2 * len(self._copies))
            copy = self._copies[key] = CopiedTally()
        copy.take(reply, self._now())
        if is_asked:
            copy.asked = copy.received

    def stale(self, seconds: float) -> list[str]:
        """Keys that are in use and that nothing was received about for so long, the longest first."""
        now = self._now()
        found = [(copy.received, key) for key, copy in self._copies.items() if copy.received <= now - seconds]
        return [key for _, key in sorted(found) if now - self._copies[key].asked < MINUTE]

    def knows(self, key: str) -> bool:
        """Whether Redis has said something of a key within the last minute."""
        copy = self._copies.get(key)
        return copy is not None and 0.0 <= self._now() - copy.received < MINUTE

    def used(self, key: str) -> Tally:
        """What all have used and what still counts, as far as this replica knows."""
        copy = self._copies.get(key)
        return Tally() if copy is None else copy.at(self._now())

    def ahead(self, key: str) -> float:
        """How far Redis' clock is ahead."""
        copy = self._copies.get(key)
        return 0.0 if copy is None else copy.ahead

    def forget(self, key: str) -> None:
        self._copies.pop(key, None)

    def tallies(self) -> Iterator[tuple[str, Tally]]:
        """Everything that still counts."""
        now = self._now()
        for key, copy in self._copies.items():
            if (tally := copy.at(now)).buckets:
                yield key, tally
