"""Credentials are fetched once, renewed beside the requests, and used while they last."""

from __future__ import annotations

import asyncio
import threading

import pytest

from dragoman.upstream.auth.authorizer import Fetched, FreshCredentials, NoCredentials


class Source:
    """Hands out numbered credentials that last a hundred seconds."""

    def __init__(self) -> None:
        self.now = 1000.0
        self.fetches = 0
        self.fails = False
        self.gate: threading.Event | None = None

    def fetch(self) -> Fetched[int]:
        if self.gate is not None:
            self.gate.wait(60)
        self.fetches += 1
        if self.fails:
            raise NoCredentials("the token server is down")
        return Fetched(self.fetches, self.now + 100)

    def fresh(self) -> FreshCredentials[int]:
        return FreshCredentials(self.fetch, early=30, pause=5, clock=lambda: self.now)


async def settled() -> None:
    """Wait for what runs in the background."""
    others = asyncio.all_tasks() - {asyncio.current_task()}
    await asyncio.gather(*others, return_exceptions=True)


async def test_many_requests_wait_for_one_fetch() -> None:
    source = Source()
    fresh = source.fresh()
    await asyncio.gather(*[fresh.ready() for _ in range(20)])
    assert (fresh.value, source.fetches) == (1, 1)


async def test_they_are_renewed_before_they_expire_and_nobody_waits() -> None:
    source = Source()
    fresh = source.fresh()
    await fresh.ready()
    source.now += 69
    await fresh.ready()
    await settled()
    assert source.fetches == 1
    source.now += 2
    source.gate = threading.Event()
    for _ in range(5):
        await fresh.ready()  # returns although the fetch stands still
    assert fresh.value == 1
    source.gate.set()
    await settled()
    assert (fresh.value, source.fetches) == (2, 2)


async def test_old_ones_are_used_while_they_last_and_the_next_try_comes_after_a_pause() -> None:
    source = Source()
    fresh = source.fresh()
    await fresh.ready()
    source.now += 80
    source.fails = True
    for _ in range(3):
        await fresh.ready()
        await settled()
    assert (fresh.value, source.fetches) == (1, 2)
    source.now += 6
    await fresh.ready()
    await settled()
    assert source.fetches == 3
    source.now += 20
    with pytest.raises(NoCredentials, match="the token server is down"):
        await fresh.ready()


async def test_a_caller_that_leaves_takes_nothing_from_the_others() -> None:
    source = Source()
    source.gate = threading.Event()
    fresh = source.fresh()
    leaving, staying = asyncio.create_task(fresh.ready()), asyncio.create_task(fresh.ready())
    await asyncio.sleep(0)
    leaving.cancel()
    source.gate.set()
    await staying
    assert leaving.cancelled()
    assert (fresh.value, source.fetches) == (1, 1)


async def test_what_was_refused_is_fetched_anew() -> None:
    source = Source()
    fresh = source.fresh()
    await fresh.ready()
    fresh.forget()
    with pytest.raises(NoCredentials):
        _ = fresh.value
    await fresh.ready()
    assert fresh.value == 2


def test_callers_without_an_event_loop() -> None:
    source = Source()
    fresh = source.fresh()
    fresh.ready_now()
    fresh.ready_now()
    assert (fresh.value, source.fetches) == (1, 1)
    source.now += 75
    fresh.ready_now()
    assert (fresh.value, source.fetches) == (2, 2)


async def test_credentials_that_never_expire_are_fetched_once() -> None:
    source = Source()
    fresh = FreshCredentials(lambda: Fetched(source.fetch().value), clock=lambda: source.now)
    await fresh.ready()
    source.now += 1e9
    await fresh.ready()
    await settled()
    assert source.fetches == 1


def test_one_event_loop_after_another() -> None:
    source = Source()
    fresh = source.fresh()
    for _ in range(2):
        asyncio.run(fresh.ready())
        fresh.forget()
    assert source.fetches == 2
