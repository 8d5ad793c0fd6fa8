"""What only the file can do: restarts, several processes, and trouble that the data path never feels."""

from __future__ import annotations

import sqlite3
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest
from test_store import ADMIN, ANNA, Time, entry

from dragoman.config.schema import StoreConfig, Vault
from dragoman.store import By, Limited, Limits, Shelf, SqliteStore, StoreError
from dragoman.store.background_writer import Background


@pytest.fixture
def path(tmp_path: Path) -> str:
    return str(tmp_path / "s.sqlite3")


def test_everything_is_there_after_a_restart(path: str) -> None:
    clock = Time()
    first = SqliteStore(StoreConfig(path=path), clock)
    first.record(entry(1, clock))
    first.keep("a", "p", "s", "k", b"1", "x")
    first.remember(Shelf.LESSONS, "t", b"{}")
    first.remember(Shelf.PINS, "c", b"m")
    first.allow("key", Limits(requests_per_minute=1), clock.now)
    first.close()
    second = SqliteStore(StoreConfig(path=path), clock)
    assert second.report("r1", ANNA) == entry(1, clock)
    assert second.fetch("a", "p", "s", ["k"])["k"].value == b"1"
    assert second.recall(Shelf.LESSONS, "t") == b"{}"
    assert second.recall(Shelf.PINS, "c") == b"m"
    assert isinstance(second.allow("key", Limits(requests_per_minute=1), clock.now), Limited)
    second.close()


def test_a_second_worker_finds_what_the_first_has_kept(path: str) -> None:
    clock = Time()
    one, two = SqliteStore(StoreConfig(path=path), clock), SqliteStore(StoreConfig(path=path), clock)
    one.keep("a", "p", "s", "k", b"1", "x")
    one.record(entry(1, clock))
    assert two.recall(Shelf.LESSONS, "t") is None
    one.remember(Shelf.LESSONS, "t", b"{}")
    one.flush()
    assert two.fetch("a", "p", "s", ["k"])["k"].value == b"1"
    assert two.fetch("b", "p", "s", ["k"]) == {}
    assert two.report("r1", ANNA) is not None
    clock.now += 6
    assert two.recall(Shelf.LESSONS, "t") == b"{}"
    one.close()
    two.close()


WORKER = """
import sys
from dragoman.config.schema import StoreConfig
from dragoman.store import Allowed, Entry, Limits, SqliteStore
path, name = sys.argv[1:]
store = SqliteStore(StoreConfig(path=path), lambda: 1_800_000_000.0)
print("ready", flush=True)
sys.stdin.readline()
allowed = 0
for number in range(300):
    verdict = store.allow("shared", Limits(requests_per_minute=250), 1_800_000_000.0 + number / 1000)
    allowed += isinstance(verdict, Allowed)
    store.record(Entry(id=f"{name}-{number}", time=1_800_000_000.0, caller=name))
    store.keep(name, "p", "s", f"k{number}", name.encode(), "x")
store.close()
health = store.health()
print(allowed, health.written, health.dropped, health.failed, flush=True)
"""


def test_two_processes_count_as_one_and_lose_nothing(path: str) -> None:
    workers = [
        subprocess.Popen(
            [sys.executable, "-c", WORKER, path, name], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        for name in ("anna", "bert")
    ]
    for worker in workers:
        assert worker.stdout is not None
        assert worker.stdout.readline() == "ready\n"
    for worker in workers:  # both at once
        assert worker.stdin is not None
        worker.stdin.write("go\n")
        worker.stdin.flush()
    outputs = [worker.communicate(timeout=60)[0].split() for worker in workers]
    assert sum(int(output[0]) for output in outputs) == 250
    assert [output[1:] for output in outputs] == [["600", "0", "0"]] * 2
    store = SqliteStore(StoreConfig(path=path), Time())
    assert {total.name: total.requests for total in store.totals(ADMIN, By.CALLER)} == {"anna": 300, "bert": 300}
    assert store.fetch("anna", "p", "s", ["k7"])["k7"].value == b"anna"
    assert store.fetch("bert", "p", "s", ["k7"])["k7"].value == b"bert"
    store.close()


OPENER = """
import sys
from dragoman.config.schema import StoreConfig
from dragoman.store import Entry, SqliteStore
store = SqliteStore(StoreConfig(path=sys.argv[1]), lambda: 1_800_000_000.0)
store.record(Entry(id=sys.argv[2], time=1_800_000_000.0))
store.close()
"""


READER = """
import sqlite3, sys
print(*sorted(row[0] for row in sqlite3.connect(sys.argv[1]).execute("SELECT id FROM requests")))
"""


def test_workers_may_come_and_go_at_the_same_moment(path: str) -> None:
    workers = [subprocess.Popen([sys.executable, "-c", OPENER, path, f"r{number}"]) for number in range(6)]
    assert [worker.wait(60) for worker in workers] == [0] * 6
    store = SqliteStore(StoreConfig(path=path), Time())
    assert {found.id for found in store.recent(ADMIN)} == {f"r{number}" for number in range(6)}
    store.close()


def test_opening_never_drops_the_locks_of_a_connection(path: str) -> None:
    """Closing any handle on a file drops this process's locks on it; a second worker that ends would then remove the
    write-ahead log that the first one writes to."""
    clock = Time()
    first = SqliteStore(StoreConfig(path=path), clock)
    first.record(entry(1, clock))
    first.flush()
    subprocess.run([sys.executable, "-c", OPENER, path, "other"], check=True, timeout=60)
    first.record(entry(2, clock))
    first.flush()
    seen = subprocess.run([sys.executable, "-c", READER, path], check=True, timeout=60, capture_output=True, text=True)
    first.close()
    assert seen.stdout.split() == ["other", "r1", "r2"]


def test_the_file_is_bounded(path: str) -> None:
    clock = Time()
    vault = Vault(per_caller=10, entries=15, max_bytes=4096)
    store = SqliteStore(StoreConfig(path=path, keep_requests=50, vault=vault), clock)
    for number in range(400):
        clock.now += 1
        store.record(entry(number, clock))
        store.keep("abc"[number % 3], "p", "s", f"k{number}", b"x" * 100, "x")
        if number % 40 == 0:
            store.flush()
    for number in range(300):  # enough further writes for another sweep
        store.record(entry(1000 + number, clock))
    store.flush()
    store.close()
    rows = sqlite3.connect(path)
    assert rows.execute("SELECT count(*) FROM vault").fetchone()[0] <= 15
    assert rows.execute("SELECT count(*) FROM requests").fetchone()[0] <= 50 + 256
    rows.close()


def test_the_request_path_never_waits_and_never_fails(path: str) -> None:
    clock = Time()
    store = SqliteStore(StoreConfig(path=path, queue=100), clock)
    blocker = sqlite3.connect(path, isolation_level=None)
    blocker.execute("BEGIN EXCLUSIVE")
    started = time.perf_counter()
    for number in range(2000):
        store.record(entry(number, clock))
    took = time.perf_counter() - started
    assert took < 1.0
    assert store.report("r1999", ADMIN) is not None
    health = store.health()
    assert health.dropped > 0
    assert health.waiting <= 100
    blocker.execute("COMMIT")
    blocker.close()
    assert store.flush(10)
    store.close()


def test_a_disk_that_fails_is_counted_and_told(path: str) -> None:
    clock = Time()
    store = SqliteStore(StoreConfig(path=path), clock)
    other = sqlite3.connect(path)
    other.execute("DROP TABLE requests")
    other.commit()
    store.record(entry(1, clock))
    assert store.flush()
    health = store.health()
    assert (health.failed, health.written) == (1, 0)
    assert "no such table" in (health.last_error or "")
    assert store.report("gone", ADMIN) is None
    store.keep("a", "p", "s", "k", b"1", "x")
    assert store.flush()
    assert store.health().written == 1
    other.close()
    store.close()


def test_counters_that_fail_leave_each_worker_its_own(path: str) -> None:
    clock = Time()
    store = SqliteStore(StoreConfig(path=path), clock)
    other = sqlite3.connect(path + "-counters")
    other.execute("DROP TABLE counters")
    other.commit()
    other.close()
    limits = Limits(requests_per_minute=1)
    store.allow("k", limits, clock.now)
    assert isinstance(store.allow("k", limits, clock.now), Limited)
    assert store.health().failed == 2
    store.close()


def test_a_newer_file_is_refused(path: str) -> None:
    connection = sqlite3.connect(path)
    connection.execute("PRAGMA user_version=99")
    connection.close()
    with pytest.raises(StoreError, match="newer Dragoman"):
        SqliteStore(StoreConfig(path=path), Time())


def test_closing_writes_what_waits_and_ends_the_thread(path: str) -> None:
    clock = Time()
    before = threading.active_count()
    store = SqliteStore(StoreConfig(path=path), clock)
    for number in range(500):
        store.record(entry(number, clock))
    store.close()
    assert threading.active_count() == before
    store.record(entry(501, clock))  # late, counted, harmless
    assert store.health().dropped == 1
    rows = sqlite3.connect(path)
    assert rows.execute("SELECT count(*) FROM requests").fetchone() == (500,)
    rows.close()


def test_background_work_keeps_order_and_survives_errors() -> None:
    done: list[int] = []

    def work(items: list[int]) -> None:
        if -1 in items:
            raise ValueError("bad item")
        done.extend(items)

    background = Background(work, size=1000, batch=7, name="test")
    for number in range(100):
        background.put(number)
    assert background.flush(5)
    background.put(-1)
    background.flush(5)
    background.put(100)
    background.close()
    assert done == list(range(101))
    assert background.health().failed == 1
    assert background.health().last_error == "ValueError: bad item"
