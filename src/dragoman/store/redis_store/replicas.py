"""Who else uses the same Redis, and a heartbeat that keeps everybody informed.

Once a second a replica says that it lives, and learns how many do, which versions of shared books there are, which
destinations are left alone, and which callers were forgotten. Each beat has a number that Redis keeps: after a lost
connection the number tells whether Redis has lost data, and since when.
"""

from __future__ import annotations

import asyncio
import secrets
from collections import deque
from collections.abc import Callable
from typing import Any

from dragoman.store.clock import Clock
from dragoman.store.contracts.rate_limits import KeyLimits
from dragoman.store.redis_store.connection import RedisAway, RedisConnection, RedisRefused, evalsha, pack
from dragoman.store.redis_store.keys import RedisKeys
from dragoman.store.redis_store.link import RedisLink
from dragoman.store.redis_store.scripts import Scripts

BEAT_SECONDS = 1.0
MISSED_BEATS = 5
REMEMBERED_BEATS = 256
SETTLING_SECONDS = 3.0
"""After its own return to Redis a replica counts on others to be back, too, and to have told what they did alone."""


class Heartbeat:
    """What a beat brings back."""

    __slots__ = ("forgotten", "resting", "versions")

    def __init__(self, reply: list[Any]) -> None:
        versions, resting = reply[2], reply[3]
        self.versions = {name.decode(): int(number) for name, number in zip(versions[::2], versions[1::2], strict=True)}
        self.resting = {
            name.decode("utf-8", "replace"): float(left) for name, left in zip(resting[::2], resting[1::2], strict=True)
        }
        self.forgotten = [name.decode("utf-8", "surrogatepass") for name in reply[4]]


class Replicas:
    """This replica among the others. `listeners` are told what each beat brings."""

    def __init__(
        self,
        link: RedisLink,
        scripts: Scripts,
        keys: RedisKeys,
        steady: Clock,
        *,
        configured: int | None,
        beat_seconds: float = BEAT_SECONDS,
    ) -> None:
        self.id = secrets.token_hex(8)
        self.run = ""
        self.count = 1
        self.listeners: list[Callable[[Heartbeat], None]] = []
        self._link = link
        self._scripts = scripts
        self._keys = keys
        self._steady = steady
        self._configured = configured
        self._every = beat_seconds
        self._beats = 0
        self._times: deque[tuple[int, float]] = deque(maxlen=REMEMBERED_BEATS)
        self._task: asyncio.Task[None] | None = None
        link.prepare = self.prepare

    @property
    def sharers(self) -> int:
        """By how many a limit is divided while Redis is away."""
        return self._configured or max(self.count, 1)

    def share(self, limits: KeyLimits) -> KeyLimits:
        """This replica's part of a limit. A limit is never off, and never so small that nothing passes."""
        count = self.sharers
        rpm, tpm = limits.requests_per_minute, limits.tokens_per_minute
        return KeyLimits(
            None if rpm is None else max(rpm // count, 1) if rpm else 0,
            None if tpm is None else max(tpm // count, 1) if tpm else 0,
        )

    async def prepare(self, connection: RedisConnection) -> float | None:
        """Load the scripts into a server, and find out since when it may have lost data."""
        for script in self._scripts.all:
            await connection.ask(pack(("SCRIPT", "LOAD", script.text)))
        info: bytes = await connection.ask(pack(("INFO", "server")))
        self.run = info.partition(b"run_id:")[2].partition(b"\r\n")[0].decode()
        reply = await connection.ask(self._beat())
        self._take(reply)
        if self._task is None:
            self._task = asyncio.get_running_loop().create_task(self._keep_beating())
        return self._lost_since(int(reply[1]))

    def stop(self) -> None:
        if self._task is not None:
            self._task.cancel()

    async def beat(self) -> None:
        """One beat, now. If Redis is away, nothing is learnt."""
        number = self._beats + 1
        try:
            self._take(await self._link.ask(self._beat()))
        except (RedisAway, RedisRefused):
            return
        self._times.append((number, self._steady()))

    def _beat(self) -> bytes:
        self._beats += 1
        names = self._keys
        keys = (names.replicas, names.named("beat", self.id), names.versions, names.cooldowns, names.forgotten)
        return evalsha(self._scripts.beat, keys, self.id, self._beats, MISSED_BEATS * max(self._every, 1.0))

    def _take(self, reply: list[Any]) -> None:
        self.count = int(reply[0])
        news = Heartbeat(reply)
        for listener in self.listeners:
            listener(news)

    def _lost_since(self, before: int) -> float | None:
        """None if Redis still knew the last beat that it had answered; else the time of the beat that it knew."""
        answered = self._times[-1][0] if self._times else 0
        self._times.append((self._beats, self._steady()))
        if before >= answered:
            return None
        return next((time for number, time in reversed(self._times) if number <= before), float("-inf"))

    async def _keep_beating(self) -> None:
        while True:
            await asyncio.sleep(self._every)
            await self.beat()
