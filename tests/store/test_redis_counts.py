"""What a replica knows of the counts in Redis: enough to decide alone, and to give them back when Redis has lost them.

Clocks stand still until a test moves them, in Redis as in the replicas.
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import AsyncIterator

import pytest
from tests.store.contract.backends import ServerTime
from tests.store.deadlines import NEVER_LATE, hurried, reached, until
from tests.store.redis_server import RedisServer

from dragoman.config.schema.keys import Budget
from dragoman.config.schema.store import RedisOptions, StoreConfig
from dragoman.store.contracts.budgets import Exhausted, periods_at
from dragoman.store.contracts.rate_limits import Allowed, KeyLimits, Limited
from dragoman.store.redis_store import RedisStore, parse_address, slow_answers

TEN = KeyLimits(requests_per_minute=10)
MANY = KeyLimits(requests_per_minute=10_000, tokens_per_minute=1_000_000)
PERIODS = periods_at(Budget(total=10), 1_800_000_000.0)


class Cluster:
    """Replicas on a server of their own, and the time of them all."""

    def __init__(self) -> None:
        self.server = RedisServer()
        self.time = ServerTime(self.server)
        self.stores: list[RedisStore] = []

    async def add(self, count: int, replicas: int | None = None) -> list[RedisStore]:
        config = StoreConfig(redis=RedisOptions(deadline_ms=NEVER_LATE, replicas=replicas or count))
        address, clock = parse_address(self.server.url), self.time.script_clock
        new = [RedisStore(address, config, self.time.clocks, clock, beat_seconds=0.05) for _ in range(count)]
        self.stores += [await reached(store) for store in new]
        return new

    def advance(self, seconds: float) -> None:
        """Time goes on, also if Redis is away and cannot be told."""
        write = object.__setattr__ if self.server.process is None else setattr
        for name in ("wall", "steady"):
            write(self.time, name, getattr(self.time, name) + seconds)

    async def lose_redis(self) -> None:
        for store in self.stores:
            await store.replicas.beat()
        self.server.kill()
        for store in self.stores:
            await until(lambda store=store: bool(store.health().away))  # type: ignore[misc]

    async def find_redis_again(self) -> None:
        """It has forgotten everything, but for the time."""
        self.server.start()
        self.advance(0)
        for store in self.stores:
            await until(lambda store=store: not store.health().away)  # type: ignore[misc]
            await store.flush()


@pytest.fixture
async def cluster() -> AsyncIterator[Cluster]:
    one = Cluster()
    yield one
    for store in one.stores:
        await store.aclose()
    one.server.close()


async def granted(store: RedisStore, limits: KeyLimits, tries: int, key: str = "k") -> int:
    return sum([isinstance(await store.limits.reserve(key, limits), Allowed) for _ in range(tries)])


async def test_alone_a_replica_knows_to_the_quarter_second_when_room_becomes_free(cluster: Cluster) -> None:
    one, other = await cluster.add(2)
    assert await granted(other, TEN, 8) == 8  # all at once, not evenly over the minute
    cluster.advance(30)
    assert await granted(one, TEN, 5) == 2
    await cluster.lose_redis()
    assert await one.limits.reserve("k", TEN) == Limited(30.0, "requests", 10)
    cluster.advance(29.5)
    assert await one.limits.reserve("k", TEN) == Limited(0.5, "requests", 10)
    cluster.advance(0.5)
    assert await granted(one, TEN, 10) == 4  # half of the eight that have become free


async def test_tokens_too(cluster: Cluster) -> None:
    (one,) = await cluster.add(1, replicas=2)
    limits = KeyLimits(tokens_per_minute=1_000)
    assert isinstance(await one.limits.reserve("k", limits, tokens=400), Allowed)
    one.limits.settle("k", 200)
    await one.flush()
    cluster.advance(1)
    await cluster.lose_redis()
    assert await one.limits.reserve("k", limits, tokens=150) == Allowed(None, 50)
    assert await one.limits.reserve("k", limits, tokens=100) == Limited(59.0, "tokens", 1_000)
    assert await one.limits.reserve("k", limits, tokens=50) == Allowed(None, 0)


@pytest.mark.sampled(5)
@pytest.mark.parametrize("seed", range(5))
async def test_what_redis_lost_is_given_back_once_by_whoever_knows(cluster: Cluster, seed: int) -> None:
    """Replicas have seen different states of the same counts, some of them long ago, and one has ended."""
    chance = random.Random(seed)
    stores = await cluster.add(4)
    total, tokens = 0, 0
    for _ in range(60):
        size = chance.randrange(50)
        assert isinstance(await chance.choice(stores).limits.reserve("k", MANY, size), Allowed)
        total, tokens = total + 1, tokens + size
        if chance.random() < 0.5:
            cluster.advance(chance.choice((0.1, 0.25, 0.6)))
    assert isinstance(await stores[0].limits.reserve("k", MANY), Allowed)  # somebody has seen them all
    await stores[3].aclose()
    cluster.stores.remove(stores[3])
    await cluster.lose_redis()
    for store in stores[:3]:
        for _ in range(chance.randrange(4)):
            assert isinstance(await store.limits.reserve("k", MANY, 7), Allowed)
            total, tokens = total + 1, tokens + 7
    await cluster.find_redis_again()
    cluster.advance(5)
    last = await stores[1].limits.reserve("k", MANY)
    assert last == Allowed(10_000 - total - 2, 1_000_000 - tokens)


async def test_what_is_given_back_becomes_free_in_its_time(cluster: Cluster) -> None:
    (one,) = await cluster.add(1)
    assert await granted(one, TEN, 6) == 6
    cluster.advance(40)
    assert await granted(one, TEN, 4) == 4
    for _ in range(2):  # it may lose its data again before anybody has asked
        await cluster.lose_redis()
        await cluster.find_redis_again()
    cluster.advance(10)
    assert await one.limits.reserve("k", TEN) == Limited(10.0, "requests", 10)
    cluster.advance(10)
    assert await granted(one, TEN, 10) == 6


async def test_a_copy_that_missed_something_is_asked_for_anew(cluster: Cluster) -> None:
    """A replica that was away tells Redis of earlier times, which others have already copied."""
    one, other = await cluster.add(2)
    assert await granted(one, TEN, 1) == 1
    cluster.advance(1)
    assert await granted(other, TEN, 1) == 1
    names = [name for name in cluster.server.client().keys("dragoman:counts:*") if not name.endswith(b":order")]
    numbers = sorted(int(name[:-1]) for name in cluster.server.client().hkeys(names[0]) if name[:-1].isdigit())
    cluster.server.client().hincrby(names[0], f"{numbers[0]}r", 4)
    cluster.server.client().hincrby(names[0], "r", 4)
    assert await granted(other, TEN, 2) == 2  # the first answer does not add up, the second is whole
    await cluster.lose_redis()
    assert await granted(other, TEN, 5) == 1  # half of what eight have left


async def test_after_an_outage_a_replica_keeps_to_its_share_until_all_are_back(cluster: Cluster) -> None:
    one, other = await cluster.add(2)
    assert (await granted(one, TEN, 1), await granted(other, TEN, 1)) == (1, 1)
    assert isinstance(await one.limits.reserve("unused", TEN), Allowed)
    await cluster.lose_redis()
    assert (await granted(one, TEN, 9), await granted(other, TEN, 9)) == (4, 4)
    await other.aclose()  # and so Redis never hears of its four
    cluster.stores.remove(other)
    await cluster.find_redis_again()
    assert await granted(one, TEN, 3) == 0
    assert await granted(one, TEN, 9, "unused") == 4
    assert await granted(one, TEN, 12, "new") == 10  # of a key that nobody used alone there is nothing to wait for
    cluster.advance(3)
    assert await granted(one, TEN, 9) == 5


async def test_after_an_outage_a_replica_spends_its_share_until_all_are_back(cluster: Cluster) -> None:
    one, other = await cluster.add(2)
    for store in (one, other):
        assert not isinstance(await store.budgets.reserve("anna", PERIODS, 1.0), Exhausted)
    assert not isinstance(await one.budgets.reserve("anna", PERIODS, 0.0), Exhausted)
    await cluster.lose_redis()
    for store in (one, other):
        assert not isinstance(await store.budgets.reserve("anna", PERIODS, 3.0), Exhausted)
    await cluster.find_redis_again()
    assert isinstance(await one.budgets.reserve("anna", PERIODS, 1.5), Exhausted)
    assert not isinstance(await one.budgets.reserve("anna", PERIODS, 1.0), Exhausted)
    cluster.advance(3)
    assert await other.budgets.reserve("anna", PERIODS, 1.0) == (10.0, 10.0, 10.0)


async def test_a_replica_that_does_not_know_what_was_spent_waits_for_a_slow_redis(
    cluster: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(slow_answers, "FIRST_ANSWER_SECONDS", 60)
    (other,) = await cluster.add(1, replicas=2)
    await other.budgets.reserve("anna", PERIODS, 10.0)
    (fresh,) = await cluster.add(1, replicas=2)
    cluster.server.stop()
    with hurried(fresh):
        asked = [asyncio.create_task(fresh.budgets.reserve("anna", PERIODS, 1.0)) for _ in range(5)]
        await until(lambda: bool(fresh.health().away))
    cluster.server.go_on()
    assert [type(await one) for one in asked] == [Exhausted] * 5
    await until(lambda: not fresh.health().away)
    assert await other.budgets.reserve("anna", PERIODS, 0.0) != ()
    cluster.server.stop()
    with hurried(fresh):
        left = asyncio.create_task(fresh.budgets.reserve("ben", PERIODS, 1.0))
        await asyncio.sleep(0.05)
    left.cancel()
    await asyncio.gather(left, return_exceptions=True)
    cluster.server.go_on()
    await until(lambda: not fresh.health().away)
    await fresh.flush()
    await fresh.flush()
    assert await other.budgets.reserve("ben", PERIODS, 0.0) == (0.0, 0.0, 0.0)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(2))
async def test_no_minute_has_more_than_the_limit_whatever_becomes_of_redis_and_replicas(
    cluster: Cluster, seed: int
) -> None:
    """Four minutes of a key that asks in bursts for more than it may, on three replicas."""
    chance, limits, let_through = random.Random(seed), KeyLimits(requests_per_minute=120), list[float]()
    await cluster.add(3)
    faults = {chance.randrange(200, 2000): fault for fault in (_lose, _lose, _restart_one, _restart_one, _lose)}
    for step in range(2400):
        cluster.advance(0.1)
        if (fault := faults.get(step)) is not None:
            await fault(cluster, chance)
        for store in cluster.stores:
            if chance.random() < (0.6 if step % 450 < 80 else 0.05):
                verdict = await store.limits.reserve("k", limits)
                let_through += [cluster.time.steady] * isinstance(verdict, Allowed)
        if cluster.server.process is None and chance.random() < 0.05:
            await cluster.find_redis_again()
    busiest = max(sum(start <= at < start + 60 - 0.25 for at in let_through) for start in let_through)
    assert busiest <= 121
    assert len(let_through) > 300  # and yet it is used


async def _lose(cluster: Cluster, chance: random.Random) -> None:
    if cluster.server.process is not None:
        await cluster.lose_redis()


async def _restart_one(cluster: Cluster, chance: random.Random) -> None:
    if cluster.server.process is not None:
        store = cluster.stores.pop(chance.randrange(len(cluster.stores)))
        await store.aclose()
        await cluster.add(1, replicas=3)
