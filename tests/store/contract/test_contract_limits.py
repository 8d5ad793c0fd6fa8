"""The promises of limits per minute."""

from __future__ import annotations

import asyncio

import pytest
from tests.store.contract.backends import Backend

from dragoman.config.schema.keys import ClientKey
from dragoman.store.contracts.rate_limits import Allowed, KeyLimits, Limited

THREE = KeyLimits(requests_per_minute=3)


async def test_a_limit_slides_over_a_minute(backend: Backend) -> None:
    limits = (await backend.open()).limits
    verdicts = []
    for _ in range(4):
        verdicts.append(await limits.reserve("k", THREE))
        backend.time.advance(10)
    assert verdicts == [Allowed(2), Allowed(1), Allowed(0), Limited(30.0, "requests", 3)]
    backend.time.advance(19.7)
    assert isinstance(await limits.reserve("k", THREE), Limited)
    backend.time.advance(0.3)
    assert await limits.reserve("k", THREE) == Allowed(0)
    assert await limits.reserve("other", THREE) == Allowed(2)


async def test_a_client_that_keeps_to_its_limit_is_never_refused(backend: Backend) -> None:
    limits = (await backend.open()).limits
    for _ in range(200):
        assert isinstance(await limits.reserve("k", KeyLimits(requests_per_minute=60)), Allowed)
        backend.time.advance(1)


async def test_several_requests_at_once_are_all_counted_or_none(backend: Backend) -> None:
    limits, allowance = (await backend.open()).limits, KeyLimits(requests_per_minute=5, tokens_per_minute=100)
    assert await limits.reserve("k", allowance, tokens=30, count=3) == Allowed(2, 70)
    backend.time.advance(10)
    assert await limits.reserve("k", allowance, count=3) == Limited(50.0, "requests", 5)
    assert await limits.reserve("k", allowance, tokens=71, count=2) == Limited(50.0, "tokens", 100)
    assert await limits.reserve("k", allowance, tokens=20, count=2) == Allowed(0, 50)
    assert await limits.reserve("other", allowance, count=6) == Limited(60.0, "requests", 5), "they never fit"
    backend.time.advance(50)
    assert await limits.reserve("k", allowance, count=3) == Allowed(0, 80)


async def test_of_many_tasks_with_several_requests_none_has_a_part(backend: Backend) -> None:
    limits, allowance = (await backend.open()).limits, KeyLimits(requests_per_minute=50)
    verdicts = await asyncio.gather(*[limits.reserve("k", allowance, count=3) for _ in range(40)])
    assert sum(isinstance(verdict, Allowed) for verdict in verdicts) == 16
    assert await limits.reserve("k", allowance, count=2) == Allowed(0)


async def test_tokens_are_settled_when_they_are_known(backend: Backend) -> None:
    limits, allowance = (await backend.open()).limits, KeyLimits(tokens_per_minute=1000)
    assert await limits.reserve("k", allowance, tokens=200) == Allowed(None, 800)
    backend.time.advance(1)
    limits.settle("k", 900)
    backend.time.advance(1)
    assert await limits.reserve("k", allowance) == Limited(58.0, "tokens", 1000)
    backend.time.advance(1)
    limits.settle("k", -500)
    assert await limits.reserve("k", allowance, tokens=100) == Allowed(None, 300)


async def test_a_request_larger_than_the_limit_goes_when_nothing_else_counts(backend: Backend) -> None:
    limits, allowance = (await backend.open()).limits, KeyLimits(tokens_per_minute=10)
    assert isinstance(await limits.reserve("k", allowance, tokens=50), Allowed)
    backend.time.advance(1)
    assert await limits.reserve("k", allowance, tokens=50) == Limited(59.0, "tokens", 10)


async def test_no_limit_is_no_limit(backend: Backend) -> None:
    assert await (await backend.open()).limits.reserve("k", KeyLimits.of(ClientKey(sha256="x"))) == Allowed(None, None)


@pytest.mark.sampled(3)
@pytest.mark.parametrize("seconds", [-86_400.0 * 365, -3600.0, 3600.0, 86_400.0 * 365])
async def test_a_wall_clock_that_is_set_locks_nobody_out_and_lets_nobody_in(backend: Backend, seconds: float) -> None:
    limits = (await backend.open()).limits
    for _ in range(3):
        await limits.reserve("k", THREE)
    backend.time.wall += seconds
    assert await limits.reserve("k", THREE) == Limited(60.0, "requests", 3)
    backend.time.steady += 60
    assert await limits.reserve("k", THREE) == Allowed(2)


@pytest.mark.parametrize("tokens", [2**63, 2**70, -(2**70)])
async def test_a_count_of_any_size_stops_nothing(backend: Backend, tokens: int) -> None:
    store = await backend.open()
    limits = store.limits
    for _ in range(3):
        await limits.reserve("k", KeyLimits(requests_per_minute=1000), tokens=tokens)
        limits.settle("k", tokens)
    await store.flush()  # a settlement waits for nobody: a server dates it when it arrives
    backend.time.advance(61)
    limit = KeyLimits(requests_per_minute=1000, tokens_per_minute=10)
    assert await limits.reserve("k", limit, tokens=1) == Allowed(999, 9)


async def test_of_many_tasks_exactly_as_many_are_allowed_as_there_is_room_for(backend: Backend) -> None:
    limits = (await backend.open()).limits
    verdicts = await asyncio.gather(*[limits.reserve("k", KeyLimits(requests_per_minute=50)) for _ in range(200)])
    assert sum(isinstance(verdict, Allowed) for verdict in verdicts) == 50


async def test_workers_count_as_one(shared: Backend) -> None:
    workers = [(await shared.open()).limits for _ in range(4)]
    allowance = KeyLimits(requests_per_minute=50)
    turns = [workers[number % 4].reserve("k", allowance) for number in range(200)]
    verdicts = await asyncio.gather(*turns)
    assert sum(isinstance(verdict, Allowed) for verdict in verdicts) == 50


async def test_workers_count_tokens_as_one(shared: Backend) -> None:
    one, two = (await shared.open()).limits, (await shared.open()).limits
    allowance = KeyLimits(tokens_per_minute=1000)
    await one.reserve("k", allowance, tokens=100)
    one.settle("k", 850)
    assert await two.reserve("k", allowance, tokens=40) == Allowed(None, 10)
    assert isinstance(await one.reserve("k", allowance, tokens=40), Limited)
