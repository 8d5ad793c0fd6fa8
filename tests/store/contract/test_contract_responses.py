"""The promises of stored responses."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace
from tests.store.contract.backends import Backend

from dragoman.config.schema.state import StateConfig
from dragoman.store.contracts.stored_responses import MOST_BYTES, StoredResponse
from dragoman.store.table_backed import RESPONSES

ON = StateConfig()
OFF = StateConfig(enabled=False)
ONE = StoredResponse(b'["Hi"]', b'{"id":"resp_1"}')
TWO = StoredResponse(b"[]", b'{"id":"resp_2"}', "resp_0", "anthropic")
NEXT = replace(TWO, previous="resp_1")
LATER = StoredResponse(b'["Ho"]', b'{"id":"resp_3"}', base="resp_1")


async def test_a_response_is_its_callers_own(backend: Backend) -> None:
    responses = (await backend.open(state=ON)).responses
    assert await responses.find("anna", "resp_1") is None
    await responses.put("anna", "resp_1", ONE)
    await responses.put("anna", "resp_2", TWO)
    assert await responses.find("anna", "resp_1") == ONE
    assert await responses.find("anna", "resp_2") == TWO
    assert await responses.find("bert", "resp_1") is None
    assert await responses.find("", "resp_1") is None


async def test_one_is_forgotten_and_the_others_stay(backend: Backend) -> None:
    responses = (await backend.open(state=ON)).responses
    await responses.put("anna", "resp_1", ONE)
    await responses.put("anna", "resp_2", TWO)
    await responses.put("bert", "resp_1", TWO)
    await responses.forget("anna", "resp_1")
    assert await responses.find("anna", "resp_1") is None
    assert await responses.find("anna", "resp_2") == TWO
    assert await responses.find("bert", "resp_1") == TWO


async def test_nothing_is_stored_unless_it_is_switched_on(backend: Backend) -> None:
    responses = (await backend.open(state=OFF)).responses
    assert not await responses.put("anna", "resp_1", ONE)
    assert await responses.find("anna", "resp_1") is None


async def test_a_response_is_forgotten_some_time_after_its_last_use(backend: Backend) -> None:
    store = await backend.open(state=StateConfig(lifetime="1h"))
    await store.responses.put("anna", "resp_1", ONE)
    for _ in range(3):
        backend.time.advance(3000)
        assert await store.responses.find("anna", "resp_1") == ONE
        await store.flush()
    backend.time.advance(3601)
    assert await store.responses.find("anna", "resp_1") is None


@pytest.mark.parametrize("bounds", [{"size": "3KB"}, {"per_key": "3KB"}])
async def test_what_is_kept_is_bounded_and_the_oldest_goes_first(backend: Backend, bounds: dict[str, Any]) -> None:
    store = await backend.open(state=StateConfig(**bounds))
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
    responses = (await backend.open(state=ON)).responses
    await responses.put("anna", "resp_1", StoredResponse(b"[]", b"x" * MOST_BYTES))
    assert await responses.find("anna", "resp_1") is None


async def test_another_worker_finds_it_at_once(shared: Backend) -> None:
    one, two = (await shared.open(state=ON)).responses, (await shared.open(state=ON)).responses
    await one.put("anna", "resp_1", ONE)
    assert await two.find("anna", "resp_1") == ONE
    await two.forget("anna", "resp_1")
    shared.time.advance(2.1)
    assert await one.find("anna", "resp_1") is None


async def test_only_what_was_seen_is_replaced(backend: Backend) -> None:
    responses = (await backend.open(state=ON)).responses
    await responses.put("anna", "resp_1", ONE)
    assert await responses.swap("anna", "resp_1", ONE, LATER) == LATER
    assert await responses.find_latest("anna", "resp_1") == LATER
    assert await responses.swap("anna", "resp_1", ONE, TWO) == LATER, "that was long ago"
    assert await responses.find_latest("anna", "resp_1") == LATER
    huge = replace(LATER, response=b"x" * MOST_BYTES)
    assert await responses.swap("anna", "resp_1", LATER, huge) == LATER, "too large"
    assert await responses.find("anna", "resp_1") == LATER
    assert await responses.swap("bert", "resp_1", LATER, TWO) is None
    await responses.forget("anna", "resp_1")
    assert await responses.swap("anna", "resp_1", LATER, TWO) is None, "it was removed"
    assert await responses.find_latest("anna", "resp_1") is None


async def test_what_does_not_fit_replaces_nothing(backend: Backend) -> None:
    responses = (await backend.open(state=StateConfig(per_key="3KB"))).responses
    await responses.put("anna", "resp_1", ONE)
    assert await responses.swap("anna", "resp_1", ONE, replace(ONE, response=b"x" * 4000)) == ONE
    assert await responses.find("anna", "resp_1") == ONE


@pytest.mark.parametrize("is_named", [False, True])
async def test_a_removal_by_another_worker_wins_over_a_later_swap(shared: Backend, is_named: bool) -> None:
    one, two = (await shared.open(state=ON)).responses, (await shared.open(state=ON)).responses
    await one.put("anna", "resp_1", ONE)
    if is_named:
        await two.put("anna", "resp_2", NEXT)
    shared.time.advance(0.1)
    seen = await one.find_latest("anna", "resp_1")
    assert seen is not None
    await two.forget("anna", "resp_1")
    written = replace(seen, response=b"{}")
    assert await one.swap("anna", "resp_1", seen, written) == (replace(seen, is_removed=True) if is_named else None)
    for worker in (one, two):
        assert await worker.find_latest("anna", "resp_1") is None


async def test_of_two_workers_that_saw_the_same_one_replaces_it(shared: Backend) -> None:
    one, two = (await shared.open(state=ON)).responses, (await shared.open(state=ON)).responses
    await one.put("anna", "resp_1", ONE)
    assert await two.find_latest("anna", "resp_1") == ONE
    assert await two.swap("anna", "resp_1", ONE, TWO) == TWO
    assert await one.swap("anna", "resp_1", ONE, LATER) == TWO
    for worker in (one, two):
        assert await worker.find("anna", "resp_1") == TWO


async def test_a_response_is_there_after_a_restart(lasting: Backend) -> None:
    first = await lasting.open(state=ON)
    await first.responses.put("anna", "resp_2", TWO)
    await first.aclose()
    assert await (await lasting.open(state=ON)).responses.find("anna", "resp_2") == TWO


async def test_items_lead_to_the_response_that_holds_them(backend: Backend) -> None:
    responses = (await backend.open(state=ON)).responses
    assert await responses.put("anna", "resp_1", ONE, ["msg_1", "fc_1"])
    assert await responses.find_holders("anna", ["fc_1", "msg_1", "msg_2"]) == {"fc_1": "resp_1", "msg_1": "resp_1"}
    assert await responses.find_holders("bert", ["fc_1"]) == {}


async def test_one_key_does_not_push_out_what_another_has(backend: Backend) -> None:
    store = await backend.open(state=StateConfig(per_key="4KB"))
    await store.responses.put("bert", "resp_b", ONE)
    for number in range(80):
        backend.time.advance(1)
        await store.responses.put("anna", f"resp_{number}", StoredResponse(b"[]", b"x" * 1000))
    await store.flush()
    assert await store.responses.find("bert", "resp_b") == ONE
    assert await store.responses.find("anna", "resp_0") is None


@pytest.mark.parametrize("later", [NEXT, LATER])
async def test_one_that_another_names_is_hidden_and_stays_for_it(backend: Backend, later: StoredResponse) -> None:
    store = await backend.open(state=StateConfig(lifetime="1h"))
    responses = store.responses
    await responses.put("anna", "resp_1", ONE)
    await responses.put("anna", "resp_2", later)
    await responses.forget("anna", "resp_1")
    assert await responses.find("anna", "resp_1") is None
    kept = await responses.find_link("anna", "resp_1")
    assert kept is not None
    assert (kept.items, kept.response) == (ONE.items, ONE.response)
    assert await responses.find_link("bert", "resp_1") is None
    await responses.forget("anna", "resp_2")
    assert await responses.find_link("anna", "resp_2") is None, "nobody names it"
    await store.flush()
    backend.time.advance(3601)
    assert await responses.find_link("anna", "resp_1") is None


async def test_all_of_a_caller_goes_also_what_others_name(backend: Backend) -> None:
    store = await backend.open(state=ON)
    await store.responses.put("anna", "resp_1", ONE)
    await store.responses.put("anna", "resp_2", NEXT)
    await store.responses.forget("anna", "resp_1")
    assert await store.forget("anna") >= 2
    assert await store.responses.find_link("anna", "resp_1") is None
    assert await store.responses.find_link("anna", "resp_2") is None
