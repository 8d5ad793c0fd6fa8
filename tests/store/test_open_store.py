"""Which store is opened, where its file is, and what happens if it cannot be used (K36, Q34)."""

from __future__ import annotations

import os
import sqlite3
import stat
import sys
import time
from pathlib import Path

import pytest

from dragoman.config.schema.config_file import Config
from dragoman.config.schema.keys import ClientKey
from dragoman.config.schema.models import Model, ModelRateLimits
from dragoman.config.schema.server import ServerConfig
from dragoman.config.schema.state import StateConfig
from dragoman.config.schema.store import StoreConfig, StoreKind, Vault
from dragoman.config.secret import Secret
from dragoman.store.composed_store import ComposedStore
from dragoman.store.contracts.pins import Pin, PinOwner
from dragoman.store.contracts.rate_limits import KeyLimits
from dragoman.store.errors import StoreError
from dragoman.store.journals.redaction import Redactor
from dragoman.store.ledger_entry import Entry
from dragoman.store.location import store_file
from dragoman.store.memory.store import MemoryStore
from dragoman.store.open_store import file_refusal, memory_refusal, open_store, place_of_store
from dragoman.store.sqlite.store import SqliteStore
from dragoman.store.store import Store

SQLITE, MEMORY = StoreConfig(), StoreConfig(kind=StoreKind.MEMORY)
HOME = {"HOME": "/home/anna"}


@pytest.mark.parametrize(
    ("config", "file", "environment", "found"),
    [
        (SQLITE, "/etc/dragoman/dragoman.yaml", HOME, "/etc/dragoman/dragoman.sqlite3"),
        (SQLITE, "conf/my.yaml", HOME, f"{Path.cwd()}/conf/dragoman.sqlite3"),
        (SQLITE, None, HOME, "/home/anna/.local/state/dragoman/dragoman.sqlite3"),
        (SQLITE, None, {**HOME, "XDG_STATE_HOME": "/var/state"}, "/var/state/dragoman/dragoman.sqlite3"),
        (SQLITE, None, {**HOME, "XDG_STATE_HOME": "state"}, "/home/anna/.local/state/dragoman/dragoman.sqlite3"),
        (StoreConfig(path="s.db"), "/etc/d/dragoman.yaml", HOME, "/etc/d/s.db"),
        (StoreConfig(path="/var/s.db"), "/etc/d/dragoman.yaml", HOME, "/var/s.db"),
        (StoreConfig(path="s.db"), None, HOME, f"{Path.cwd()}/s.db"),
        (MEMORY, "/etc/dragoman.yaml", HOME, None),
        (StoreConfig(kind=StoreKind.MEMORY, path="s.db"), None, HOME, None),
    ],
)
def test_the_file_is_beside_the_configuration(
    config: StoreConfig, file: str | None, environment: dict[str, str], found: str | None
) -> None:
    place = store_file(config, Path(file) if file is not None else None, environment)
    assert (str(place) if place is not None else None) == found


async def test_the_configured_store_is_opened(tmp_path: Path) -> None:
    memory = open_store(Config(), None)
    assert isinstance(memory.store, MemoryStore)
    assert (memory.store.place, memory.warning) == ("memory", None)
    opened = open_store(Config(), tmp_path / "sub" / "s.sqlite3")
    assert isinstance(opened.store, SqliteStore)
    assert (opened.store.place, opened.warning) == (str(tmp_path / "sub" / "s.sqlite3"), None)
    await opened.store.aclose()


@pytest.mark.parametrize(
    ("hot", "ledger", "why"),
    [
        ("mysql://x", None, "store.hot must begin with redis://, rediss://"),
        (None, "sqlite:///x", "store.ledger must begin with postgresql://"),
    ],
)
async def test_an_address_that_names_no_backend_is_refused_with_those_that_do(
    hot: str | None, ledger: str | None, why: str
) -> None:
    address = {name: Secret(url) for name, url in (("hot", hot), ("ledger", ledger)) if url is not None}
    config = Config(store=StoreConfig(**address))
    with pytest.raises(StoreError, match=why):
        place_of_store(config, None)
    opened = open_store(config, None)
    assert isinstance(opened.store, MemoryStore)
    assert opened.warning is not None
    assert why in opened.warning


def test_a_backend_that_is_not_installed_names_its_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in sys.modules if name.startswith("dragoman.store.postgres")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "asyncpg", None)
    config = Config(store=StoreConfig(ledger=Secret("postgresql://x")))
    with pytest.raises(StoreError, match=r"install 'dragoman\[postgres\]'"):
        place_of_store(config, None)


@pytest.mark.parametrize(
    ("hot", "ledger", "place"),
    [
        (None, None, "{file}"),
        ("redis://:secret-word@h", None, "redis://h:6379/0, ledger: {file}"),
        (None, "postgresql://u:secret-word@h/d", "{file}, ledger: postgresql://h/d"),
        ("redis://h", "postgresql://h/d", "redis://h:6379/0, ledger: postgresql://h/d"),
    ],
)
def test_several_workers_name_the_place_of_the_store_and_need_no_other(
    tmp_path: Path, hot: str | None, ledger: str | None, place: str
) -> None:
    address = {name: Secret(url) for name, url in (("hot", hot), ("ledger", ledger)) if url is not None}
    config = Config(store=StoreConfig(**address), server=ServerConfig(workers=2))
    file = broken(tmp_path)
    assert place_of_store(config, file) == place.format(file=file)
    assert (file_refusal(config, file) is None) is (len(address) == 2)


async def test_a_store_of_two_parts_uses_each_for_its_own(tmp_path: Path) -> None:
    hot, ledger = MemoryStore(StoreConfig()), SqliteStore(tmp_path / "s.sqlite3", StoreConfig())
    store: Store = ComposedStore(hot, ledger)
    await store.start()
    store.ledger.record(Entry(id="r", time=time.time(), caller="anna"))
    await store.pins.put(PinOwner("anna"), {"call_x": Pin("t", 0.0)})
    assert await store.flush()
    assert (store.health().written, hot.health().written, ledger.health().written) == (1, 0, 1)
    assert await hot.pins.find(PinOwner("anna"), ["call_x"])
    assert store.place == f"memory, ledger: {tmp_path / 's.sqlite3'}"
    assert await store.forget("anna") == 2
    await store.aclose()


def test_a_password_in_an_address_is_a_secret() -> None:
    config = Config(store=StoreConfig(hot=Secret("redis://u:p%40ssword-of-redis@h"), ledger=Secret("postgresql://h/d")))
    assert Redactor.of(config).text("no: p@ssword-of-redis, p%40ssword-of-redis") == "no: [REDACTED], [REDACTED]"


def files_of(folder: Path) -> list[Path]:
    return list(folder.iterdir())


async def test_only_its_owner_may_read_any_of_its_files(tmp_path: Path) -> None:
    before = os.umask(0)
    try:
        store = SqliteStore(tmp_path / "s.sqlite3", StoreConfig())
    finally:
        os.umask(before)
    store.ledger.record(Entry(id="r", time=1.0))
    await store.flush()
    await store.limits.reserve("k", KeyLimits(requests_per_minute=1))
    modes = {one.name: stat.S_IMODE(one.stat().st_mode) for one in files_of(tmp_path)}
    await store.aclose()
    assert set(modes) >= {"s.sqlite3", "s.sqlite3-wal", "s.sqlite3-shm", "s.sqlite3-limits", "s.sqlite3-lock"}
    assert set(modes.values()) == {0o600}


def broken(tmp_path: Path) -> Path:
    path = tmp_path / "s.sqlite3"
    path.write_bytes(b"this is no database, and long enough to be looked at as one" * 20)
    return path


def newer(tmp_path: Path) -> Path:
    path = tmp_path / "s.sqlite3"
    connection = sqlite3.connect(path)
    connection.execute("PRAGMA user_version=99")
    connection.close()
    return path


def earlier(tmp_path: Path) -> Path:
    path = tmp_path / "s.sqlite3"
    connection = sqlite3.connect(path)
    connection.executescript("CREATE TABLE lessons (target TEXT); PRAGMA user_version=3")
    connection.close()
    return path


def foreign(tmp_path: Path) -> Path:
    path = tmp_path / "s.sqlite3"
    connection = sqlite3.connect(path)
    connection.execute("CREATE TABLE photos (name TEXT)")
    connection.close()
    return path


def below_a_file(tmp_path: Path) -> Path:
    (tmp_path / "file").write_text("")
    return tmp_path / "file" / "s.sqlite3"


def a_folder(tmp_path: Path) -> Path:
    (tmp_path / "s.sqlite3").mkdir()
    return tmp_path / "s.sqlite3"


UNUSABLE = {
    broken: "not a database",
    newer: "newer Dragoman",
    earlier: "from before its first release",
    below_a_file: "File exists",
    foreign: "belongs to another program",
    a_folder: "unable to",
}


async def test_a_disk_that_has_no_room_for_limits_leaves_state_in_memory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "pwrite", lambda handle, data, at: len(data) // 2)
    opened = open_store(Config(), tmp_path / "store.sqlite3")
    assert isinstance(opened.store, MemoryStore)
    assert opened.warning is not None
    assert "cannot be used for limits: the disk is full" in opened.warning


@pytest.mark.parametrize("make", UNUSABLE, ids=lambda make: make.__name__)
async def test_a_file_that_cannot_be_used_is_refused_in_words_or_left_alone(tmp_path: Path, make: object) -> None:
    path = make(tmp_path)  # type: ignore[operator]
    before = path.read_bytes() if path.is_file() else None
    with pytest.raises(StoreError, match=UNUSABLE[make]):  # type: ignore[index]
        SqliteStore(path, StoreConfig())
    opened = open_store(Config(), path)
    assert isinstance(opened.store, MemoryStore)
    assert opened.warning is not None
    assert opened.warning.startswith("state is kept in memory only: ")
    assert UNUSABLE[make] in opened.warning  # type: ignore[index]
    assert opened.warning.endswith("Move it away or set store.path")
    assert before is None or path.read_bytes() == before


@pytest.mark.parametrize(
    ("workers", "named", "says"),
    [
        (1, False, None),
        (1, True, "not a database"),
        (4, False, "4 workers must share one file"),
        (4, True, "not a data"),
    ],
)
def test_a_start_is_refused_if_the_file_is_named_or_shared(
    tmp_path: Path, workers: int, named: bool, says: str | None
) -> None:
    path = broken(tmp_path)
    config = Config(server=ServerConfig(workers=workers), store=StoreConfig(path=str(path) if named else None))
    refusal = file_refusal(config, path)
    assert refusal is None if says is None else says in (refusal or "")
    path.unlink()
    assert file_refusal(config, path) is None


@pytest.mark.parametrize(
    ("config", "reason"),
    [
        (Config(store=MEMORY), None),
        (Config(server=ServerConfig(workers=2)), None),
        (Config(server=ServerConfig(workers=2), store=MEMORY), "the vault"),
        (
            Config(
                server=ServerConfig(workers=2),
                store=StoreConfig(kind=StoreKind.MEMORY, vault=Vault(enabled=False)),
                state=StateConfig(enabled=False),
            ),
            None,
        ),
        (
            Config(
                server=ServerConfig(workers=2),
                store=StoreConfig(kind=StoreKind.MEMORY, vault=Vault(enabled=False)),
                keys={"ci": ClientKey(sha256="x", requests_per_minute=1)},
            ),
            "the limits per minute of ci",
        ),
        (
            Config(
                server=ServerConfig(workers=2),
                store=StoreConfig(kind=StoreKind.MEMORY, vault=Vault(enabled=False)),
                models={"fast": Model(target="a/b", rate_limits=ModelRateLimits(requests_per_minute=1))},
            ),
            "the rate_limits of fast",
        ),
    ],
)
def test_several_workers_need_a_file(config: Config, reason: str | None) -> None:
    refusal = memory_refusal(config)
    assert refusal is None if reason is None else reason in (refusal or "")
