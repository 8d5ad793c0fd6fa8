"""Redis that is killed, stands still, loses its data or comes back: requests go on, and nothing is counted twice.

Every test has a server of its own, a real one, and does to it what an operator fears.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Iterator
from datetime import UTC, datetime

import pytest
from tests.store.contract.backends import OWNER, lesson, parts
from tests.store.contract.backends import Time as FakeTime
from tests.store.deadlines import NEVER_LATE, hurried, reached, until
from tests.store.redis_server import RedisServer, commands_of

from dragoman.config.schema.keys import Budget
from dragoman.config.schema.store import RedisOptions, StoreConfig
from dragoman.store.contracts.budgets import Exhausted, periods_at
from dragoman.store.contracts.pins import Pin, PinOwner
from dragoman.store.contracts.rate_limits import Allowed, KeyLimits, Limited
from dragoman.store.contracts.stored_responses import StoredResponse
from dragoman.store.errors import StoreUnavailable
from dragoman.store.redis_store import RedisStore, parse_address, slow_answers
from dragoman.store.redis_store import store as redis_store
from dragoman.store.redis_store.link import LOOK_SECONDS, STUCK_LOOKS

PERIODS = periods_at(Budget(total=10), datetime(2026, 11, 15, 12, tzinfo=UTC).timestamp())
TEN = KeyLimits(requests_per_minute=10)
KEEP = ("--appendonly", "yes", "--appendfsync", "always")
"""A server that loses nothing when it is killed."""


@pytest.fixture
def server() -> Iterator[RedisServer]:
    one = RedisServer()
    yield one
    one.close()


@pytest.fixture
def lasting_server() -> Iterator[RedisServer]:
    one = RedisServer(*KEEP)
    yield one
    one.close()


class Fleet:
    """Replicas on one server. All are closed at the end."""

    def __init__(self) -> None:
        self.stores: list[RedisStore] = []

    async def add(self, server: RedisServer, count: int = 1, **options: object) -> list[RedisStore]:
        config = StoreConfig(redis=RedisOptions(**{"deadline_ms": NEVER_LATE, **options}))  # type: ignore[arg-type]
        new = [RedisStore(parse_address(server.url), config, beat_seconds=0.05) for _ in range(count)]
        self.stores += [await reached(store) for store in new]
        for store in new:
            await until(lambda store=store: store.replicas.count == len(self.stores))  # type: ignore[misc]
        return new


@pytest.fixture
async def fleet() -> AsyncIterator[Fleet]:
    one = Fleet()
    yield one
    for store in one.stores:
        await store.aclose()


def is_away(store: RedisStore) -> bool:
    return bool(store.health().away)


def is_back(store: RedisStore) -> bool:
    return not store.health().away


@pytest.mark.slow
async def test_without_redis_at_the_start_a_replica_works_alone_and_joins_later(fleet: Fleet) -> None:
    server = RedisServer()
    server.kill()
    config = StoreConfig(redis=RedisOptions(deadline_ms=100))
    store = RedisStore(parse_address(server.url), config, beat_seconds=0.05)
    fleet.stores.append(store)
    await store.start()
    assert "127.0.0.1" in str(store.health().away)
    await store.vault.put(OWNER, {"call_1": parts()})
    assert await store.vault.find(OWNER, ["call_1"]) == {"call_1": parts()}
    assert await store.limits.reserve("k", TEN) == Allowed(9)
    with pytest.raises(StoreUnavailable):
        await store.forget("anna")
    server.start()
    await until(lambda: is_back(store))
    (other,) = await fleet.add(server)
    assert await other.vault.find(OWNER, ["call_1"]) == {"call_1": parts()}
    assert await other.limits.reserve("k", TEN) == Allowed(8)
    server.close()


async def test_while_redis_is_away_each_replica_allows_its_share(server: RedisServer, fleet: Fleet) -> None:
    stores = await fleet.add(server, 4)
    limits = KeyLimits(requests_per_minute=20)
    for number in range(4):
        assert isinstance(await stores[number].limits.reserve("k", limits), Allowed)
    server.kill()
    for store in stores:
        await until(lambda store=store: is_away(store))  # type: ignore[misc]
    verdicts = [await store.limits.reserve("k", limits) for store in stores for _ in range(20)]
    assert sum(isinstance(verdict, Allowed) for verdict in verdicts) == 16  # 20 in all, of which 4 were used


async def test_the_share_can_be_configured(server: RedisServer, fleet: Fleet) -> None:
    (store,) = await fleet.add(server, replicas=5)
    server.kill()
    await until(lambda: is_away(store))
    verdicts = [await store.limits.reserve("k", TEN) for _ in range(5)]
    assert [isinstance(one, Allowed) for one in verdicts] == [True, True, False, False, False]
    assert verdicts[-1] == Limited(pytest.approx(60, abs=0.5), "requests", 10)
    assert store.health().replicas == 5


@pytest.mark.parametrize("keeps", [False, True], ids=["empty", "kept"])
async def test_after_a_restart_every_request_is_counted_once(keeps: bool, fleet: Fleet) -> None:
    server = RedisServer(*KEEP if keeps else ())
    one, two = await fleet.add(server, 2)
    limits = KeyLimits(requests_per_minute=100, tokens_per_minute=10_000)
    for store in (one, two):
        for _ in range(5):
            await store.limits.reserve("k", limits, tokens=10)
            store.limits.settle("k", 5)
    await asyncio.gather(one.flush(), two.flush())
    await asyncio.gather(one.replicas.beat(), two.replicas.beat())
    server.kill()
    for store in (one, two):
        await until(lambda store=store: is_away(store))  # type: ignore[misc]
        for _ in range(3):
            assert isinstance(await store.limits.reserve("k", limits, tokens=10), Allowed)
        store.limits.settle("k", 4)
    server.start()
    for store in (one, two):
        await until(lambda store=store: is_back(store))  # type: ignore[misc]
        await store.flush()
    verdict = await one.limits.reserve("k", limits)
    tokens = 2 * (5 * 15 + 3 * 10 + 4)
    assert verdict == Allowed(100 - 17, 10_000 - tokens)
    server.close()


@pytest.mark.slow
@pytest.mark.parametrize("keeps", [False, True], ids=["empty", "kept"])
async def test_after_a_restart_every_amount_is_booked_once(keeps: bool, fleet: Fleet) -> None:
    server = RedisServer(*KEEP if keeps else ())
    one, two = await fleet.add(server, 2)
    await one.budgets.reserve("anna", PERIODS, 1.0)
    await two.budgets.reserve("anna", PERIODS, 1.0)
    one.budgets.settle("anna", PERIODS, 0.5)
    await one.flush()
    server.kill()
    for store in (one, two):
        await until(lambda store=store: is_away(store))  # type: ignore[misc]
        assert not isinstance(await store.budgets.reserve("anna", PERIODS, 0.25), Exhausted)
        store.budgets.settle("anna", PERIODS, 0.125)
    server.start()
    for store in (one, two):
        await until(lambda store=store: is_back(store))  # type: ignore[misc]
        await store.flush()
    assert await one.budgets.reserve("anna", PERIODS, 0.0) == (3.25, 3.25, 3.25)
    assert (one.health().waiting, two.health().waiting) == (0, 0)
    server.close()


@pytest.mark.slow
async def test_while_redis_is_away_a_budget_is_not_overdrawn(server: RedisServer, fleet: Fleet) -> None:
    stores = await fleet.add(server, 2)
    for store in stores:
        await store.budgets.reserve("anna", PERIODS, 1.0)
    await stores[0].budgets.reserve("anna", PERIODS, 0.0)  # knows of both
    server.kill()
    granted = 0.0
    for store in stores:
        await until(lambda store=store: is_away(store))  # type: ignore[misc]
        for _ in range(20):
            verdict = await store.budgets.reserve("anna", PERIODS, 0.5)
            granted += 0.0 if isinstance(verdict, Exhausted) else 0.5
    assert granted == 8.0


async def test_what_stands_still_costs_three_requests_their_deadline_and_then_nothing(
    server: RedisServer, fleet: Fleet
) -> None:
    (store,) = await fleet.add(server)
    limits = KeyLimits(requests_per_minute=1000)
    await store.limits.reserve("k", limits)
    server.stop()
    with hurried(store):
        for _ in range(4):  # the heartbeat may be one of the three
            await store.limits.reserve("k", limits)
    assert "too slowly" in str(store.health().away)
    waiting = [store.limits.reserve("k", limits) for _ in range(100)]
    for one in waiting:
        with pytest.raises(StopIteration):  # not one of them waits for anything
            one.send(None)
    server.go_on()
    await until(lambda: is_back(store))
    await store.flush()
    assert await store.limits.reserve("k", limits) == Allowed(1000 - 106)


async def test_a_replica_that_knows_nothing_of_a_key_waits_for_a_slow_redis(
    server: RedisServer, fleet: Fleet, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It has just started, and would allow its share on top of what others have used."""
    monkeypatch.setattr(slow_answers, "FIRST_ANSWER_SECONDS", 60)
    (other,) = await fleet.add(server, replicas=2)
    for key in ("k", "later"):
        for _ in range(10):
            assert isinstance(await other.limits.reserve(key, TEN), Allowed)
    (fresh,) = await fleet.add(server, replicas=2)
    server.stop()
    with hurried(fresh):
        asked = [asyncio.create_task(fresh.limits.reserve("k", TEN)) for _ in range(5)]
        await until(lambda: is_away(fresh))
    server.go_on()
    assert [type(await one) for one in asked] == [Limited] * 5
    await until(lambda: is_back(fresh))
    server.stop()
    with hurried(fresh):
        for _ in range(4):
            await fresh.limits.reserve("k", TEN)
    assert is_away(fresh)  # nobody asks any more, and yet
    later, new = (asyncio.create_task(fresh.limits.reserve(key, TEN)) for key in ("later", "new"))
    await asyncio.sleep(0.02)
    assert not later.done()
    server.go_on()
    assert isinstance(await later, Limited)
    assert isinstance(await new, Allowed)
    await until(lambda: is_back(fresh))
    await fresh.flush()
    assert await other.limits.reserve("new", TEN) == Allowed(8)


async def test_a_redis_that_stands_still_is_waited_for_once(server: RedisServer, fleet: Fleet) -> None:
    (fresh,) = await fleet.add(server, replicas=2)
    server.stop()
    with hurried(fresh):
        first = await asyncio.gather(*(fresh.limits.reserve("k", TEN) for _ in range(7)))
    assert [type(one) for one in first] == [Allowed] * 5 + [Limited] * 2
    one = fresh.limits.reserve("another", TEN)
    with pytest.raises(StopIteration):
        one.send(None)
    server.go_on()
    await until(lambda: is_back(fresh))
    await fresh.flush()
    assert await fresh.limits.reserve("k", TEN) == Allowed(4)


@pytest.mark.slow
async def test_a_process_that_stands_still_keeps_its_connection(server: RedisServer, fleet: Fleet) -> None:
    """Redis counts what it was sent all the same, and would count it twice if it were sent again."""
    (store,) = await fleet.add(server)
    server.stop()
    store.limits.settle("k", 1)
    time.sleep(STUCK_LOOKS * LOOK_SECONDS * 1.5)  # noqa: ASYNC251 - the loop itself stands still
    server.go_on()
    assert await store.flush(60)
    assert store.health().reconnects == 0


async def test_a_late_answer_tells_what_others_have_used(server: RedisServer, fleet: Fleet) -> None:
    (one,) = await fleet.add(server, replicas=2)
    (other,) = await fleet.add(server, replicas=2)
    assert isinstance(await one.limits.reserve("k", TEN), Allowed)
    for _ in range(9):
        assert isinstance(await other.limits.reserve("k", TEN), Allowed)
    server.stop()
    with hurried(one):  # its share of what was left when it last heard
        assert isinstance(await one.limits.reserve("k", TEN), Allowed)
    server.go_on()
    await one.flush()
    await until(lambda: is_back(one))
    server.stop()
    with hurried(one):
        assert isinstance(await one.limits.reserve("k", TEN), Limited)
    server.go_on()


@pytest.mark.slow
async def test_what_a_replica_that_has_ended_used_still_counts_when_redis_has_lost_it(
    server: RedisServer, fleet: Fleet
) -> None:
    """Nobody is left who could tell Redis, but others have heard of it."""
    one, other = await fleet.add(server, 2, replicas=1)
    for _ in range(8):
        assert isinstance(await other.limits.reserve("k", TEN), Allowed)
    assert await one.limits.reserve("k", TEN) == Allowed(1)
    await other.aclose()
    await one.replicas.beat()
    for _ in range(2):  # it may lose its data again before the minute is over
        server.kill()
        await until(lambda: is_away(one))
        server.start()
        await until(lambda: is_back(one))
    verdicts = [await one.limits.reserve("k", TEN) for _ in range(3)]
    assert [type(verdict) for verdict in verdicts] == [Allowed, Limited, Limited]
    assert isinstance(await one.limits.reserve("unheard", TEN), Allowed)


@pytest.mark.slow
async def test_what_was_decided_twice_is_corrected_when_the_late_answer_comes(
    server: RedisServer, fleet: Fleet
) -> None:
    """Redis admits what this replica, with a third of the room, has refused; and the other way round."""
    (store,) = await fleet.add(server, replicas=3)
    (other,) = await fleet.add(server, replicas=3)
    await store.budgets.reserve("anna", PERIODS, 1.0)
    server.stop()
    with hurried(store):
        refused = await store.budgets.reserve("anna", PERIODS, 6.0)
        assert isinstance(refused, Exhausted)
        admitted = await store.budgets.reserve("anna", PERIODS, 2.0)
        assert not isinstance(admitted, Exhausted)
        assert isinstance(await store.limits.reserve("k", KeyLimits(requests_per_minute=3)), Allowed)
        assert isinstance(await store.limits.reserve("k", KeyLimits(requests_per_minute=3)), Limited)
    server.go_on()
    await until(lambda: is_back(store) and is_back(other))
    await store.flush()
    await other.budgets.reserve("anna", PERIODS, 0.0)
    assert await other.budgets.reserve("anna", PERIODS, 0.0) == (3.0, 3.0, 3.0)
    assert await other.limits.reserve("k", KeyLimits(requests_per_minute=3)) == Allowed(1)


async def test_a_connection_that_is_lost_before_the_answer_books_nothing_twice(
    lasting_server: RedisServer, fleet: Fleet
) -> None:
    """Redis has got the commands, and dies with the connection; nobody knows what it has done with them."""
    server = lasting_server
    (store,) = await fleet.add(server)
    await store.budgets.reserve("anna", PERIODS, 1.0)
    server.stop()
    with hurried(store):
        for _ in range(4):
            await store.budgets.reserve("anna", PERIODS, 0.5)
    store.budgets.settle("anna", PERIODS, 0.25)
    server.kill()  # wakes it up first: it may or may not work through what it was sent
    server.start()
    await until(lambda: is_back(store))
    await store.flush()
    assert await store.budgets.reserve("anna", PERIODS, 0.0) == (3.25, 3.25, 3.25)


async def test_a_booking_that_redis_refuses_is_not_lost(server: RedisServer, fleet: Fleet) -> None:
    """A Redis without room refuses to write. Its refusal must not make later bookings hide this one."""
    (store,) = await fleet.add(server)
    await store.budgets.reserve("anna", PERIODS, 1.0)
    client = server.client()
    client.config_set("maxmemory", "1")
    store.budgets.settle("anna", PERIODS, 0.5)
    await store.flush()
    assert store.health().failed > 0
    client.config_set("maxmemory", "0")
    store.budgets.settle("anna", PERIODS, 0.25)
    await store.flush()
    client.execute_command("CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes")
    await until(lambda: store.health().waiting == 0 and store.health().reconnects > 0)
    await until(lambda: is_back(store))
    assert await store.budgets.reserve("anna", PERIODS, 0.0) == (1.75, 1.75, 1.75)


async def test_state_and_lessons_come_back_to_a_server_that_lost_them(server: RedisServer, fleet: Fleet) -> None:
    one, two = await fleet.add(server, 2)
    await one.vault.put(OWNER, {"call_1": parts("kept")})
    await one.pins.put(PinOwner("anna"), {"call_1": Pin("t", 1.0)})
    await one.lessons.put(lesson("a", FakeTime()))
    await one.replicas.beat()
    server.kill()
    await until(lambda: is_away(one) and is_away(two))
    await one.vault.put(OWNER, {"call_2": parts("meanwhile")})
    assert await one.vault.find(OWNER, ["call_1"]) == {"call_1": parts("kept")}
    server.start()
    await until(lambda: is_back(one) and is_back(two))
    await one.flush()
    assert await two.vault.find(OWNER, ["call_1", "call_2"]) == {"call_1": parts("kept"), "call_2": parts("meanwhile")}
    assert await two.pins.find(PinOwner("anna"), ["call_1"]) == {"call_1": Pin("t", 1.0)}
    assert [record.name for record in await two.lessons.all()] == ["a"]
    assert one.health().reconnects >= 1


async def test_state_is_waited_for_longer_than_a_limit(
    server: RedisServer, fleet: Fleet, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A replica can decide a limit alone, and cannot make up a turn."""
    monkeypatch.setattr(redis_store, "VALUE_SECONDS", 60.0)
    (store,) = await fleet.add(server, deadline_ms=5)
    server.stop()
    keeping = asyncio.create_task(store.responses.put("anna", "resp_1", StoredResponse(b"[]", b"{}")))
    await store.limits.reserve("k", TEN)
    assert not keeping.done()
    server.go_on()
    assert await keeping


async def test_an_absent_redis_is_not_asked(server: RedisServer, fleet: Fleet) -> None:
    """And one that is there is asked once for each decision, and not at all for what is known."""
    (store,) = await fleet.add(server)
    await store.vault.put(OWNER, {"call_1": parts()})
    before = commands_of(server).get("evalsha", 0)
    for _ in range(50):
        await store.vault.find(OWNER, ["call_1"])
    beats = commands_of(server).get("evalsha", 0) - before
    assert beats < 25  # heartbeats only
    local = store.health().local
    server.kill()
    await until(lambda: is_away(store))
    waiting = store.limits.reserve("k", TEN)
    with pytest.raises(StopIteration):
        waiting.send(None)
    assert store.health().local > local


async def test_a_caller_that_one_replica_forgets_is_gone_from_all(server: RedisServer, fleet: Fleet) -> None:
    one, two = await fleet.add(server, 2)
    await one.vault.put(OWNER, {"call_1": parts()})
    assert await two.vault.find(OWNER, ["call_1"])
    assert await one.forget("anna") == 1
    await until(lambda: len(two.tables["reasoning"][1].near) == 0)
    assert await two.vault.find(OWNER, ["call_1"]) == {}


def test_the_loop_of_the_gateway_serves_too(server: RedisServer) -> None:
    """uvloop has transports and timers of its own kind."""
    uvloop = pytest.importorskip("uvloop")

    async def work() -> tuple[str | None, int, bool]:
        config = StoreConfig(redis=RedisOptions(deadline_ms=NEVER_LATE))
        store = await reached(RedisStore(parse_address(server.url), config, beat_seconds=0.05))
        many = KeyLimits(requests_per_minute=10_000)

        async def ask() -> None:
            for _ in range(3):
                await asyncio.gather(*(store.limits.reserve("k", many) for _ in range(20)))
                await asyncio.sleep(0.01)

        await ask()
        server.stop()
        with hurried(store):
            await ask()
        was_away = is_away(store)
        server.go_on()
        await until(lambda: is_back(store))
        await store.flush()
        verdict = await store.limits.reserve("k", many)
        await store.aclose()
        return store.health().last_error, many.requests_per_minute - (verdict.requests_left or 0), was_away

    assert uvloop.run(work()) == (None, 121, True)


async def test_everything_but_a_total_budget_expires(server: RedisServer, fleet: Fleet) -> None:
    (store,) = await fleet.add(server)
    await store.vault.put(OWNER, {"call_1": parts()})
    await store.lessons.put(lesson("a", FakeTime()))
    await store.limits.reserve("k", TEN, tokens=5)
    await store.budgets.reserve("anna", PERIODS, 1.0)
    store.cooldowns.rest("groq/x", 5.0)
    await store.replicas.beat()
    await store.flush()
    client = server.client()
    names = [name.decode() for name in client.keys("*")]
    assert all(name.startswith("dragoman:") for name in names)
    assert [name for name in names if client.ttl(name) < 0 and not name.endswith(":total")] == []
    assert len(names) > 10
