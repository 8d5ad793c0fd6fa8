"""A file that is locked, full, broken, deleted or shared: requests never feel it, and nothing is lost in silence."""

from __future__ import annotations

import asyncio
import contextlib
import fcntl
import os
import sqlite3
import subprocess
import sys
import threading
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from tests.child_processes import dies_with_us
from tests.store.contract.backends import ADMIN, ANNA, OWNER, Time, entry, lesson, parts
from tests.store.deadlines import until
from tests.upstream.transport_servers import on_a_stepped_clock, step

from dragoman.config.schema.store import StoreConfig
from dragoman.store.contracts.pins import Pin, PinOwner
from dragoman.store.contracts.rate_limits import Allowed, KeyLimits, Limited
from dragoman.store.contracts.stored_responses import StoredResponse
from dragoman.store.errors import StoreUnavailable
from dragoman.store.ledger_entry import By
from dragoman.store.sqlite import database as database_module
from dragoman.store.sqlite import limits as shared_limits
from dragoman.store.sqlite.store import SqliteStore
from dragoman.store.sqlite.tables import inode
from dragoman.store.sqlite.writer import WriteJob


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "s.sqlite3"


@pytest.fixture
def clock() -> Time:
    return Time()


@contextlib.asynccontextmanager
async def opened(path: Path, clock: Time, *, alone: bool = False, **settings: object) -> AsyncIterator[SqliteStore]:
    store = SqliteStore(path, StoreConfig(**settings), clock.clocks, alone=alone)  # type: ignore[arg-type]
    try:
        yield store
    finally:
        await store.aclose()


def scramble(path: Path) -> None:
    with path.open("r+b") as file:
        file.seek(4096)
        file.write(os.urandom(path.stat().st_size - 4096))


def copy(path: Path, to: Path) -> None:
    to.write_bytes(path.read_bytes())


def mode(path: Path) -> int:
    return path.stat().st_mode & 0o777


@contextlib.contextmanager
def locked(path: Path):  # type: ignore[no-untyped-def]
    """Another process in the middle of a long write."""
    blocker = sqlite3.connect(path, isolation_level=None)
    blocker.execute("BEGIN EXCLUSIVE")
    try:
        yield
    finally:
        blocker.execute("ROLLBACK")
        blocker.close()


@contextlib.contextmanager
def flocked(path: Path):  # type: ignore[no-untyped-def]
    """Another process that counts, and takes its time."""
    with path.open("rb") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


async def turns_of_the_loop(work) -> int:  # type: ignore[no-untyped-def]
    """Do something, and see how often the event loop did something else meanwhile."""
    turns, ended = 0, False

    async def tick() -> None:
        nonlocal turns
        while not ended:
            await asyncio.sleep(0.001)
            turns += 1

    ticking = asyncio.create_task(tick())
    await work
    ended = True
    await ticking
    return turns


async def test_a_locked_file_delays_no_record_and_loses_nothing(path: Path, clock: Time) -> None:
    async with opened(path, clock, queue=10_000) as store:
        with locked(path):
            for number in range(2000):
                store.ledger.record(entry(number, clock))
            assert await store.ledger.report("r1999", ADMIN) is not None
            assert not await store.flush(0.2)
        assert await store.flush(20)
        assert (store.health().written, store.health().dropped) == (2000, 0)


async def test_more_than_may_wait_is_dropped_and_counted(path: Path, clock: Time) -> None:
    async with opened(path, clock, queue=100) as store:
        with locked(path):
            for number in range(2000):
                store.ledger.record(entry(number, clock))
            health = store.health()
            assert health.waiting <= 100
            assert health.dropped > 0
        await store.flush(20)
        assert store.health().written + store.health().dropped == 2000


async def test_a_put_for_other_workers_waits_for_a_locked_file_but_not_for_long(
    path: Path, clock: Time, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(database_module, "DATA_PATH_DEADLINE", 0.2)
    async with opened(path, clock) as store:
        with locked(path):
            turns = await turns_of_the_loop(store.vault.put(OWNER, {"k": parts()}))
            assert turns > 5, "it waited, and the event loop went on"
            assert await store.vault.find(OWNER, ["k"]) == {"k": parts()}


@pytest.mark.parametrize("alone", [True, False])
async def test_forgetting_waits_until_the_file_has_forgotten(path: Path, clock: Time, alone: bool) -> None:
    """Or the next look into the file would give it back."""
    talk = PinOwner("anna", "talk")
    async with opened(path, clock, alone=alone) as store:
        await store.pins.put(talk, {"k": Pin("t", 0.0)})
        await store.flush()
        with locked(path):
            forgetting = asyncio.create_task(store.pins.forget(talk))
            await asyncio.sleep(0.1)
            assert not forgetting.done()
        await forgetting
        assert await store.pins.find(talk, ["k"]) == {}


async def test_a_locked_file_of_limits_holds_up_nobody_but_the_request(
    path: Path, clock: Time, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(shared_limits, "DEADLINE", 0.2)
    async with opened(path, clock) as store:
        limits = KeyLimits(requests_per_minute=2)
        assert await store.limits.reserve("k", limits) == Allowed(1)
        with flocked(Path(f"{path}-limits")):
            verdicts: list[Allowed | Limited] = []

            async def ask() -> None:
                verdicts.append(await store.limits.reserve("k", limits))

            turns = await turns_of_the_loop(asyncio.gather(ask(), ask(), ask()))
            store.limits.settle("k", 5)
        assert turns > 5, "the event loop went on"
        assert sorted(type(one).__name__ for one in verdicts) == ["Allowed", "Limited", "Limited"]
        assert store.health().failed == 3


async def test_limits_without_a_file_leave_each_worker_its_own_counts(path: Path, clock: Time) -> None:
    file = Path(f"{path}-limits")
    async with opened(path, clock) as store:
        limits = KeyLimits(requests_per_minute=1)
        os.unlink(file)
        os.mkdir(file)
        clock.advance(2)
        assert isinstance(await store.limits.reserve("k", limits), Allowed)
        assert isinstance(await store.limits.reserve("k", limits), Limited)
        store.limits.settle("k", 5)
        assert store.health().failed == 3
        assert file.name in (store.health().last_error or "")
        os.rmdir(file)
        clock.advance(61)
        assert await store.limits.reserve("k", limits) == Allowed(0)
        assert store.health().failed == 3, "a file is made again"


async def test_rows_that_the_file_refuses_are_counted_and_the_rest_is_written(path: Path, clock: Time) -> None:
    async with opened(path, clock) as store:
        with contextlib.closing(sqlite3.connect(path)) as other:
            other.execute("DROP TABLE requests")
            other.commit()
        store.ledger.record(entry(1, clock))
        assert await store.flush()
        health = store.health()
        assert (health.failed, health.written) == (1, 0)
        assert "no such table" in (health.last_error or "")
        await store.vault.put(OWNER, {"k": parts()})
        assert store.health().written == 1
        with pytest.raises(StoreUnavailable) as raised:
            await store.ledger.totals(ADMIN, By.CALLER)
        assert str(path) not in str(raised.value)
        with pytest.raises(StoreUnavailable):
            await store.ledger.recent(ADMIN)
        assert await store.ledger.report("r1", ADMIN) is not None, "this process still has it"
        assert store.health().unread == 2


FULL = """
import asyncio, resource, signal, sys
from pathlib import Path
from dragoman.config.schema.store import StoreConfig
from dragoman.conversation.parts import Opaque, Origin
from dragoman.store.contracts.reasoning_vault import StateOwner
from dragoman.store.ledger_entry import Entry
from dragoman.store.sqlite.store import SqliteStore

async def main(path):
    store = SqliteStore(Path(path), StoreConfig(), alone=True)
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (400_000, 400_000))
    owner, parts = StateOwner("a", "p", "s"), (Opaque(kind="k", json=b'"x"', origin=Origin("d")),)
    for number in range(400):
        store.ledger.record(Entry(id=f"r{number}", time=1_800_000_000.0, error="x" * 5000))
        await store.vault.put(owner, {f"k{number}": parts})
        if number % 40 == 0:
            await store.flush()
    await store.flush()
    found = await store.vault.find(owner, [f"k{number}" for number in range(400)])
    full = store.health()
    print(len(found), full.failed > 0, full.written > 0, full.last_error)
    await store.aclose()

asyncio.run(main(sys.argv[1]))
"""


@pytest.mark.slow
def test_a_full_disk_costs_rows_that_are_counted_and_nothing_else(path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", FULL, str(path)], capture_output=True, text=True, timeout=300, check=True
    )
    assert done.stdout.startswith("400 True True OperationalError: "), done.stdout
    with contextlib.closing(sqlite3.connect(path)) as after:
        assert after.execute("PRAGMA integrity_check").fetchone() == ("ok",)
        assert after.execute("SELECT count(*) FROM requests").fetchone()[0] > 0


@contextlib.contextmanager
def unwritable(store: SqliteStore):  # type: ignore[no-untyped-def]
    """A disk that takes nothing, in the midst of it all."""
    connection = store._database._writer._connection
    connection.execute("PRAGMA query_only=ON")
    try:
        yield
    finally:
        connection.execute("PRAGMA query_only=OFF")


@pytest.mark.parametrize("alone", [True, False])
async def test_nobody_is_told_that_a_disk_has_taken_what_it_has_not(path: Path, clock: Time, alone: bool) -> None:
    turn = StoredResponse(b"[]", b"{}")
    async with opened(path, clock, alone=alone) as store:
        responses = store.responses
        assert await responses.put("anna", "kept", turn)
        assert await responses.put("anna", "named", turn)
        assert await responses.put("anna", "last", StoredResponse(b"[]", b"{}", "named"))
        with unwritable(store):
            assert not await responses.put("anna", "lost", turn)
            for id in ("kept", "named"):
                assert not await responses.forget("anna", id)
            with pytest.raises(StoreUnavailable):
                await store.forget("anna")
        async with opened(path, clock) as second:
            ids = ("kept", "named", "last", "lost")
            assert [await second.responses.find("anna", id) is not None for id in ids] == [True, True, True, False]
        assert await responses.put("anna", "lost", turn)
        assert await responses.forget("anna", "kept")
        assert await store.forget("anna") > 0
        async with opened(path, clock) as second:
            assert await second.responses.find("anna", "lost") is None


async def test_a_swap_that_the_disk_does_not_take_is_known_here_at_least(path: Path, clock: Time) -> None:
    old, new = StoredResponse(b"[]", b"queued"), StoredResponse(b"[]", b"completed")
    async with opened(path, clock) as store:
        await store.responses.put("anna", "resp_1", old)
        with unwritable(store):
            assert await store.responses.swap("anna", "resp_1", old, new) == new
            assert await store.responses.find("anna", "resp_1") == new


async def test_a_file_that_breaks_while_in_use_is_not_there_and_is_counted(path: Path, clock: Time) -> None:
    async with opened(path, clock) as store:
        for number in range(300):
            store.ledger.record(entry(number, clock, error="x" * 1000))
            await store.vault.put(OWNER, {f"k{number}": parts()})
        with contextlib.closing(sqlite3.connect(path)) as other:
            other.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        scramble(path)
        async with opened_beside(path, clock) as second:
            assert await second.vault.find(OWNER, ["k1"]) == {}
            assert await second.pins.find(PinOwner("anna"), ["k"]) == {}
            assert second.health().unread >= 1
            assert isinstance(await second.limits.reserve("k", KeyLimits(requests_per_minute=1)), Allowed)
        assert await store.vault.find(OWNER, ["k1"]) == {"k1": parts()}, "this process still has it"


@contextlib.asynccontextmanager
async def opened_beside(path: Path, clock: Time) -> AsyncIterator[SqliteStore]:
    """A second worker whose file breaks only after it has opened it."""
    good = path.with_name("good.sqlite3")
    async with opened(good, clock) as store:
        await store.flush()
        with contextlib.closing(sqlite3.connect(good)) as other:
            other.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        copy(path, good)
        yield store


async def test_a_deleted_file_is_noticed_and_begun_anew(path: Path, clock: Time) -> None:
    async with opened(path, clock, alone=True) as store:
        store.ledger.record(entry(1, clock))
        await store.vault.put(OWNER, {"k": parts()})
        await store.flush()
        for one in path.parent.glob("s.sqlite3*"):
            one.unlink()
        store.ledger.record(entry(2, clock))
        await store.flush()
        assert store.health().replaced == 1
        assert mode(path) == 0o600
        assert await store.vault.find(OWNER, ["k"]) == {"k": parts()}, "this process still has it"
        assert [one.requests for one in await store.ledger.totals(ADMIN, By.CALLER)] == [1]
    async with opened(path, clock) as after:
        assert await after.ledger.report("r2", ADMIN) is not None
        assert await after.ledger.report("r1", ADMIN) is None


async def test_a_replaced_file_is_taken(path: Path, clock: Time) -> None:
    backup = path.with_name("backup.sqlite3")
    async with opened(backup, clock) as store:
        store.ledger.record(entry(7, clock))
        await store.vault.put(OWNER, {"old": parts("old")})
    async with opened(path, clock) as store:
        await store.flush()
        store.ledger.record(entry(1, clock))
        await store.flush()
        backup.replace(path)
        store.ledger.record(entry(8, clock))
        await store.flush()
        assert store.health().replaced == 1
        assert await store.ledger.report("r7", ADMIN) is not None
        assert await store.vault.find(OWNER, ["old"]) == {"old": parts("old")}
    with contextlib.closing(sqlite3.connect(path)) as after:
        assert after.execute("PRAGMA integrity_check").fetchone() == ("ok",)
        assert [row[0] for row in after.execute("SELECT id FROM requests")] == ["r7", "r8"]


async def test_a_folder_that_is_gone_costs_entries_that_are_counted(tmp_path: Path, clock: Time) -> None:
    folder = tmp_path / "state"
    async with opened(folder / "s.sqlite3", clock, alone=True) as store:
        await store.flush()
        for one in folder.iterdir():
            one.unlink()
        folder.rmdir()
        folder.write_text("a file where the folder was")
        store.ledger.record(entry(1, clock))
        await store.flush()
        assert store.health().failed == 1
        assert "cannot be used as a store" in (store.health().last_error or "")
        folder.unlink()
        store.ledger.record(entry(2, clock))
        await store.flush()
        assert (store.health().failed, store.health().replaced) == (1, 1)


async def test_deleted_counts_are_begun_anew_and_workers_find_each_other_there(path: Path, clock: Time) -> None:
    limits = KeyLimits(requests_per_minute=2)
    async with opened(path, clock) as one, opened(path, clock) as two:
        await one.limits.reserve("k", limits)
        shared = Path(f"{path}-limits")
        os.unlink(shared)
        clock.advance(61)
        for worker in (one, two):
            await worker.limits.reserve("other", limits)
        assert {worker.limits._shared._file.inode for worker in (one, two)} == {inode(shared)} - {None}
        verdicts = [await worker.limits.reserve("k", limits) for worker in (one, two, one)]
        assert [type(verdict) for verdict in verdicts] == [Allowed, Allowed, Limited]


async def test_a_read_that_hangs_costs_one_deadline_and_no_request(
    path: Path, clock: Time, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(database_module, "DATA_PATH_DEADLINE", 0.2)
    async with opened(path, clock) as store:
        await store.vault.put(OWNER, {"k": parts()})
        released = threading.Event()
        hanging = asyncio.create_task(store._database.read(lambda _: released.wait(60)))
        await asyncio.sleep(0.01)
        assert await store.vault.find(OWNER, ["unknown", "k"]) == {"k": parts()}
        with pytest.raises(StoreUnavailable):
            await hanging
        assert "did not answer within 0.2 s" in (store.health().last_error or "")
        turns = await turns_of_the_loop(store.pins.find(PinOwner("anna"), ["k"]))
        assert turns <= 1, "while a read hangs the others do not wait for it"
        assert store.health().unread == 3
        released.set()
        unread = -1
        while unread != store.health().unread:  # until it answers again
            unread = store.health().unread
            await asyncio.sleep(0.01)
            assert await store.vault.find(OWNER, ["unknown"]) == {}


@on_a_stepped_clock
async def test_a_stored_answer_waits_for_a_slow_disk(path: Path, clock: Time) -> None:
    """Or a busy machine makes clients lose turns of their conversations."""
    async with opened(path, clock, alone=True) as store:
        released = threading.Event()
        store._database.write(WriteJob("SELECT ?", (b"",), lambda _: b"%d" % released.wait(60)))
        keeping = asyncio.create_task(store.responses.put("anna", "resp_1", StoredResponse(b"[]", b"{}")))
        await step(0)
        await step(4)
        assert not keeping.done()
        released.set()
        assert await keeping


@on_a_stepped_clock
async def test_a_request_waits_for_state_on_a_slow_disk(path: Path, clock: Time) -> None:
    async with opened(path, clock) as first:
        await first.vault.put(OWNER, {"k": parts()})
    async with opened(path, clock) as store:
        released = threading.Event()
        slow = asyncio.create_task(store._database.read(lambda _: released.wait(60)))
        await step(0)
        finding = asyncio.create_task(store.vault.find(OWNER, ["k"]))
        await step(0)
        await step(4)
        assert not finding.done()
        released.set()
        assert await finding == {"k": parts()}
        assert await slow


async def test_a_long_report_does_not_hold_up_requests(path: Path, clock: Time) -> None:
    async with opened(path, clock) as store:
        await store.vault.put(OWNER, {"k": parts()})
        async with opened(path, clock) as other:
            released = threading.Event()
            report = asyncio.create_task(other._database.report(lambda _: released.wait(60)))
            await asyncio.sleep(0.01)
            assert await other.vault.find(OWNER, ["k"]) == {"k": parts()}
            assert not report.done()
            released.set()
            await report


async def test_a_process_that_comes_second_knows_that_it_is_not_alone(path: Path, clock: Time) -> None:
    """A gateway that starts while its predecessor still ends its streams."""
    async with opened(path, clock, alone=True) as old:
        async with opened(path, clock, alone=True) as new:
            assert (old._database.alone, new._database.alone) == (True, False)
            await old.vault.put(OWNER, {"k": parts()})
            await old.flush()
            assert await new.vault.find(OWNER, ["k"]) == {"k": parts()}
        await old.aclose()
        async with opened(path, clock, alone=True) as third:
            assert third._database.alone


async def test_a_second_gateway_on_the_file_is_noticed_and_both_agree_from_then_on(path: Path, clock: Time) -> None:
    """Two gateways of one worker each, neither of which was told of the other."""
    async with opened(path, clock, alone=True) as one, opened(path, clock, alone=True) as two:
        await one.limits.reserve("k", KeyLimits(requests_per_minute=100))
        assert one._database.alone
        for number in range(2):  # every request writes, and so sees that somebody else did
            for store in (one, two):
                store.ledger.record(entry(number, clock, id=f"{id(store)}-{number}"))
                await store.flush()
        assert not one._database.alone
        assert not two._database.alone
        await one.vault.put(OWNER, {"k": parts()})
        assert await two.vault.find(OWNER, ["k"]) == {"k": parts()}
        for store in (one, two):
            await store.limits.reserve("open", KeyLimits(requests_per_minute=100))
        await until(lambda: one.limits._shared is not None and two.limits._shared is not None)
        limits = KeyLimits(requests_per_minute=10)
        verdicts = [await (one, two)[at % 2].limits.reserve("k", limits) for at in range(20)]
        assert sum(isinstance(verdict, Allowed) for verdict in verdicts) == 9, "and what was counted before counts"


async def test_a_process_that_is_alone_stays_so_whatever_it_writes_itself(path: Path, clock: Time) -> None:
    async with opened(path, clock, alone=True) as store:
        for number in range(700):
            store.ledger.record(entry(number, clock))
            await store.vault.put(OWNER, {f"k{number}": parts()})
            await store.pins.put(PinOwner("anna"), {f"k{number}": Pin("t", 0.0)})
            if number % 100 == 0:
                await store.lessons.put(lesson(f"l{number}", clock))
                await store.flush()
                await store.ledger.totals(ADMIN, By.CALLER)
        assert store._database.alone


WORKER = """
import asyncio, sys
from pathlib import Path
from dragoman.config.schema.store import StoreConfig
from dragoman.conversation.parts import Opaque, Origin
from dragoman.store.contracts.rate_limits import Allowed, KeyLimits
from dragoman.store.contracts.reasoning_vault import StateOwner
from dragoman.store.ledger_entry import Entry
from dragoman.store.sqlite.store import SqliteStore

async def main(path, name):
    store = SqliteStore(Path(path), StoreConfig())
    print("ready", flush=True)
    sys.stdin.readline()
    allowed = 0
    for number in range(300):
        verdict = await store.limits.reserve("shared", KeyLimits(requests_per_minute=250))
        allowed += isinstance(verdict, Allowed)
        store.ledger.record(Entry(id=f"{name}-{number}", time=1_800_000_000.0, caller=name))
        state = Opaque(kind="k", json=name.encode(), origin=Origin("d"))
        await store.vault.put(StateOwner(name, "p", "s"), {f"k{number}": (state,)})
    await store.aclose()
    health = store.health()
    print(allowed, health.written, health.dropped, health.failed, flush=True)

asyncio.run(main(*sys.argv[1:]))
"""


def run_workers(path: Path, names: tuple[str, ...]) -> list[list[str]]:
    """What each worker prints, all of them at work at the same time."""
    workers = [
        subprocess.Popen(
            [sys.executable, "-c", WORKER, str(path), name],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            preexec_fn=dies_with_us(),
        )
        for name in names
    ]
    for worker in workers:
        assert worker.stdout is not None
        assert worker.stdout.readline() == "ready\n"
    for worker in workers:  # all at once
        assert worker.stdin is not None
        worker.stdin.write("go\n")
        worker.stdin.flush()
    return [worker.communicate(timeout=300)[0].split() for worker in workers]


@pytest.mark.slow
async def test_processes_count_as_one_and_lose_nothing(path: Path, clock: Time) -> None:
    names = ("anna", "bert", "carl")
    outputs = run_workers(path, names)
    assert sum(int(output[0]) for output in outputs) == 250
    assert [output[1:] for output in outputs] == [["600", "0", "0"]] * 3
    async with opened(path, clock) as store:
        totals = await store.ledger.totals(ADMIN, By.CALLER)
        assert {total.name: total.requests for total in totals} == dict.fromkeys(names, 300)


OPENER = """
import asyncio, sys
from pathlib import Path
from dragoman.config.schema.store import StoreConfig
from dragoman.store.ledger_entry import Entry
from dragoman.store.sqlite.store import SqliteStore

async def main(path, name):
    store = SqliteStore(Path(path), StoreConfig())
    store.ledger.record(Entry(id=name, time=1_800_000_000.0))
    await store.aclose()

asyncio.run(main(*sys.argv[1:]))
"""


def open_and_close(path: Path, names: list[str]) -> list[int]:
    """Workers that record one request each and end, all at the same time."""
    workers = [subprocess.Popen([sys.executable, "-c", OPENER, str(path), name]) for name in names]
    return [worker.wait(300) for worker in workers]


@pytest.mark.slow
async def test_workers_may_come_and_go_at_the_same_moment(path: Path, clock: Time) -> None:
    assert open_and_close(path, [f"r{number}" for number in range(6)]) == [0] * 6
    async with opened(path, clock) as store:
        page = await store.ledger.recent(ADMIN)
        assert {found.id for found in page.entries} == {f"r{number}" for number in range(6)}


READER = """
import sqlite3, sys
print(*sorted(row[0] for row in sqlite3.connect(sys.argv[1]).execute("SELECT id FROM requests")))
"""


def read_elsewhere(path: Path) -> list[str]:
    command = [sys.executable, "-c", READER, str(path)]
    return subprocess.run(command, check=True, timeout=300, capture_output=True, text=True).stdout.split()


@pytest.mark.slow
async def test_opening_never_drops_the_locks_of_a_connection(path: Path, clock: Time) -> None:
    """Closing any handle on a file drops this process's locks on it; a second worker that ends would then remove the
    write-ahead log that the first one writes to."""
    async with opened(path, clock) as first:
        first.ledger.record(entry(1, clock))
        await first.flush()
        await first.vault.find(OWNER, ["unknown"])
        assert open_and_close(path, ["other"]) == [0]
        first.ledger.record(entry(2, clock))
        await first.flush()
        seen = read_elsewhere(path)
        assert await first.ledger.report("r1", ANNA) is not None
    assert seen == ["other", "r1", "r2"]
