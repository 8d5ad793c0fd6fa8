"""The hot part of a store in Redis, shared by replicas on any number of machines."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from functools import partial
from typing import Any, TypeVar

from dragoman.config.schema.store import RedisOptions, StoreConfig
from dragoman.store.books import CALIBRATION_BOOK, LESSON_BOOK, BookCalibrations, BookLessons
from dragoman.store.clock import REAL_CLOCKS, Clocks
from dragoman.store.contracts.expiring_table import Bounds
from dragoman.store.contracts.health import Absence, StoreHealth
from dragoman.store.errors import StoreUnavailable
from dragoman.store.memory.cooldowns import MemoryCooldowns
from dragoman.store.memory.expiring_map import ExpiringMap
from dragoman.store.near_table import NearTable
from dragoman.store.redis_store.address import RedisAddress
from dragoman.store.redis_store.book import RedisBook
from dragoman.store.redis_store.budgets import RedisBudgets
from dragoman.store.redis_store.connection import (
    RedisAway,
    RedisConnection,
    RedisRefused,
    describe_error,
    evalsha,
    pack,
)
from dragoman.store.redis_store.cooldowns import RedisCooldowns
from dragoman.store.redis_store.keys import RedisKeys
from dragoman.store.redis_store.limits import RedisLimits
from dragoman.store.redis_store.link import RedisLink
from dragoman.store.redis_store.replicas import BEAT_SECONDS, Heartbeat, Replicas
from dragoman.store.redis_store.scripts import ScriptClock, Scripts
from dragoman.store.redis_store.servers import RedisDialer
from dragoman.store.redis_store.table import RedisTable
from dragoman.store.table_backed import TableKind, TableStore
from dragoman.store.transfer import ValueRow

Value = TypeVar("Value")
START_SECONDS = 1.0
VALUE_SECONDS = 1.0
"""A request waits so long for state that only Redis has, and an answer for its turn to be there: nothing can stand in
for either, as a replica's own counts do for a limit."""
CLOSE_SECONDS = 5.0
PUSHED_AGAIN = 2_000
"""Values of each table that this process gives back to a Redis that has lost them."""
_AWAY = "limits are shared out among {}; state is what this process knows"
FORGOTTEN_SECONDS, MOST_FORGOTTEN = 60, 1000
"""For so long replicas are reminded to drop a caller that was forgotten."""


class RedisStore(TableStore):
    """`HotPart` in Redis.

    Two connections: counts and the heartbeat have one of their own, so that no large value stands before them.
    """

    def __init__(
        self,
        address: RedisAddress,
        config: StoreConfig,
        clocks: Clocks = REAL_CLOCKS,
        script_clock: ScriptClock = ScriptClock(),  # noqa: B008 - frozen
        beat_seconds: float = BEAT_SECONDS,
    ) -> None:
        options: RedisOptions = config.redis
        self.place = address.place
        self._clocks = clocks
        self._scripts = scripts = Scripts(script_clock)
        self._keys = keys = RedisKeys(options.prefix, address.cluster)
        dialer = RedisDialer(address, options.ca_file, keys.replicas)
        deadline = options.deadline_ms / 1000
        self._counts = counts = RedisLink(dialer, deadline, clocks.steady)
        self._values = RedisLink(dialer, max(deadline, VALUE_SECONDS), clocks.steady)
        self._values.prepare = self._prepare_values
        self.replicas = replicas = Replicas(
            counts, scripts, keys, clocks.steady, configured=options.replicas, beat_seconds=beat_seconds
        )
        replicas.listeners.append(self._drop_forgotten)
        self._is_lost = False
        counts.back.append(self._note_loss)
        self._values.back.append(self._give_back)
        self.limits = RedisLimits(counts, scripts, keys, replicas, clocks.steady)
        self.budgets = RedisBudgets(counts, scripts, keys, replicas, clocks)
        self.cooldowns = RedisCooldowns(counts, scripts, keys, replicas, MemoryCooldowns(clocks.steady))
        book = partial(RedisBook, counts, scripts, keys, replicas)
        self.lessons = BookLessons(book(LESSON_BOOK), clocks.wall)
        self.calibrations = BookCalibrations(book(CALIBRATION_BOOK), clocks.wall)
        self.tables: dict[str, tuple[RedisTable[Any], NearTable[Any]]] = {}
        super().__init__(config, clocks.wall)

    def _open_table(self, kind: TableKind[Value], bounds: Bounds) -> NearTable[Value]:
        wall = self._clocks.wall
        shared = RedisTable(self._values, self._scripts, self._keys, kind, bounds)
        near = NearTable(shared, ExpiringMap(bounds, kind.weigh, wall), kind.fresh, wall)
        self.tables[kind.name] = shared, near
        return near

    async def start(self) -> None:
        await asyncio.gather(self._counts.start(START_SECONDS), self._values.start(START_SECONDS))
        await asyncio.gather(self.lessons.load(), self.calibrations.load())

    def health(self) -> StoreHealth:
        links = (self._counts, self._values)
        away = next((link.why for link in links if not link.ready), None)
        return StoreHealth(
            waiting=sum(link.waiting for link in links) + self.budgets.waiting,
            dropped=sum(link.dropped for link in links),
            failed=sum(link.failed for link in links),
            unread=sum(table.unread for table, _ in self.tables.values()),
            last_error=next((link.last_error for link in links if link.last_error), None),
            local=sum(link.local for link in links),
            reconnects=sum(max(link.connects - 1, 0) for link in links),
            replicas=self.replicas.sharers,
            away=() if away is None else (Absence(self.place, away, _AWAY.format(self.replicas.sharers)),),
        )

    async def forget(self, caller: str) -> int:
        try:
            count = await self._forget_values(caller)
            count += await self.budgets.forget(caller)
            name = caller.encode("utf-8", "surrogatepass")
            keys = (self._keys.forgotten,)
            await self._counts.ask(evalsha(self._scripts.rest, keys, name, FORGOTTEN_SECONDS, MOST_FORGOTTEN))
        except (RedisAway, RedisRefused) as error:
            raise StoreUnavailable(f"{self.place}: {describe_error(error)}") from error
        return count + await self.lessons.forget_caller(caller) + self.limits.forget(caller)

    async def take_value(self, row: ValueRow) -> None:
        try:
            await self.tables[row.kind][0].take(row.caller, row.place, row.key, row.value)
        except (RedisAway, RedisRefused) as error:
            raise StoreUnavailable(f"{self.place}: {describe_error(error)}") from error

    async def take_spent(self, key: str, period: str, amount: float) -> None:
        try:
            await self.budgets.take(key, period, amount)
        except (RedisAway, RedisRefused) as error:
            raise StoreUnavailable(f"{self.place}: {describe_error(error)}") from error

    async def flush(self, seconds: float = 5.0) -> bool:
        return all(await asyncio.gather(self._counts.flush(seconds), self._values.flush(seconds)))

    async def aclose(self) -> None:
        """What is booked and not yet in Redis would be lost with this process: it gets some time."""
        self.replicas.stop()
        with suppress(TimeoutError):
            async with asyncio.timeout(CLOSE_SECONDS):
                while self.budgets.waiting and self._counts.is_kept_up:  # noqa: ASYNC110 - at the very end
                    await asyncio.sleep(0.01)
        await asyncio.gather(self._counts.aclose(), self._values.aclose())

    async def _prepare_values(self, connection: RedisConnection) -> float | None:
        for script in self._scripts.all:
            await connection.ask(pack(("SCRIPT", "LOAD", script.text)))
        return None

    def _note_loss(self, lost_since: float | None) -> None:
        """The heartbeat finds out that data is lost, before or after the other connection is there."""
        self._is_lost = self._is_lost or lost_since is not None
        self._give_back()

    def _give_back(self, _: float | None = None) -> None:
        if self._is_lost and self._values.ready:
            self._is_lost = False
            for table, near in self.tables.values():
                table.push_again(near.near.newest(PUSHED_AGAIN))

    def _drop_forgotten(self, news: Heartbeat) -> None:
        for caller in news.forgotten:
            for _, table in self.tables.values():
                table.drop_caller(caller)
