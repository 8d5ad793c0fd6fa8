"""Requests and tokens per minute, counted in Redis for all replicas.

While Redis is away or slow a replica decides by its copy of the counts, and what Redis has missed is told to it when it
is back. For a few seconds from then on a replica also keeps to its share: others may not have told yet.
"""

from __future__ import annotations

import asyncio
from functools import partial
from typing import Any

from msgspec import Struct

from dragoman.store.clock import Clock
from dragoman.store.contracts.rate_limits import Allowed, KeyLimits, Limited
from dragoman.store.rate_windows import SLICE, RateWindows, bound_tokens
from dragoman.store.redis_store.connection import RedisAway, RedisRefused, evalsha, pack
from dragoman.store.redis_store.copied_counts import CopiedCounts, CountReply
from dragoman.store.redis_store.keys import RedisKeys, digest
from dragoman.store.redis_store.link import RedisLink
from dragoman.store.redis_store.offline_decisions import CountTicket, KnownUse, decide_alone
from dragoman.store.redis_store.replicas import SETTLING_SECONDS, Heartbeat, Replicas
from dragoman.store.redis_store.scripts import Scripts
from dragoman.store.redis_store.slow_answers import FirstAnswers

STALE_SECONDS, LOOKS = 0.9, 64
"""Copies that are so old are refreshed, so many with a heartbeat."""


class _CountsOutage(Struct, eq=False):
    """What was known, and let through alone, while Redis was away."""

    copies: CopiedCounts
    alone: RateWindows
    until: float

    def concerns(self, key: str) -> bool:
        return self.copies.knows(key) or self.alone.tally(key).requests > 0


class RedisLimits:
    """`RateLimits` in Redis."""

    def __init__(self, link: RedisLink, scripts: Scripts, keys: RedisKeys, replicas: Replicas, steady: Clock) -> None:
        self._link = link
        self._scripts = scripts
        self._keys = keys
        self._replicas = replicas
        self._steady = steady
        self._copies = CopiedCounts(steady)
        self._unsent = RateWindows(steady)
        self._on_their_way: dict[str, tuple[int, int]] = {}
        self._outage: _CountsOutage | None = None
        self._run = ""
        self._first_answers = FirstAnswers()
        link.back.append(self._push)
        replicas.listeners.append(self._look)

    async def reserve(self, key: str, limits: KeyLimits, tokens: int = 0, count: int = 1) -> Allowed | Limited:
        is_sent, ticket = self._link.ready, CountTicket(limits, bound_tokens(tokens), count)
        if self._outage is not None and (refusal := self._refusal_while_settling(key, ticket)) is not None:
            return refusal
        command = self._command(key, limits, count, ticket.tokens, 0.0, asks=True)
        try:
            reply = CountReply(await self._link.ask(command, partial(self._late, key, ticket)))
        except RedisAway:
            ticket.counted = ticket.counted if is_sent else False
            late = await self._late_reply(key, ticket, command)
            if late is None:
                return self._alone(key, ticket)
            reply = late
        except RedisRefused:
            ticket.counted = False
            return self._alone(key, ticket)
        self._first_answers.came()
        self._copies.take(key, reply, is_asked=True)
        if self._outage is not None and reply.is_counted and self._outage.concerns(key):
            self._outage.alone.add(key, count, ticket.tokens)
        return reply.verdict(limits)

    def settle(self, key: str, tokens: int) -> None:
        if tokens:
            self._tell(key, 0, bound_tokens(tokens))

    def forget(self, key: str) -> int:
        """Drop the counts of a key, here and in Redis. How many quarter seconds were known here."""
        self._link.post(pack(("DEL", *self._names(key))))
        count = len(self._copies.used(key).buckets) + self._unsent.forget(key)
        self._copies.forget(key)
        if self._outage is not None:
            self._outage.copies.forget(key)
            self._outage.alone.forget(key)
        return count

    # Alone.

    def _alone(self, key: str, ticket: CountTicket) -> Allowed | Limited:
        known = self._find_known(key, self._copies, self._unsent, *self._on_their_way.get(key, (0, 0)))
        verdict = decide_alone(known, ticket, self._steady(), self._replicas.sharers)
        ticket.granted = isinstance(verdict, Allowed)
        if ticket.granted and ticket.counted is None:
            self._send_off(key, ticket.requests, ticket.tokens)
        self._correct(key, ticket)
        return verdict

    def _refusal_while_settling(self, key: str, ticket: CountTicket) -> Limited | None:
        """A refusal by what was known before Redis was away: others may have let through as much, and not told yet."""
        outage, now = self._outage, self._steady()
        if outage is None or not now < outage.until:
            self._outage = None
            return None
        if not outage.concerns(key):
            return None
        known = self._find_known(key, outage.copies, outage.alone)
        verdict = decide_alone(known, ticket, now, self._replicas.sharers)
        return verdict if isinstance(verdict, Limited) else None

    def _find_known(
        self, key: str, copies: CopiedCounts, alone: RateWindows, requests: int = 0, tokens: int = 0
    ) -> KnownUse:
        return KnownUse(copies.used(key), copies.ahead(key), alone.tally(key), requests, tokens)

    async def _late_reply(self, key: str, ticket: CountTicket, command: bytes) -> CountReply | None:
        """What a slow Redis says after all, if this replica knows nothing of a key. None: it decides alone."""
        if not self._first_answers.may_come or self._copies.knows(key):
            return None
        if ticket.counted is False:  # not asked, because Redis is slow
            if not self._link.post(command, partial(self._late, key, ticket)):
                return None
            ticket.counted = None
        ticket.late = asyncio.get_running_loop().create_future()
        late: CountReply | None = await self._first_answers.wait(ticket.late)
        return late

    def _late(self, key: str, ticket: CountTicket, answer: Any) -> None:
        """Redis has answered after all. If the connection was lost, it has most likely never counted."""
        reply = CountReply(answer) if answer else None
        ticket.counted = reply is not None and reply.is_counted
        if ticket.granted:
            self._arrive(key, ticket.requests, ticket.tokens)
        if reply is not None:
            self._first_answers.came()
            self._copies.take(key, reply, is_asked=True)
        if ticket.late is not None and not ticket.late.done():
            ticket.late.set_result(reply)
        self._correct(key, ticket)

    def _correct(self, key: str, ticket: CountTicket) -> None:
        """Tell Redis what it does not know, or take back what it counted and nobody was granted."""
        if ticket.granted is not None and ticket.counted is not None and ticket.granted is not ticket.counted:
            sign = 1 if ticket.granted else -1
            self._tell(key, sign * ticket.requests, sign * ticket.tokens)

    # What Redis must know.

    def _tell(self, key: str, requests: int, tokens: int, age: float = 0.0) -> None:
        """Have Redis count, whatever the limit."""
        command = self._command(key, KeyLimits(), requests, tokens, age)
        if self._link.post(command, partial(self._arrived, key, requests, tokens)):
            self._send_off(key, requests, tokens)
        else:
            self._unsent.add(key, requests, tokens)

    def _arrived(self, key: str, requests: int, tokens: int, answer: Any) -> None:
        """Where the connection was lost before the answer, Redis has most likely never counted it."""
        self._arrive(key, requests, tokens)
        if answer:
            self._first_answers.came()
            self._copies.take(key, CountReply(answer))
        else:
            self._unsent.add(key, requests, tokens)

    def _send_off(self, key: str, requests: int, tokens: int) -> None:
        had_requests, had_tokens = self._on_their_way.get(key, (0, 0))
        self._on_their_way[key] = (had_requests + requests, had_tokens + tokens)

    def _arrive(self, key: str, requests: int, tokens: int) -> None:
        self._send_off(key, -requests, -tokens)
        if self._on_their_way[key] == (0, 0):
            del self._on_their_way[key]

    def _push(self, lost_since: float | None) -> None:
        """Redis is back: first what it has lost, then what it has never had."""
        now, copies, unsent = self._steady(), self._copies, self._unsent
        self._copies, self._unsent = copies.asked_anew(), RateWindows(self._steady)
        is_other, self._run = self._replicas.run != self._run, self._replicas.run
        if lost_since is not None or is_other:
            for key, tally in copies.tallies():
                values = [value for bucket in tally.buckets for value in bucket]
                self._link.post(evalsha(self._scripts.restore, self._names(key), self._mark, *values))
        for key, (number, requests, tokens) in unsent.counts():
            self._tell(key, requests, tokens, max(now - (number + 1) * SLICE, 0.0))
        self._outage = _CountsOutage(copies, unsent, now + SETTLING_SECONDS)

    def _look(self, _: Heartbeat) -> None:
        """With every beat: what have others used? A copy must not be old when Redis goes away."""
        if self._link.ready:
            for key in self._copies.stale(STALE_SECONDS)[:LOOKS]:
                self._tell(key, 0, 0)

    @property
    def _mark(self) -> str:
        """By which the run of a server is known."""
        return self._run[:8]

    def _command(
        self, key: str, limits: KeyLimits, requests: int, tokens: int, age: float, *, asks: bool = False
    ) -> bytes:
        rpm, tpm = limits.requests_per_minute, limits.tokens_per_minute
        most = ("" if rpm is None else rpm, "" if tpm is None else tpm)
        about = (requests, tokens, age, int(asks), self._mark, self._copies.since(key))
        return evalsha(self._scripts.count, self._names(key), *most, *about)

    def _names(self, key: str) -> tuple[str, str]:
        name = self._keys.named("counts", digest(key, 16))
        return name, name + ":order"
