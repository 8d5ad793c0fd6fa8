"""The backends that the contract is tested on. A new one needs a class here and a line in `BACKENDS`."""

from __future__ import annotations

import uuid
from pathlib import Path
from typing import Any

from msgspec.structs import replace
from tests.store.deadlines import NEVER_LATE, reached
from tests.store.postgres_server import running_postgres
from tests.store.redis_server import RedisServer, running_redis

from dragoman.config.schema.store import RedisOptions, StoreConfig
from dragoman.config.secret import Secret
from dragoman.conversation.parts import Opaque, Origin, Reasoning, Text
from dragoman.engine.exchange.lesson_book import LessonRecord
from dragoman.store.clock import Clocks
from dragoman.store.composed_store import ComposedStore
from dragoman.store.contracts.reasoning_vault import Parts, StateOwner
from dragoman.store.journals.redaction import Redactor
from dragoman.store.ledger_entry import Entry, Viewer
from dragoman.store.memory.store import MemoryStore
from dragoman.store.postgres import open_part
from dragoman.store.redis_store import RedisStore, parse_address
from dragoman.store.redis_store.scripts import ScriptClock
from dragoman.store.settings import StoreOptions
from dragoman.store.shared_backends import StoreOpening
from dragoman.store.sqlite.store import SqliteStore
from dragoman.store.store import Store

ADMIN = Viewer("boss", admin=True)
ANNA, BERT = Viewer("anna"), Viewer("bert")
SECRET = "configured-secret"


class Time:
    """Two clocks that stand still until they are moved."""

    def __init__(self) -> None:
        self.wall = 1_800_000_000.0
        self.steady = 5_000.0
        self.clocks = Clocks(wall=lambda: self.wall, steady=lambda: self.steady)

    def advance(self, seconds: float) -> None:
        self.wall += seconds
        self.steady += seconds


class Backend:
    """One place where state is kept. `open` gives one more worker that uses it.

    `shared`: all workers see the same state. `lasting`: it is there after all workers have closed. `slack`: how many
    entries more than the bounds it may hold for a while.
    """

    shared = False
    lasting = False
    slack = 0

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.time = Time()
        self.stores: list[Store] = []

    async def open(self, **settings: Any) -> Store:
        store = self.make(StoreOptions(**settings), Redactor([SECRET]))
        self.stores.append(store)
        return await reached(store)

    def make(self, config: StoreConfig, redactor: Redactor) -> Store:
        raise NotImplementedError

    async def close(self) -> None:
        for store in self.stores:
            await store.aclose()


class Memory(Backend):
    def make(self, config: StoreConfig, redactor: Redactor) -> Store:
        return MemoryStore(config, self.time.clocks, redactor)


class Sqlite(Backend):
    """One of several workers."""

    shared = lasting = True
    slack = 1024
    alone = False

    def make(self, config: StoreConfig, redactor: Redactor) -> Store:
        return SqliteStore(self.folder / "deep" / "s.sqlite3", config, self.time.clocks, redactor, alone=self.alone)


class SqliteAlone(Sqlite):
    """The only process on its file."""

    shared = False
    alone = True


class ServerTime(Time):
    """The same clocks, which Redis reads too: each is a key that the scripts look at in place of Redis' own clock."""

    def __init__(self, server: RedisServer) -> None:
        self._client = server.client()
        self._name = f"time-{uuid.uuid4().hex}"
        super().__init__()

    def __setattr__(self, name: str, value: object) -> None:
        super().__setattr__(name, value)
        if name in ("wall", "steady"):
            self._client.set(f"{self._name}-{name}", repr(value))

    @property
    def script_clock(self) -> ScriptClock:
        read = "tonumber(redis.call('GET', '%s-%s'))"
        return ScriptClock(wall=read % (self._name, "wall"), steady=read % (self._name, "steady"))


class Redis(Backend):
    """One of several replicas on a real server; the ledger is in a file."""

    shared = lasting = True
    slack = 10  # what has left Redis may still be in the map of this process, which has the same bounds

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self.server = running_redis()
        self.time: ServerTime = ServerTime(self.server)
        self.prefix = uuid.uuid4().hex

    def make(self, config: StoreConfig, redactor: Redactor) -> Store:
        # A busy machine may take its time: what a deadline does is tested elsewhere.
        options = RedisOptions(prefix=self.prefix, deadline_ms=NEVER_LATE)
        config = replace(config, redis=options)
        address = parse_address(self.server.url)
        hot = RedisStore(address, config, self.time.clocks, self.time.script_clock, beat_seconds=0.05)
        return ComposedStore(hot, SqliteStore(self.folder / "s.sqlite3", config, self.time.clocks, redactor))


class Postgres(Backend):
    """One of several replicas whose ledger is in a real server; the rest is in memory."""

    shared = lasting = True
    slack = 1024

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self.address = running_postgres().new_schema()

    def make(self, config: StoreConfig, redactor: Redactor) -> Store:
        config = replace(config, ledger=Secret(self.address))
        opening = StoreOpening(config, self.folder / "s.sqlite3", self.time.clocks, redactor)
        return ComposedStore(MemoryStore(config, self.time.clocks, redactor), open_part(opening))


_WHOLE: dict[str, type[Backend]] = {"memory": Memory, "sqlite": Sqlite, "sqlite-alone": SqliteAlone}
BACKENDS = {**_WHOLE, "redis": Redis}
LEDGERS = {**_WHOLE, "postgres": Postgres}
"""Where a ledger may be. Redis has none, and PostgreSQL has nothing else."""

OWNER = StateOwner("anna", "google", "gemini-3")
ORIGIN = Origin("gemini", "google", "gemini-3")


def parts(state: str = "signature", text: str | None = "Hm.") -> Parts:
    """Reasoning with its state, as a provider issues it."""
    words = Text(literal=f'"{text}"'.encode()) if text is not None else None
    return (Reasoning(text=words, state=Opaque(kind="thought", json=f'"{state}"'.encode(), origin=ORIGIN)),)


def entry(number: int, clock: Time, **fields: Any) -> Entry:
    return Entry(**{"id": f"r{number}", "time": clock.wall + number, "caller": "anna", **fields})


def lesson(name: str, time: Time, **fields: Any) -> LessonRecord:
    known = {"target": "groq/x", "facts": {"limit_name": name}, "learnt": time.wall, "expires": time.wall + 86_400}
    return LessonRecord(**{"name": name, **known, **fields})
