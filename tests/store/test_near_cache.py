"""What this process knows costs nothing: no thread, no wait, no look into the file."""

from __future__ import annotations

import threading
from collections.abc import AsyncIterator, Coroutine, Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.store.contract.backends import ADMIN, OWNER, Time, entry, lesson, parts

from dragoman.config.schema.store import StoreConfig
from dragoman.engine.history.calibration import Calibration
from dragoman.store.contracts.pins import Pin, PinOwner
from dragoman.store.contracts.rate_limits import Allowed, KeyLimits
from dragoman.store.contracts.summaries import Summary, SummaryKind
from dragoman.store.memory.store import MemoryStore
from dragoman.store.sqlite.store import SqliteStore
from dragoman.store.store import Store

PINS = PinOwner("anna")
COUNTED = Calibration(count=1)
SUMMARY = Summary(SummaryKind.CUT, b"cut")


def at_once(work: Coroutine[Any, Any, Any]) -> Any:
    """The result of a coroutine that does not wait for anything; fails if it does."""
    try:
        work.send(None)
    except StopIteration as end:
        return end.value
    work.close()
    raise AssertionError("it waited")


@pytest.fixture
def clock() -> Time:
    return Time()


@pytest.fixture
async def alone(tmp_path: Path, clock: Time) -> AsyncIterator[SqliteStore]:
    store = SqliteStore(tmp_path / "s.sqlite3", StoreConfig(), clock.clocks, alone=True)
    yield store
    await store.aclose()


@pytest.fixture
async def shared(tmp_path: Path, clock: Time) -> AsyncIterator[SqliteStore]:
    store = SqliteStore(tmp_path / "shared.sqlite3", StoreConfig(), clock.clocks)
    yield store
    await store.aclose()


def use_at_once(store: Store, clock: Time) -> None:
    """Everything that the data path does."""
    at_once(store.vault.put(OWNER, {"k": parts()}))
    assert at_once(store.vault.find(OWNER, ["k"])) == {"k": parts()}
    at_once(store.pins.put(PINS, {"k": Pin("t", 0.0)}))
    assert at_once(store.pins.find(PINS, ["k"])) == {"k": Pin("t", 0.0)}
    assert at_once(store.limits.reserve("k", KeyLimits(requests_per_minute=9))) == Allowed(8)
    at_once(store.lessons.put(lesson("a", clock)))
    assert store.lessons.find("groq/x") == (lesson("a", clock),)
    store.calibrations.put("groq/x", COUNTED)
    assert store.calibrations.find("groq/x") == COUNTED
    store.ledger.record(entry(1, clock))
    assert at_once(store.ledger.report("r1", ADMIN)) == entry(1, clock)


def test_memory_never_waits(clock: Time) -> None:
    store = MemoryStore(StoreConfig(), clock.clocks)
    use_at_once(store, clock)
    assert at_once(store.summaries.put("anna", "d", SUMMARY)) == SUMMARY
    assert at_once(store.summaries.find("anna", ["d"])) == ("d", SUMMARY)
    assert at_once(store.ledger.recent(ADMIN)).entries
    assert at_once(store.flush())
    at_once(store.aclose())


async def test_a_process_that_is_alone_waits_for_nothing_that_it_knows(alone: SqliteStore, clock: Time) -> None:
    use_at_once(alone, clock)


async def test_a_caller_that_has_nothing_costs_no_key(alone: SqliteStore) -> None:
    def keys() -> Iterator[str]:
        raise AssertionError("a digest was made for nothing")
        yield ""

    assert at_once(alone.vault.find(OWNER, keys())) == {}
    assert at_once(MemoryStore(StoreConfig()).vault.find(OWNER, keys())) == {}


@pytest.mark.parametrize("which", ["alone", "shared"])
async def test_a_known_miss_is_not_looked_up_again(
    which: str, alone: SqliteStore, shared: SqliteStore, clock: Time
) -> None:
    store = {"alone": alone, "shared": shared}[which]
    await store.vault.put(OWNER, {"k": parts()})
    assert await store.vault.find(OWNER, ["k", "none"]) == {"k": parts()}
    assert at_once(store.vault.find(OWNER, ["k", "none"])) == {"k": parts()}
    clock.advance(6)
    if which == "alone":
        assert at_once(store.vault.find(OWNER, ["none"])) == {}
        clock.advance(300)
    with pytest.raises(AssertionError, match="it waited"):
        at_once(store.vault.find(OWNER, ["none"]))


async def test_a_miss_that_is_put_afterwards_is_found(shared: SqliteStore) -> None:
    assert await shared.vault.find(OWNER, ["k"]) == {}
    await shared.vault.put(OWNER, {"k": parts()})
    assert at_once(shared.vault.find(OWNER, ["k"])) == {"k": parts()}


async def test_what_was_read_once_is_known(tmp_path: Path, clock: Time) -> None:
    for alone in (True, False):
        first = SqliteStore(tmp_path / "s.sqlite3", StoreConfig(), clock.clocks, alone=alone)
        await first.vault.put(OWNER, {"k": parts(), "l": parts("l")})
        await first.aclose()
        second = SqliteStore(tmp_path / "s.sqlite3", StoreConfig(), clock.clocks, alone=alone)
        with pytest.raises(AssertionError, match="it waited"):
            at_once(second.vault.find(OWNER, ["k", "l"]))
        assert await second.vault.find(OWNER, ["l", "k"]) == {"l": parts("l"), "k": parts()}
        assert at_once(second.vault.find(OWNER, ["k", "l"])) == {"k": parts(), "l": parts("l")}
        await second.aclose()


async def test_limits_of_workers_that_share_do_not_wait_if_nobody_else_counts(shared: SqliteStore) -> None:
    assert at_once(shared.limits.reserve("k", KeyLimits(requests_per_minute=9))) == Allowed(8)


async def test_lessons_never_wait_even_if_others_teach(shared: SqliteStore, clock: Time) -> None:
    clock.advance(100)
    assert shared.lessons.find("groq/x") == ()


async def test_a_process_that_reads_nothing_has_no_thread_for_it(alone: SqliteStore, clock: Time) -> None:
    before = set(threading.enumerate())
    use_at_once(alone, clock)
    assert set(threading.enumerate()) == before
    await alone.vault.find(OWNER, ["unknown"])
    assert [one.name for one in set(threading.enumerate()) - before] == ["dragoman-store-reads"]
