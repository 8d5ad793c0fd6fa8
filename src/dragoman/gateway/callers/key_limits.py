"""Limits per minute of a key: a request is counted when it is admitted, and its client sees what is left."""

from __future__ import annotations

from functools import lru_cache

from dragoman.conversation.failures import Failure, FailureKind
from dragoman.dialects.registry import dialect
from dragoman.gateway.callers.caller import Caller, Refused
from dragoman.store.contracts.rate_limits import Allowed, KeyLimits, RateLimits


async def admit(
    counts: RateLimits, caller: Caller, limits: KeyLimits, tokens: int, client: str = "", *, count: int = 1
) -> Allowed:
    """Count a request against the caller's limits. `client`: the dialect in which it is told what is left. `count`: so
    many at once, or none of them. Raises Refused with the seconds to wait."""
    verdict = await counts.reserve(caller.name, limits, tokens, count)
    if isinstance(verdict, Allowed):
        return verdict
    message = f"the key's limit of {verdict.limit} {verdict.what} per minute is reached"
    left = Allowed(**{f"{verdict.what}_left": 0})
    raise Refused(
        Failure(FailureKind.RATE_LIMIT, message, 429, retry_after=verdict.retry_after),
        limit_headers(client, limits, left, verdict.retry_after),
    )


_WINDOW = b"60s"
"""Requests and tokens are counted over so long: then a count is as if nothing had been asked."""


def limit_headers(
    client: str, limits: KeyLimits, left: Allowed, reset: float | None = None
) -> tuple[tuple[bytes, bytes], ...]:
    """The caller's limits in the headers of its dialect, if that has any. `reset`: seconds, if not the usual ones."""
    headers: tuple[tuple[bytes, bytes], ...] = ()
    if (rest := left.requests_left) is not None and (most := limits.requests_per_minute) is not None:
        limit, name, until = _limit_fields(client, "requests", most)
        headers = (limit, (name, b"%d" % (rest if rest > 0 else 0)), until) if name else ()
    if (rest := left.tokens_left) is not None and (most := limits.tokens_per_minute) is not None:
        limit, name, until = _limit_fields(client, "tokens", most)
        headers += (limit, (name, b"%d" % (rest if rest > 0 else 0)), until) if name else ()
    if reset is not None:
        return tuple([(name, b"%.3gs" % reset if value == _WINDOW else value) for name, value in headers])
    return headers


@lru_cache(maxsize=1024)
def _limit_fields(client: str, what: str, most: int) -> tuple[tuple[bytes, bytes], bytes, tuple[bytes, bytes]]:
    """Three headers: the limit, the name of the one that says what is left (empty if the dialect has none), and when
    all of it is free again."""
    named = dialect(client).limit_header if client else ""
    limit, remaining, until = (
        named.format(figure=figure, what=what).encode() for figure in ("limit", "remaining", "reset")
    )
    return (limit, b"%d" % most), remaining, (until, _WINDOW)
