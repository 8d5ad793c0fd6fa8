"""The vault's promises."""

from __future__ import annotations

import asyncio

import pytest
from tests.store.contract.backends import OWNER, Backend, parts

from dragoman.config.schema.store import StoreConfig, Vault
from dragoman.store.contracts.reasoning_vault import StateOwner

KEYS = ["call_1", "call_2"]


async def test_what_is_put_is_found(backend: Backend) -> None:
    vault = (await backend.open()).vault
    await vault.put(OWNER, {"call_1": parts("one"), "call_2": parts("two", None)})
    assert await vault.find(OWNER, KEYS) == {"call_1": parts("one"), "call_2": parts("two", None)}
    assert list(await vault.find(OWNER, reversed(KEYS))) == ["call_2", "call_1"]
    assert await vault.find(OWNER, ["call_3"]) == {}
    assert await vault.find(OWNER, []) == {}


@pytest.mark.sampled(3)
@pytest.mark.parametrize(
    "other",
    [
        OWNER._replace(caller="bert"),
        OWNER._replace(caller=""),
        OWNER._replace(caller="Anna"),
        OWNER._replace(caller="anna' OR '1'='1"),
        OWNER._replace(provider="anthropic"),
        OWNER._replace(scope="gemini-2"),
        StateOwner("annagoogle", "", "gemini-3"),
        StateOwner("anna", "google\x1fgemini-3", ""),
        StateOwner("anna\x1fgoogle", "gemini-3", ""),
    ],
)
async def test_nobody_gets_what_was_kept_for_another(backend: Backend, other: StateOwner) -> None:
    """Q5."""
    vault = (await backend.open()).vault
    await vault.put(OWNER, {"call_1": parts()})
    await vault.put(other, {"call_2": parts("other")})
    assert await vault.find(other, KEYS) == {"call_2": parts("other")}
    assert await vault.find(OWNER, KEYS) == {"call_1": parts()}


async def test_the_last_writer_wins(backend: Backend) -> None:
    vault = (await backend.open()).vault
    await vault.put(OWNER, {"call_1": parts("old")})
    await vault.put(OWNER, {"call_1": parts("new")})
    assert await vault.find(OWNER, KEYS) == {"call_1": parts("new")}


async def test_a_vault_that_is_off_keeps_and_finds_nothing(backend: Backend) -> None:
    store = await backend.open()
    await store.vault.put(OWNER, {"call_1": parts()})
    store.reconfigure(StoreConfig(vault=Vault(enabled=False)))
    await store.vault.put(OWNER, {"call_2": parts()})
    assert await store.vault.find(OWNER, KEYS) == {}


async def test_an_entry_is_forgotten_its_time_after_its_last_use(backend: Backend) -> None:
    store = await backend.open(vault=Vault(ttl=100))
    await store.vault.put(OWNER, {"call_1": parts()})
    for _ in range(3):
        backend.time.advance(90)
        assert "call_1" in await store.vault.find(OWNER, KEYS)
        await store.flush()
    backend.time.advance(101)
    assert await store.vault.find(OWNER, KEYS) == {}


async def test_a_clock_that_is_set_back_loses_nothing(backend: Backend) -> None:
    vault = (await backend.open(vault=Vault(ttl=100))).vault
    await vault.put(OWNER, {"call_1": parts()})
    backend.time.wall -= 1_000_000
    assert await vault.find(OWNER, KEYS) == {"call_1": parts()}


@pytest.mark.sampled(5)
@pytest.mark.sampled(4)
@pytest.mark.parametrize(
    "limits", [Vault(per_caller=10), Vault(entries=10), Vault(max_bytes=3_400)], ids=["caller", "all", "bytes"]
)
async def test_the_vault_is_bounded_and_the_least_used_goes_first(backend: Backend, limits: Vault) -> None:
    store = await backend.open(vault=limits)
    count = 3 * (10 + backend.slack)
    for number in range(count):
        backend.time.advance(1)
        await store.vault.put(OWNER, {f"k{number}": parts("x" * 100)})
        await store.vault.find(OWNER, ["k0"])
    await store.flush()
    found = await store.vault.find(OWNER, [f"k{number}" for number in range(count)])
    assert len(found) <= 10 + backend.slack
    assert {"k0", f"k{count - 1}", f"k{count - 3}"} <= found.keys()


@pytest.mark.sampled(2)
async def test_one_caller_cannot_push_out_anothers_state(backend: Backend) -> None:
    store = await backend.open(vault=Vault(per_caller=5, entries=100))
    await store.vault.put(OWNER, {"call_1": parts()})
    for number in range(200 + 2 * backend.slack):
        backend.time.advance(1)
        await store.vault.put(OWNER._replace(caller="mallory"), {f"k{number}": parts()})
    await store.flush()
    assert await store.vault.find(OWNER, KEYS) == {"call_1": parts()}


async def test_a_value_that_is_larger_than_the_room_is_not_kept_and_nothing_goes_for_it(backend: Backend) -> None:
    store = await backend.open(vault=Vault(max_bytes=4096))
    await store.vault.put(OWNER, {"call_1": parts("old"), "call_2": parts()})
    await store.vault.put(OWNER, {"call_1": parts("x" * 5000)})
    assert await store.vault.find(OWNER, KEYS) == {"call_2": parts()}


@pytest.mark.sampled(5)
@pytest.mark.parametrize("key", ["", "é😀", "a\x00b", "'; DROP TABLE state; --", "%", "k" * 10_000])
async def test_any_text_may_be_a_key(backend: Backend, key: str) -> None:
    store = await backend.open()
    await store.vault.put(OWNER, {key: parts("é😀 \\u0000", "\\u0000 é")})
    await store.flush()
    assert list(await store.vault.find(OWNER, [key, "other"])) == [key]


async def test_half_a_surrogate_pair_fails_nothing(backend: Backend) -> None:
    store = await backend.open()
    await store.vault.put(OWNER, {"\ud800": parts(), "call_1": parts()})
    await store.flush()
    assert (await store.vault.find(OWNER, ["\ud800", "\udc00", "call_1"]))["call_1"] == parts()


async def test_a_huge_value_is_kept_whole(backend: Backend) -> None:
    store = await backend.open()
    huge = parts("s" * 4_000_000, "t" * 4_000_000)
    await store.vault.put(OWNER, {"call_1": huge})
    await store.flush()
    assert await store.vault.find(OWNER, KEYS) == {"call_1": huge}


async def test_many_tasks_may_use_it_at_once(backend: Backend) -> None:
    vault = (await backend.open()).vault

    async def turn(number: int) -> bool:
        owner = OWNER._replace(caller=f"c{number % 7}")
        await vault.put(owner, {f"k{number}": parts(str(number))})
        return await vault.find(owner, [f"k{number}", "none"]) == {f"k{number}": parts(str(number))}

    assert all(await asyncio.gather(*[turn(number) for number in range(100)]))


async def test_other_workers_find_it_when_put_returns(shared: Backend) -> None:
    one, two = await shared.open(), await shared.open()
    for number in range(20):
        key = f"call_{number}"
        await one.vault.put(OWNER, {key: parts(str(number))})
        assert await two.vault.find(OWNER, [key]) == {key: parts(str(number))}
    assert await two.vault.find(OWNER._replace(caller="bert"), ["call_1"]) == {}


async def test_a_use_by_one_worker_keeps_it_alive_for_all(shared: Backend) -> None:
    one, two = [await shared.open(vault=Vault(ttl=100)) for _ in range(2)]
    await one.vault.put(OWNER, {"call_1": parts()})
    for _ in range(4):
        shared.time.advance(60)
        assert "call_1" in await one.vault.find(OWNER, KEYS)
        await one.flush()
    assert "call_1" in await two.vault.find(OWNER, KEYS)


async def test_it_is_there_after_a_restart(lasting: Backend) -> None:
    first = await lasting.open()
    await first.vault.put(OWNER, {"call_1": parts("é", "Hm.")})
    await first.aclose()
    second = await lasting.open()
    assert await second.vault.find(OWNER, KEYS) == {"call_1": parts("é", "Hm.")}
    assert await second.vault.find(OWNER._replace(caller="bert"), KEYS) == {}
