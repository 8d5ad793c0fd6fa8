"""The backends that the contract is tested on. A new one needs a class here and a line in `BACKENDS`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from dragoman.config.schema import StoreConfig
from dragoman.conversation.parts import Opaque, Origin, Reasoning, Text
from dragoman.engine.lesson_book import LessonRecord
from dragoman.store import (
    Caller,
    Clocks,
    Entry,
    MemoryStore,
    Parts,
    Redactor,
    SqliteStore,
    StateOwner,
    Store,
)

ADMIN = Caller("boss", admin=True)
ANNA, BERT = Caller("anna"), Caller("bert")
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
        store = self.make(StoreConfig(**settings), Redactor([SECRET]))
        self.stores.append(store)
        await store.start()
        return store

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


BACKENDS: dict[str, type[Backend]] = {"memory": Memory, "sqlite": Sqlite, "sqlite-alone": SqliteAlone}
SHARED = [name for name, one in BACKENDS.items() if one.shared]
LASTING = [name for name, one in BACKENDS.items() if one.lasting]

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
