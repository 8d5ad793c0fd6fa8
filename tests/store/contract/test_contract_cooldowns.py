"""The promises of cooldowns."""

from __future__ import annotations

import asyncio

import pytest
from tests.store.contract.backends import Backend

from dragoman.store.store import Store


async def test_a_name_is_left_alone_for_its_time(backend: Backend) -> None:
    cooldowns = (await backend.open()).cooldowns
    assert cooldowns.remaining("groq/x") == 0.0
    cooldowns.rest("groq/x", 10.0)
    backend.time.advance(4)
    assert cooldowns.remaining("groq/x") == 6.0
    assert cooldowns.resting() == {"groq/x": 6.0}
    backend.time.advance(6)
    assert cooldowns.remaining("groq/x") == 0.0
    assert cooldowns.resting() == {}


async def test_the_pause_that_ends_last_wins_until_it_is_cleared(backend: Backend) -> None:
    cooldowns = (await backend.open()).cooldowns
    cooldowns.rest("a", 10.0)
    cooldowns.rest("a", 5.0)
    assert cooldowns.remaining("a") == 10.0
    cooldowns.clear("a")
    cooldowns.clear("never-there")
    assert cooldowns.remaining("a") == 0.0


async def test_a_pause_lasts_an_hour_at_most(backend: Backend) -> None:
    cooldowns = (await backend.open()).cooldowns
    cooldowns.rest("a", 1e9)
    assert cooldowns.remaining("a") == 3600.0


@pytest.mark.slow
async def test_cooldowns_are_bounded_and_those_that_end_first_go_first(backend: Backend) -> None:
    cooldowns = (await backend.open()).cooldowns
    for number in range(4_100):
        cooldowns.rest(f"n{number}", 1.0 + number / 4100)
    found = cooldowns.resting()
    assert len(found) == 4_096
    assert "n4099" in found
    assert "n0" not in found


async def test_another_worker_leaves_it_alone_too_within_two_seconds(shared: Backend) -> None:
    one, two = await shared.open(), await shared.open()
    one.cooldowns.rest("groq/x", 100.0)
    await one.flush()
    shared.time.advance(2)
    assert 98.0 <= await _becomes(two, positive=True) <= 108.0
    one.cooldowns.clear("groq/x")
    await one.flush()
    shared.time.advance(2)
    assert await _becomes(two, positive=False) == 0.0


async def _becomes(store: Store, positive: bool) -> float:
    """What the store says when it has had the time to look."""
    for _ in range(500):
        if (store.cooldowns.remaining("groq/x") > 0) is positive:
            break
        await asyncio.sleep(0.01)
    return store.cooldowns.remaining("groq/x")
