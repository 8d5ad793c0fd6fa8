"""The promises of stored responses."""

from __future__ import annotations

import pytest
from tests.store.contract.backends import Backend

from dragoman.config.schema import ResponseStore
from dragoman.store import StoredResponse
from dragoman.store.contracts.stored_responses import MOST_BYTES
from dragoman.store.table_backed import RESPONSES

ON = ResponseStore(enabled=True)
ONE = StoredResponse(b'["Hi"]', b'{"id":"resp_1"}')
TWO = StoredResponse(b"[]", b'{"id":"resp_2"}', "resp_1", "anthropic")


async def test_a_response_is_its_callers_own(backend: Backend) -> None:
    responses = (await backend.open(responses=ON)).responses
    assert await responses.find("anna", "resp_1") is None
    await responses.put("anna", "resp_1", ONE)
    await responses.put("anna", "resp_2", TWO)
    assert await responses.find("anna", "resp_1") == ONE
    assert await responses.find("anna", "resp_2") == TWO
    assert await responses.find("bert", "resp_1") is None
    assert await responses.find("", "resp_1") is None


async def test_one_is_forgotten_and_the_others_stay(backend: Backend) -> None:
    responses = (await backend.open(responses=ON)).responses
    await responses.put("anna", "resp_1", ONE)
    await responses.put("anna", "resp_2", TWO)
    await responses.put("bert", "resp_1", TWO)
    await responses.forget("anna", "resp_1")
    assert await responses.find("anna", "resp_1") is None
    assert await responses.find("anna", "resp_2") == TWO
    assert await responses.find("bert", "resp_1") == TWO


async def test_nothing_is_stored_unless_it_is_switched_on(backend: Backend) -> None:
    responses = (await backend.open()).responses
    await responses.put("anna", "resp_1", ONE)
    assert await responses.find("anna", "resp_1") is None


async def test_a_response_is_forgotten_some_time_after_its_last_use(backend: Backend) -> None:
    store = await backend.open(responses=ResponseStore(enabled=True, ttl=3600))
    await store.responses.put("anna", "resp_1", ONE)
    for _ in range(3):
        backend.time.advance(3000)
        assert await store.responses.find("anna", "resp_1") == ONE
        await store.flush()
    backend.time.advance(3601)
    assert await store.responses.find("anna", "resp_1") is None


@pytest.mark.parametrize("bounds", [{"per_caller": 10}, {"entries": 10}, {"max_bytes": 3_400}])
async def test_what_is_kept_is_bounded_and_the_oldest_goes_first(backend: Backend, bounds: dict[str, int]) -> None:
    store = await backend.open(responses=ResponseStore(enabled=True, **bounds))
    slack = min(backend.slack, RESPONSES.sweep_every)
    count = 3 * (10 + slack)
    for number in range(count):
        backend.time.advance(1)
        await store.responses.put("anna", f"resp_{number}", StoredResponse(b"[]", b"x" * 100))
    await store.flush()
    found = [number for number in range(count) if await store.responses.find("anna", f"resp_{number}") is not None]
    assert len(found) <= 10 + slack
    assert {count - 1, count - 3} <= set(found)
    assert 0 not in found


async def test_one_that_is_too_large_is_not_kept(backend: Backend) -> None:
    responses = (await backend.open(responses=ON)).responses
    await responses.put("anna", "resp_1", StoredResponse(b"[]", b"x" * MOST_BYTES))
    assert await responses.find("anna", "resp_1") is None


async def test_another_worker_finds_it_at_once(shared: Backend) -> None:
    one, two = (await shared.open(responses=ON)).responses, (await shared.open(responses=ON)).responses
    await one.put("anna", "resp_1", ONE)
    assert await two.find("anna", "resp_1") == ONE
    await two.forget("anna", "resp_1")
    shared.time.advance(2.1)
    assert await one.find("anna", "resp_1") is None


async def test_a_response_is_there_after_a_restart(lasting: Backend) -> None:
    first = await lasting.open(responses=ON)
    await first.responses.put("anna", "resp_2", TWO)
    await first.aclose()
    assert await (await lasting.open(responses=ON)).responses.find("anna", "resp_2") == TWO
