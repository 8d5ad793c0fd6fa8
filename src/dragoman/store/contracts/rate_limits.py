"""Limits per minute: requests and tokens, reserved before a request is sent and settled after it."""

from __future__ import annotations

from typing import Protocol

from msgspec import Struct

from dragoman.config.schema.keys import ClientKey


class KeyLimits(Struct, frozen=True):
    """What one key may use in any minute; None is no limit."""

    requests_per_minute: int | None = None
    tokens_per_minute: int | None = None

    @classmethod
    def of(cls, key: ClientKey) -> KeyLimits:
        return cls(key.requests_per_minute, key.tokens_per_minute)


class Allowed(Struct, frozen=True):
    """The request may go on; what is left after it, if there is a limit."""

    requests_left: int | None = None
    tokens_left: int | None = None


class Limited(Struct, frozen=True):
    """The request must wait."""

    retry_after: float
    """For how many seconds."""
    what: str
    """What is used up."""
    limit: int
    """How much of it a minute has."""


class RateLimits(Protocol):
    """Counts of requests and tokens, over a window that slides.

    Atomicity: deciding and counting are one step, for all tasks, workers and replicas that share the backend. Of N
    requests at the same moment exactly as many are allowed as the limit has room for.

    Time: the backend measures with a clock that never goes back. A wall clock that is set changes nothing.

    Consistency: a reservation counts everywhere when `reserve` returns. A settlement counts within milliseconds.
    Limits are therefore exact to within the requests under way.

    Expiry: a count is forgotten a minute after it was made. What may be lost: up to a minute of counts, by a crash
    or a restart.

    What a failure means: if the shared counts cannot be reached within the deadline, this process decides by its
    own counts. The failure is counted. No request fails for it, and a limit is never off.
    """

    async def reserve(self, key: str, limits: KeyLimits, tokens: int = 0, count: int = 1) -> Allowed | Limited:
        """Count a request and its estimated tokens, or say how long it must wait. `count`: so many requests at once,
        which are all counted or none; `tokens` are those of all of them.

        A request whose tokens alone are more than the limit is allowed when nothing else counts; otherwise it never
        could be.
        """

    def settle(self, key: str, tokens: int) -> None:
        """Count tokens beyond the estimate of `reserve`, negative if it was too high. Never waits, never fails."""
