"""Which store a configuration asks for."""

from __future__ import annotations

from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from dragoman.config.schema.config_file import Config
from dragoman.config.schema.store import StoreKind
from dragoman.store.clock import REAL_CLOCKS, Clocks
from dragoman.store.composed_store import ComposedStore, join_places
from dragoman.store.errors import StoreError
from dragoman.store.journals.redaction import Redactor
from dragoman.store.memory.store import MemoryStore
from dragoman.store.settings import options_of
from dragoman.store.shared_backends import StoreOpening, open_hot, open_ledger
from dragoman.store.sqlite.store import SqliteStore
from dragoman.store.sqlite.tables import open_store_file
from dragoman.store.store import Store


class OpenedStore(Struct, frozen=True):
    """A store, and what its user should know about it."""

    store: Store
    fault: str | None = None
    """Why it is not the one that was asked for."""
    effect: str = ""

    @property
    def warning(self) -> str | None:
        return None if self.fault is None else f"{self.effect}: {self.fault}"


def open_store(
    config: Config,
    path: Path | None,
    clocks: Clocks = REAL_CLOCKS,
    *,
    redactor: Redactor | None = None,
    alone: bool = False,
) -> OpenedStore:
    """The store that the configuration asks for. Never raises: what cannot be opened is kept by this process alone.

    `store.hot` and `store.ledger` name servers that replicas share. What neither of them keeps is in the file, or in
    memory if there is no path or the file cannot be used. `alone`: no other process is expected to use the file.
    """
    redactor = redactor or Redactor.of(config)
    opening = StoreOpening(options_of(config), path, clocks, redactor)
    try:
        hot, ledger = open_hot(opening), open_ledger(opening)
    except StoreError as error:
        opened = _open_own(config, path, clocks, redactor, alone)
        return OpenedStore(opened.store, str(error), "state is not shared")
    if hot is not None and ledger is not None:
        return OpenedStore(ComposedStore(hot, ledger))
    opened = _open_own(config, path, clocks, redactor, alone)
    if hot is None and ledger is None:
        return opened
    return replace(opened, store=ComposedStore(hot or opened.store, ledger or opened.store))


def _open_own(config: Config, path: Path | None, clocks: Clocks, redactor: Redactor, alone: bool) -> OpenedStore:
    """The store of this process or this machine: a file, or memory."""
    if path is None:
        return OpenedStore(MemoryStore(options_of(config), clocks, redactor))
    try:
        return OpenedStore(SqliteStore(path, options_of(config), clocks, redactor, alone=alone))
    except StoreError as error:
        memory = MemoryStore(options_of(config), clocks, redactor)
        return OpenedStore(memory, str(error), "state is kept in memory only")


def place_of_store(config: Config, path: Path | None) -> str:
    """Where a gateway with this configuration keeps its state, in words for people.

    Raises StoreError if it cannot use the servers that are named. One that cannot be reached is no reason: it may come,
    and until then each replica goes by itself.
    """
    opening = StoreOpening(options_of(config), path, REAL_CLOCKS, Redactor.of(config))
    hot, ledger = open_hot(opening), open_ledger(opening)
    own = str(path or "memory")
    if hot is None and ledger is None:
        return own
    return join_places(own if hot is None else hot.place, own if ledger is None else ledger.place)


def file_refusal(config: Config, path: Path | None) -> str | None:
    """Why a gateway should not start on this file, or None if it may.

    One worker on the default file falls back to memory. If the configuration names the file, or if several
    workers must share it, a file that cannot be used is an error. If servers hold all of the store, there is none.
    """
    if config.store.hot is not None and config.store.ledger is not None:
        return None
    named = config.store.path is not None
    if path is None or (not named and config.server.workers == 1):
        return None
    try:
        open_store_file(path).close()
    except StoreError as error:
        return str(error) if named else f"{config.server.workers} workers must share one file, and {error}"
    return None


def memory_refusal(config: Config) -> str | None:
    """Why this many workers cannot run on memory alone, or None if they can."""
    if config.server.workers < 2 or config.store.kind is not StoreKind.MEMORY or config.store.hot is not None:
        return None
    limited = [name for name, key in config.keys.items() if key.is_limited()]
    reasons = []
    if config.store.vault.enabled:
        reasons.append("the vault (store.vault.enabled)")
    if config.state.enabled:
        reasons.append("conversations (state)")
    if limited:
        reasons.append(f"the limits per minute of {', '.join(limited[:3])}{' …' if len(limited) > 3 else ''}")
    if paced := [name for name, model in config.models.items() if model.rate_limits is not None]:
        reasons.append(f"the rate_limits of {', '.join(paced[:3])}{' …' if len(paced) > 3 else ''}")
    if budgeted := [name for name, key in config.keys.items() if key.budget is not None]:
        reasons.append(f"the budgets of {', '.join(budgeted[:3])}{' …' if len(budgeted) > 3 else ''}")
    if not reasons:
        return None
    return (
        f"{config.server.workers} workers would each have their own memory for {' and '.join(reasons)}. "
        "Remove store.kind: memory, or run one worker"
    )
