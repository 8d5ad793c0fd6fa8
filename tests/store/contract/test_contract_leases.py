"""The promises of leases."""

from __future__ import annotations

import asyncio

from tests.store.contract.backends import Backend


async def test_one_of_several_gets_a_free_lease(backend: Backend) -> None:
    leases = (await backend.open()).leases
    got = await asyncio.gather(*(leases.take("probe x", holder, 60.0) for holder in ("one", "two", "three")))
    assert sum(got) == 1
    assert await leases.take("probe y", "two", 60.0)


async def test_a_holder_keeps_its_lease_until_it_ends_or_is_given_up(backend: Backend) -> None:
    leases = (await backend.open()).leases
    assert await leases.take("probe x", "one", 60.0)
    assert await leases.take("probe x", "one", 60.0)
    assert not await leases.take("probe x", "two", 60.0)
    backend.time.advance(61)
    assert await leases.take("probe x", "two", 60.0)
    assert not await leases.take("probe x", "one", 60.0)
    await leases.release("probe x")
    assert await leases.take("probe x", "one", 60.0)


async def test_who_asks_often_does_not_prolong_the_lease_of_another(backend: Backend) -> None:
    leases = (await backend.open()).leases
    assert await leases.take("probe x", "one", 60.0)
    for _ in range(6):
        backend.time.advance(9)
        assert not await leases.take("probe x", "two", 60.0)
    backend.time.advance(9)
    assert await leases.take("probe x", "two", 60.0)


async def test_workers_and_replicas_agree_who_holds_it(shared: Backend) -> None:
    one, two = await shared.open(), await shared.open()
    got = await asyncio.gather(one.leases.take("probe x", "one", 60.0), two.leases.take("probe x", "two", 60.0))
    assert sorted(got) == [False, True]
    first, second = (one, two) if got[0] else (two, one)
    holder, other = ("one", "two") if got[0] else ("two", "one")
    assert await first.leases.take("probe x", holder, 60.0)
    await first.leases.release("probe x")
    await first.flush()
    shared.time.advance(2)
    assert await second.leases.take("probe x", other, 60.0)
