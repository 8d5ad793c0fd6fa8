"""The promises of summaries and cuts."""

from __future__ import annotations

import asyncio

import pytest
from tests.store.contract.backends import Backend

from dragoman.store.contracts.summaries import Summary, SummaryKind

ONE = Summary(SummaryKind.SUMMARY, b"They talked about rain.")
TWO = Summary(SummaryKind.CUT, b"\x00\xff")


async def test_the_first_digest_that_has_a_summary_is_found(backend: Backend) -> None:
    summaries = (await backend.open()).summaries
    assert await summaries.find("anna", ["long", "short"]) is None
    assert await summaries.put("anna", "short", ONE) == ONE
    assert await summaries.find("anna", ["long", "short"]) == ("short", ONE)
    assert await summaries.put("anna", "long", TWO) == TWO
    assert await summaries.find("anna", ["long", "short"]) == ("long", TWO)
    assert await summaries.find("bert", ["long", "short"]) is None


async def test_the_first_writer_wins(backend: Backend) -> None:
    summaries = (await backend.open()).summaries
    assert await summaries.put("anna", "d", ONE) == ONE
    assert await summaries.put("anna", "d", TWO) == ONE
    assert await summaries.find("anna", ["d"]) == ("d", ONE)


async def test_of_many_tasks_one_wins(backend: Backend) -> None:
    summaries = (await backend.open()).summaries
    made = [Summary(SummaryKind.SUMMARY, str(number).encode()) for number in range(50)]
    kept = await asyncio.gather(*[summaries.put("anna", "d", one) for one in made])
    assert len(set(kept)) == 1
    assert await summaries.find("anna", ["d"]) == ("d", kept[0])


async def test_a_summary_is_forgotten_a_week_after_its_last_use(backend: Backend) -> None:
    store = await backend.open()
    await store.summaries.put("anna", "d", ONE)
    for _ in range(3):
        backend.time.advance(6 * 86_400)
        assert await store.summaries.find("anna", ["d"]) == ("d", ONE)
        await store.flush()
    backend.time.advance(7 * 86_400 + 1)
    assert await store.summaries.find("anna", ["d"]) is None
    assert await store.summaries.put("anna", "d", TWO) == TWO
    await store.flush()
    assert await store.summaries.find("anna", ["d"]) == ("d", TWO)


@pytest.mark.parametrize("each", [1, 10])
async def test_of_many_workers_one_wins_everywhere(shared: Backend, each: int) -> None:
    workers = [(await shared.open()).summaries for _ in range(4)]
    for worker in workers:  # none of them looks again before it writes
        assert await worker.find("anna", ["d"]) is None
    made = [Summary(SummaryKind.SUMMARY, str(number).encode()) for number in range(4 * each)]
    kept = await asyncio.gather(*[workers[at % 4].put("anna", "d", one) for at, one in enumerate(made)])
    assert len(set(kept)) == 1
    assert [await worker.find("anna", ["d"]) for worker in workers] == [("d", kept[0])] * 4


async def test_the_longest_prefix_wins_of_any_worker(shared: Backend) -> None:
    one, two = (await shared.open()).summaries, (await shared.open()).summaries
    await two.put("anna", "short", TWO)
    await one.put("anna", "long", ONE)
    assert await two.find("anna", ["long", "short"]) == ("long", ONE)


async def test_a_summary_is_there_after_a_restart(lasting: Backend) -> None:
    first = await lasting.open()
    await first.summaries.put("anna", "d", TWO)
    await first.aclose()
    second = await lasting.open()
    assert await second.summaries.put("anna", "d", ONE) == TWO
