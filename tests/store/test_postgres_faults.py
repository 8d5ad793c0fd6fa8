"""The ledger in PostgreSQL when something is wrong: the server, the disk, the version, another replica."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest
from tests.store.contract.backends import ADMIN, Time, entry
from tests.store.deadlines import until
from tests.store.postgres_server import PostgresServer, programs, running_postgres

from dragoman.config.schema.config_file import Config
from dragoman.config.schema.store import PostgresOptions, StoreConfig, StoreKind
from dragoman.config.secret import Secret
from dragoman.store.contracts.ledger import LedgerQuery
from dragoman.store.errors import StoreUnavailable
from dragoman.store.journals.redaction import Redactor
from dragoman.store.ledger_entry import By
from dragoman.store.open_store import open_store
from dragoman.store.shared_backends import StoreOpening

pytest.importorskip("asyncpg", reason="pip install asyncpg")
from dragoman.store.postgres import PostgresPart, open_part
from dragoman.store.postgres.part import SPOOL_FOLDER
from dragoman.store.postgres.spool import Spool, read_records

NOWHERE = "postgresql://user:very-secret@127.0.0.1:1/none"


@pytest.fixture
def time() -> Time:
    return Time()


@pytest.fixture
async def opened(tmp_path: Path, time: Time) -> AsyncIterator[Callable[..., Awaitable[PostgresPart]]]:
    """Opens replicas; each is closed after the test."""
    parts: list[PostgresPart] = []

    async def open_one(address: str, folder: Path = tmp_path, **settings: Any) -> PostgresPart:
        config = StoreConfig(ledger=Secret(address), **settings)
        part = open_part(StoreOpening(config, folder / "s.sqlite3", time.clocks, Redactor()))
        parts.append(part)
        await part.start()
        return part

    yield open_one
    for part in parts:
        await part.aclose()


@pytest.fixture
def mortal() -> Any:
    """A server that a test may kill."""
    folder = programs()
    if folder is None:
        pytest.skip("no PostgreSQL server here: apt-get install postgresql")
    server = PostgresServer(folder)
    yield server
    server.stop()


async def count(part: PostgresPart) -> int:
    return sum(one.requests for one in await part.ledger.totals(ADMIN, By.CALLER))


@pytest.mark.slow
async def test_a_server_that_is_killed_costs_no_entry_and_doubles_none(
    mortal: PostgresServer, opened: Any, time: Time
) -> None:
    part = await opened(mortal.new_schema())
    for number in range(300):
        part.ledger.record(entry(number, time))
        if number == 100:
            assert await part.flush()
            mortal.kill()
        await asyncio.sleep(0)
    await until(lambda: bool(part.health().away) and not part.health().waiting)
    with pytest.raises(StoreUnavailable):
        await part.ledger.totals(ADMIN, By.CALLER)
    assert not await part.flush()
    assert part.health().local > 0
    mortal.start()
    await until(lambda: not part.health().away)
    assert await part.flush(20)
    assert await count(part) == 300
    health = part.health()
    assert (health.dropped, health.failed, health.reconnects) == (0, 0, 1)


@pytest.mark.slow
async def test_a_server_that_stands_still_while_a_replica_ends_costs_no_entry(
    mortal: PostgresServer, opened: Any, time: Time, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("dragoman.store.postgres.writer.CLOSE_SECONDS", 0.3)
    address = mortal.new_schema()
    ending = await opened(address)
    ending.ledger.record(entry(0, time))
    assert await ending.flush()
    with mortal.standing_still():
        for number in range(1, 20):
            ending.ledger.record(entry(number, time))
        await until(lambda: not ending.health().waiting)  # the writer has them in hand
        await ending.aclose()
    next_one = await opened(address)
    await until(lambda: next_one.health().written >= 19)
    assert await next_one.flush()
    assert await count(next_one) == 20


@pytest.mark.slow
async def test_what_a_dead_process_left_is_written_by_the_next_one(opened: Any, time: Time, tmp_path: Path) -> None:
    dead = await opened(NOWHERE)
    for number in range(50):
        dead.ledger.record(entry(number, time))
    await dead.aclose()
    [left] = (tmp_path / SPOOL_FOLDER).iterdir()
    with left.open("ab") as file:
        file.write(b"\x09\x00\x00\x00half")  # it was killed while it wrote
    part = await opened(running_postgres().new_schema())
    await until(lambda: part.health().written == 50)
    assert await part.flush()
    assert await count(part) == 50
    assert list((tmp_path / SPOOL_FOLDER).iterdir()) == []


async def test_entries_that_are_written_twice_count_once(opened: Any, time: Time) -> None:
    address = running_postgres().new_schema()
    one, two = await opened(address), await opened(address)
    for part in (one, two):
        for number in range(20):
            part.ledger.record(entry(number, time))
        assert await part.flush()
    assert await count(one) == 20


async def test_replicas_that_start_together_make_the_tables_once(opened: Any, time: Time) -> None:
    address = running_postgres().new_schema()
    parts = await asyncio.gather(*(opened(address) for _ in range(6)))
    for number, part in enumerate(parts):
        part.ledger.record(entry(number, time, time=time.wall + number * 43_200))
    assert all(await asyncio.gather(*(part.flush(20) for part in parts)))
    assert await count(parts[0]) == 6


async def test_a_full_spool_is_counted_and_stops_nothing(opened: Any, time: Time) -> None:
    part = await opened(NOWHERE, postgres=PostgresOptions(spool_mb=1), keep_bodies=True)
    for number in range(4):
        part.ledger.record(entry(number, time, request=b'"' + b"x" * 400_000 + b'"'))
    await until(lambda: not part.health().waiting and part.health().local + part.health().dropped == 4)
    assert part.health().dropped == 2


@pytest.mark.slow
async def test_without_a_disk_entries_wait_in_memory(mortal: PostgresServer, opened: Any, time: Time) -> None:
    address = mortal.new_schema()
    mortal.kill()
    part = await opened(address, postgres=PostgresOptions(spool_mb=0), queue=10)
    for number in range(15):
        part.ledger.record(entry(number, time))
    assert part.health().dropped >= 5
    mortal.start()
    await until(lambda: part.health().written >= 10)
    assert part.health().written + part.health().dropped == 15


async def test_a_server_that_is_away_is_told_without_its_password(opened: Any, time: Time) -> None:
    part = await opened(NOWHERE)
    part.ledger.record(entry(1, time))
    assert (await part.ledger.report("r1", ADMIN)) is not None
    with pytest.raises(StoreUnavailable) as caught:
        await part.ledger.recent(ADMIN)
    with pytest.raises(StoreUnavailable):
        await part.forget("anna")
    told = f"{caught.value} {part.place} {part.health().away} {part.health().last_error}"
    assert "127.0.0.1:1/none" in told
    assert "very-secret" not in told


async def test_tables_of_a_newer_program_are_left_alone(opened: Any, time: Time) -> None:
    server = running_postgres()
    address = server.new_schema()
    schema = address.rpartition("=")[2]
    first = await opened(address)
    first.ledger.record(entry(1, time))
    assert await first.flush()
    server.execute(f"INSERT INTO {schema}.dragoman_schema (version, oldest) VALUES (98, 1)")
    beside = await opened(address)
    beside.ledger.record(entry(2, time))
    assert await beside.flush()  # a newer version that this one can live with
    server.execute(f"INSERT INTO {schema}.dragoman_schema (version, oldest) VALUES (99, 99)")
    late = await opened(address)
    assert "Upgrade it" in str(late.health().away)


async def test_days_that_are_over_leave_as_a_whole(opened: Any, time: Time) -> None:
    server = running_postgres()
    address = server.new_schema()
    schema = address.rpartition("=")[2]
    part = await opened(address, keep_days=2.0)
    for day in range(6):
        for number in range(260):
            part.ledger.record(entry(number, time, id=f"r{day}-{number}", time=time.wall))
        assert await part.flush()
        time.advance(86_400)
    names = server.execute(
        f"SELECT relname FROM pg_inherits JOIN pg_class ON pg_class.oid = inhrelid "
        f"WHERE inhparent = '{schema}.dragoman_requests'::regclass"
    ).split()
    assert len(names) == 3
    page = await part.ledger.recent(ADMIN, LedgerQuery(limit=1000))
    assert {one.id.partition("-")[0] for one in page.entries} == {"r4", "r5"}


async def test_a_partition_that_another_replica_removed_is_made_again(opened: Any, time: Time) -> None:
    server = running_postgres()
    address = server.new_schema()
    schema = address.rpartition("=")[2]
    part = await opened(address)
    part.ledger.record(entry(1, time))
    assert await part.flush()
    server.execute(f"DROP TABLE {schema}.dragoman_requests_20270115")
    part.ledger.record(entry(2, time))
    assert await part.flush()
    assert await count(part) == 1


async def test_closing_ends_the_thread_and_may_be_repeated(opened: Any, time: Time) -> None:
    before = set(threading.enumerate())
    part = await opened(running_postgres().new_schema())
    part.ledger.record(entry(1, time))
    await part.aclose()
    await part.aclose()
    part.ledger.record(entry(2, time))
    assert await part.flush()
    assert [one.name for one in threading.enumerate() if one not in before and one.name == "dragoman-ledger"] == []


def test_opening_reaches_nothing(tmp_path: Path) -> None:
    before = set(threading.enumerate())
    opened = open_store(
        Config(store=StoreConfig(ledger=Secret(NOWHERE), kind=StoreKind.MEMORY)), tmp_path / "s.sqlite3"
    )
    assert opened.warning is None
    assert "very-secret" not in opened.store.place
    assert [one.name for one in threading.enumerate() if one not in before and one.name == "dragoman-ledger"] == []


def test_a_disk_that_fills_up_leaves_no_half_record(tmp_path: Path) -> None:
    spool = Spool(tmp_path, 1000)
    assert spool.append([b"a" * 300, b"b" * 300, b"c" * 600]) == 2
    assert [record[:1] for record in spool.read()] == [b"a", b"b"]
    spool.clear()
    assert list(spool.read()) == []
    assert spool.append([b"d"]) == 1
    spool.close()
    [left] = tmp_path.iterdir()
    assert list(read_records(left)) == [b"d"]
