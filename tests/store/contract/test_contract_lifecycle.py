"""Opening, flushing, closing: promises of the store as a whole."""

from __future__ import annotations

import threading
from pathlib import Path

import msgspec
from tests.store.contract.backends import ADMIN, BACKENDS, OWNER, Backend, entry, lesson, parts

from dragoman.config.schema.keys import Budget
from dragoman.config.schema.store import StoreConfig
from dragoman.store.contracts.budgets import periods_at
from dragoman.store.contracts.pins import Pin, PinOwner
from dragoman.store.contracts.rate_limits import KeyLimits
from dragoman.store.contracts.stored_responses import StoredResponse
from dragoman.store.contracts.summaries import Summary, SummaryKind

PERIODS = periods_at(Budget(total=10), 1_800_000_000.0)


async def test_flushing_waits_for_everything(backend: Backend) -> None:
    store = await backend.open()
    for number in range(1000):
        store.ledger.record(entry(number, backend.time))
    assert await store.flush(20.0)
    health = store.health()
    assert (health.written, health.waiting, health.dropped, health.failed, health.unread) == (1000, 0, 0, 0, 0)
    assert health.last_error is None


async def test_closing_ends_every_thread_and_may_be_repeated(backend: Backend) -> None:
    before = set(threading.enumerate())
    store = await backend.open()
    await _use(backend, store)
    await store.aclose()
    await store.aclose()
    ours = [one.name for one in threading.enumerate() if one not in before and one.name.startswith("dragoman")]
    assert ours == []


async def test_what_comes_after_closing_fails_nothing(backend: Backend) -> None:
    store = await backend.open()
    await store.aclose()
    await _use(backend, store)
    assert await store.flush()


async def _use(backend: Backend, store: object) -> None:
    """Every method that the data path calls."""
    assert store in backend.stores
    store = backend.stores[backend.stores.index(store)]  # type: ignore[arg-type]
    store.ledger.record(entry(1, backend.time))
    await store.vault.put(OWNER, {"k": parts()})
    await store.vault.find(OWNER, ["k", "none"])
    await store.pins.put(PinOwner("anna"), {"k": Pin("t", 0.0)})
    await store.pins.find(PinOwner("anna"), ["k", "none"])
    await store.pins.forget(PinOwner("anna"))
    await store.summaries.put("anna", "d", Summary(SummaryKind.CUT, b""))
    await store.summaries.find("anna", ["d", "none"])
    await store.lessons.put(lesson("a", backend.time))
    store.lessons.find("groq/x")
    await store.lessons.forget("groq/x")
    await store.limits.reserve("k", KeyLimits(requests_per_minute=10))
    store.limits.settle("k", 1)
    await store.budgets.reserve("k", PERIODS, 0.5)
    store.budgets.settle("k", PERIODS, 0.5)
    await store.responses.put("anna", "resp_1", StoredResponse(b"[]", b"{}"))
    await store.responses.find("anna", "resp_1")
    store.cooldowns.rest("groq/x", 1.0)
    store.cooldowns.remaining("groq/x")
    store.health()


async def test_a_caller_is_forgotten_as_a_whole(backend: Backend) -> None:
    store = await backend.open()
    for name in ("anna", "bert"):
        await store.vault.put(OWNER._replace(caller=name), {"k": parts()})
        await store.pins.put(PinOwner(name, "s"), {"k": Pin("t", 0.0)})
        await store.summaries.put(name, "d", Summary(SummaryKind.CUT, b""))
        await store.responses.put(name, "resp_1", StoredResponse(b"[]", b"{}"))
        await store.lessons.put(lesson("a", backend.time, caller=name))
        await store.budgets.reserve(name, PERIODS, 0.5)
        store.ledger.record(entry(1, backend.time, caller=name, id=f"r-{name}"))
    assert await store.forget("anna") >= 7
    assert await store.vault.find(OWNER, ["k"]) == {}
    assert await store.pins.find(PinOwner("anna", "s"), ["k"]) == {}
    assert await store.summaries.find("anna", ["d"]) is None
    assert await store.responses.find("anna", "resp_1") is None
    assert await store.ledger.report("r-anna", ADMIN) is None
    assert [one.caller for one in await store.lessons.all()] == ["bert"]
    assert await store.budgets.reserve("anna", PERIODS, 0.25) == (0.25, 0.25, 0.25)
    assert await store.vault.find(OWNER._replace(caller="bert"), ["k"]) == {"k": parts()}
    assert await store.budgets.reserve("bert", PERIODS, 0.25) == (0.75, 0.75, 0.75)
    assert await store.ledger.report("r-bert", ADMIN) is not None


async def test_what_one_worker_forgets_no_other_gives_back(shared: Backend) -> None:
    one, two = await shared.open(), await shared.open()
    await one.vault.put(OWNER, {"k": parts()})
    assert await one.forget("anna") == 1
    assert await two.vault.find(OWNER, ["k"]) == {}


async def test_a_reload_changes_what_is_kept(backend: Backend) -> None:
    store = await backend.open()
    store.ledger.record(entry(1, backend.time, request=b"{}"))
    store.reconfigure(StoreConfig(keep_bodies=True))
    store.ledger.record(entry(2, backend.time, request=b"{}"))
    found = [await store.ledger.report(name, ADMIN) for name in ("r1", "r2")]
    assert [one is not None and one.request for one in found] == [None, b"{}"]


async def test_a_store_that_is_alone_knows_it(tmp_path: Path) -> None:
    """Or the tests above would not test what they name."""
    for name in ("sqlite", "sqlite-alone"):
        backend = BACKENDS[name](tmp_path / name)
        assert (await backend.open())._database.alone is (name == "sqlite-alone")  # type: ignore[attr-defined]
        await backend.close()


async def test_health_is_a_value_for_metrics(backend: Backend) -> None:
    store = await backend.open()
    assert all(isinstance(value, int) for value in msgspec.structs.astuple(store.health())[:-2])
    assert store.place
