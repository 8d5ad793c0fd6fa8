"""Requests and tokens per minute, counted in Redis for all replicas.

Each replica also keeps its own counts. While Redis is away they decide, against this replica's share of the limit, and
what Redis has missed is told to it when it is back. A replica that has heard nothing of a key for a minute (it may have
just started) does not know what others have used: it waits a little longer for a Redis that is only slow.
"""

from __future__ import annotations

import asyncio
from functools import partial
from typing import Any

from dragoman.store.clock import Clock
from dragoman.store.rate_limits import Allowed, KeyLimits, Limited
from dragoman.store.rate_windows import MANY_KEYS, MINUTE, SLICE, RateWindows, bounded
from dragoman.store.redis_store.connection import RedisAway, RedisRefused, pack
from dragoman.store.redis_store.keys import RedisKeys, digest
from dragoman.store.redis_store.link import RedisLink, evalsha
from dragoman.store.redis_store.replicas import Replicas
from dragoman.store.redis_store.scripts import Scripts

SOON = 1.0
"""Seconds to wait where nobody knows better."""
FIRST_ANSWER_SECONDS = 0.5
"""For so long a request waits for a slow Redis where this replica knows nothing of its key."""


class CountTicket:
    """A reservation: what this replica decided alone, and whether Redis counted it. Either may be known first."""

    __slots__ = ("counted", "granted", "late", "limits", "tokens")

    def __init__(self, limits: KeyLimits, tokens: int) -> None:
        self.limits = limits
        self.tokens = tokens
        self.granted: bool | None = None
        self.counted: bool | None = None
        self.late: asyncio.Future[Any] | None = None


class LastAnswers:
    """What Redis last said of each key, for a minute in which it says nothing.

    Of the room that was left then, and of what has become free since (as much in each second), a replica may use its
    share. Its own counts alone would not do: they know nothing of what others, or it before a restart, have used.
    """

    def __init__(self) -> None:
        self._left: dict[str, _LeftRoom] = {}

    def note(self, key: str, verdict: Allowed | Limited, now: float) -> None:
        if len(self._left) >= MANY_KEYS:
            self._left.clear()
        self._left[key] = _LeftRoom(now, verdict)

    def note_late(self, key: str, verdict: Allowed | Limited, now: float, requests: int, tokens: int) -> None:
        """An answer that nobody waited for. It knows of so much of what was granted alone; the rest is on its way."""
        before = self._left.get(key)
        self.note(key, verdict, now)
        if before is not None:
            last = self._left[key]
            last.requests, last.tokens = max(before.requests - requests, 0), max(before.tokens - tokens, 0)

    def knows(self, key: str, now: float) -> bool:
        """Whether Redis has said something of a key within the last minute."""
        last = self._left.get(key)
        return last is not None and 0.0 <= now - last.at < MINUTE

    def add(self, newer: LastAnswers, now: float) -> None:
        """Take what another knows of keys of which this one knows nothing any more."""
        self._left = {key: last for key, last in self._left.items() if self.knows(key, now)}
        for key, last in newer._left.items():
            self._left.setdefault(key, last)

    def refusal(self, key: str, limits: KeyLimits, tokens: int, now: float, sharers: int) -> Limited | None:
        """A refusal by what was left, or None where there is room or the answer is too old. Room is then used."""
        last = self._left.get(key)
        if last is None or not 0.0 <= now - last.at < MINUTE:
            return None
        part = (now - last.at) / MINUTE
        rpm, tpm = limits.requests_per_minute, limits.tokens_per_minute
        if rpm is not None and last.requests + 1 > _share(rpm, last.requests_left, part, sharers):
            return Limited(SOON, "requests", rpm)
        if tpm is not None and last.tokens + tokens > _share(tpm, last.tokens_left, part, sharers):
            return Limited(SOON, "tokens", tpm)
        last.requests += 1
        last.tokens += tokens
        return None


class _LeftRoom:
    """When an answer came, what it left, and what this replica has granted alone since."""

    __slots__ = ("at", "requests", "requests_left", "tokens", "tokens_left")

    def __init__(self, at: float, verdict: Allowed | Limited) -> None:
        self.at = at
        self.requests = self.tokens = 0
        self.requests_left: int | None
        self.tokens_left: int | None
        if isinstance(verdict, Allowed):
            self.requests_left, self.tokens_left = verdict.requests_left, verdict.tokens_left
        else:
            self.requests_left, self.tokens_left = (0, None) if verdict.what == "requests" else (None, 0)


def _share(limit: int, left: int | None, part: float, sharers: int) -> float:
    """What one replica may use; where it is not known what was left, its share of the whole."""
    room = limit if left is None else left + (limit - left) * part
    return max(room / sharers, 0.0)


class RedisLimits:
    """`RateLimits` in Redis."""

    def __init__(self, link: RedisLink, scripts: Scripts, keys: RedisKeys, replicas: Replicas, steady: Clock) -> None:
        self._link = link
        self._scripts = scripts
        self._keys = keys
        self._replicas = replicas
        self._steady = steady
        self._own = RateWindows(steady)
        self._unsent = RateWindows(steady)
        self._last = LastAnswers()
        self._before_loss: LastAnswers | None = None
        self._loss_at = 0.0
        self._is_vain = False
        link.back.append(self._push)

    async def reserve(self, key: str, limits: KeyLimits, tokens: int = 0) -> Allowed | Limited:
        tokens, is_sent = bounded(tokens), self._link.ready
        if self._before_loss is not None and (refusal := self._refusal_after_loss(key, limits, tokens)) is not None:
            return refusal
        ticket = CountTicket(limits, tokens)
        command = self._command(key, limits, 1, tokens, 0.0, asks=True)
        try:
            reply = await self._link.ask(command, partial(self._late, key, ticket))
        except RedisAway:
            ticket.counted = ticket.counted if is_sent else False
            reply = await self._late_reply(key, ticket, command)
            if not reply:
                return self._alone(key, limits, ticket)
        except RedisRefused:
            ticket.counted = False
            return self._alone(key, limits, ticket)
        verdict = _verdict(reply, limits, tokens)
        self._is_vain = False
        self._last.note(key, verdict, self._steady())
        if isinstance(verdict, Allowed):
            self._own.add(key, 1, tokens)
        return verdict

    def settle(self, key: str, tokens: int) -> None:
        tokens = bounded(tokens)
        self._own.add(key, 0, tokens)
        self._tell(key, 0, tokens)

    def forget(self, key: str) -> int:
        """Drop the counts of a key, here and in Redis."""
        self._unsent.forget(key)
        self._link.post(pack(("DEL", *self._names(key))))
        return self._own.forget(key)

    def _alone(self, key: str, limits: KeyLimits, ticket: CountTicket) -> Allowed | Limited:
        """Decide by this replica's own counts, against its share; shortly after an answer, by what was left then."""
        refusal = self._last.refusal(key, limits, ticket.tokens, self._steady(), self._replicas.sharers)
        verdict = refusal or self._own.reserve(key, self._replicas.share(limits), ticket.tokens)
        ticket.granted = isinstance(verdict, Allowed)
        self._correct(key, ticket)
        return verdict

    def _refusal_after_loss(self, key: str, limits: KeyLimits, tokens: int) -> Limited | None:
        """A refusal by what Redis said before it lost its counts, for a minute.

        Replicas tell Redis what they have counted, but those that have ended cannot. What it said last knew of them, so
        until that minute is over a replica uses no more than its share of what was left then.
        """
        now = self._steady()
        if self._before_loss is None or now - self._loss_at >= MINUTE:
            self._before_loss = None
            return None
        return self._before_loss.refusal(key, limits, tokens, now, self._replicas.sharers)

    async def _late_reply(self, key: str, ticket: CountTicket, command: bytes) -> Any:
        """What a slow Redis says after all, where this replica knows nothing of a key. None: it decides alone.

        A replica that has just started would allow its share on top of what others, or it before, have used. Where one
        request has waited in vain no other does until Redis has answered again.
        """
        if self._is_vain or self._last.knows(key, self._steady()):
            return None
        if ticket.counted is False:  # not asked, because Redis is slow
            if not self._link.post(command, partial(self._late, key, ticket)):
                return None
            ticket.counted = None
        ticket.late = asyncio.get_running_loop().create_future()
        try:
            async with asyncio.timeout(FIRST_ANSWER_SECONDS):
                return await ticket.late
        except TimeoutError:
            self._is_vain = True
            return None

    def _late(self, key: str, ticket: CountTicket, reply: Any) -> None:
        """Redis has answered after all. Where the connection was lost it has most likely never counted."""
        ticket.counted = bool(reply) and reply[0] == 1
        if reply:
            self._is_vain = False
            known = (1, ticket.tokens) if ticket.granted and ticket.counted else (0, 0)
            self._last.note_late(key, _verdict(reply, ticket.limits, ticket.tokens), self._steady(), *known)
        if ticket.late is not None and not ticket.late.done():
            ticket.late.set_result(reply)
        self._correct(key, ticket)

    def _correct(self, key: str, ticket: CountTicket) -> None:
        """Tell Redis what it does not know, or take back what it counted and nobody was granted."""
        if ticket.granted is not None and ticket.counted is not None and ticket.granted is not ticket.counted:
            sign = 1 if ticket.granted else -1
            self._tell(key, sign, sign * ticket.tokens, limits=ticket.limits if ticket.granted else None)

    def _tell(self, key: str, requests: int, tokens: int, age: float = 0.0, limits: KeyLimits | None = None) -> None:
        """Have Redis count. With `limits` its answer says what is left: a slow Redis informs this replica, too."""
        command = self._command(key, KeyLimits(), requests, tokens, age)
        if not self._link.post(command, partial(self._acknowledged, key, requests, tokens, limits)):
            self._unsent.add(key, requests, tokens)

    def _acknowledged(self, key: str, requests: int, tokens: int, limits: KeyLimits | None, reply: Any) -> None:
        """Where the connection was lost before the answer, Redis has most likely never counted it."""
        if not reply:
            self._unsent.add(key, requests, tokens)
        elif limits is not None:
            self._is_vain = False
            self._last.note_late(key, _verdict(reply, limits, tokens), self._steady(), requests, tokens)

    def _push(self, lost_since: float | None) -> None:
        """Tell Redis what it has missed: what was counted while it was away, and what it has lost."""
        now, unsent, self._unsent = self._steady(), self._unsent, RateWindows(self._steady)
        counts = list(unsent.counts())
        if lost_since is not None:
            counts = [(key, bucket) for key, bucket in self._own.counts() if (bucket[0] + 1) * SLICE > lost_since]
            before = self._before_loss or LastAnswers()
            before.add(self._last, now)
            self._before_loss, self._last, self._loss_at = before, LastAnswers(), now
        for key, (number, requests, tokens) in counts:
            self._tell(key, requests, tokens, max(now - (number + 1) * SLICE, 0.0))

    def _command(
        self, key: str, limits: KeyLimits, requests: int, tokens: int, age: float, asks: bool = False
    ) -> bytes:
        rpm, tpm = limits.requests_per_minute, limits.tokens_per_minute
        most = ("" if rpm is None else rpm, "" if tpm is None else tpm)
        return evalsha(self._scripts.count, self._names(key), *most, requests, tokens, age, int(asks))

    def _names(self, key: str) -> tuple[str, str]:
        name = self._keys.named("counts", digest(key, 16))
        return name, name + ":order"


def _verdict(reply: Any, limits: KeyLimits, tokens: int) -> Allowed | Limited:
    """What the script says: the counts before this request, or for what and how long to wait."""
    rpm, tpm = limits.requests_per_minute, limits.tokens_per_minute
    if reply[0] == 0:
        what = reply[1].decode()
        return Limited(float(reply[2]), what, (rpm if what == "requests" else tpm) or 0)
    requests, used = reply[1], reply[2]
    return Allowed(
        None if rpm is None else rpm - requests - 1,
        None if tpm is None else max(0, tpm - used - tokens),
    )
