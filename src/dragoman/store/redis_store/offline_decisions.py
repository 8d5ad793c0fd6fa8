"""Whether a replica may let a request through that it cannot ask Redis about.

Of what all may still use, as far as this replica knows, it may use its share. What it has let through since it last
heard is its own; what becomes free is known to the quarter second. So all replicas together keep to the limit.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator

from msgspec import Struct

from dragoman.store.contracts.rate_limits import Allowed, KeyLimits, Limited
from dragoman.store.rate_windows import MINUTE, SLICE, Tally
from dragoman.store.redis_store.copied_counts import CountReply


class CountTicket(Struct, eq=False):
    """A reservation: what this replica decided alone, and whether Redis counted it. Either may be known first."""

    limits: KeyLimits
    tokens: int
    requests: int
    granted: bool | None = None
    counted: bool | None = None
    late: asyncio.Future[CountReply | None] | None = None


class KnownUse(Struct, frozen=True):
    """What a replica knows of a key's last minute."""

    used: Tally
    """What Redis last said, by its clock."""
    ahead: float
    """How much that clock is ahead of ours."""
    alone: Tally
    """What was let through without Redis."""
    requests: int = 0
    """Those on their way to Redis."""
    tokens: int = 0
    """Those on their way to Redis."""


def decide_alone(known: KnownUse, ticket: CountTicket, now: float, sharers: int) -> Allowed | Limited:
    """Whether so many more requests, of about so many tokens, may go on."""
    rpm, tpm = ticket.limits.requests_per_minute, ticket.limits.tokens_per_minute
    count, tokens = ticket.requests, ticket.tokens
    own, own_tokens = known.alone.requests + known.requests, known.alone.tokens + known.tokens
    requests_left = tokens_left = None
    if rpm is not None:
        room = _room(rpm, known.used.requests, own, sharers)
        if room < count:
            return Limited(_wait(known, 1, count - room, now, sharers), "requests", rpm)
        requests_left = int(room) - count
    if tpm is not None:
        wanted = max(tokens, 1)
        room = _room(tpm, known.used.tokens, own_tokens, sharers)
        if room < wanted and (known.used.tokens > 0 or own_tokens > 0):
            return Limited(_wait(known, 2, wanted - room, now, sharers), "tokens", tpm)
        tokens_left = max(0, int(room) - tokens)
    return Allowed(requests_left, tokens_left)


def _room(limit: int, used: int, own: int, sharers: int) -> float:
    """What this replica may still use. A share is never so small that nothing ever passes."""
    share = max(limit - used, 0) / sharers
    if limit and not used:
        share = max(share, 1.0)
    return share - own


def _wait(known: KnownUse, column: int, missing: float, now: float, sharers: int) -> float:
    """Seconds until there is room, if nobody uses more until then."""
    for at, amount in sorted(_becoming_free(known, column, sharers)):
        missing -= amount
        if missing <= 0:
            return max(SLICE, at - now)
    return MINUTE


def _becoming_free(known: KnownUse, column: int, sharers: int) -> Iterator[tuple[float, float]]:
    for bucket in known.used.buckets:
        yield bucket[0] * SLICE + MINUTE - known.ahead, bucket[column] / sharers
    for bucket in known.alone.buckets:
        yield bucket[0] * SLICE + MINUTE, bucket[column]
