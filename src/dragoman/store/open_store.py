"""Which store a configuration asks for."""

from __future__ import annotations

from pathlib import Path

from msgspec import Struct

from dragoman.config.schema import Config, StoreKind
from dragoman.store.clock import REAL_CLOCKS, Clocks
from dragoman.store.errors import StoreError
from dragoman.store.memory.store import MemoryStore
from dragoman.store.redaction import Redactor
from dragoman.store.sqlite.store import SqliteStore
from dragoman.store.sqlite.tables import open_store_file
from dragoman.store.store import Store


class OpenedStore(Struct, frozen=True):
    """A store, and what its user should know about it."""

    store: Store
    warning: str | None = None


def open_store(
    config: Config,
    path: Path | None,
    clocks: Clocks = REAL_CLOCKS,
    *,
    redactor: Redactor | None = None,
    alone: bool = False,
) -> OpenedStore:
    """The store in a file, or in memory where there is no path or the file cannot be used. Never raises.

    `alone`: no other process is expected to use the file.
    """
    redactor = redactor or Redactor.of(config)
    if path is None:
        return OpenedStore(MemoryStore(config.store, clocks, redactor))
    try:
        return OpenedStore(SqliteStore(path, config.store, clocks, redactor, alone=alone))
    except StoreError as error:
        return OpenedStore(MemoryStore(config.store, clocks, redactor), f"state is kept in memory only: {error}")


def file_refusal(config: Config, path: Path | None) -> str | None:
    """Why a gateway should not start on this file, or None where it may.

    One worker on the default file falls back to memory. Where the configuration names the file, or where several
    workers must share it, a file that cannot be used is an error.
    """
    named = config.store.path is not None
    if path is None or (not named and config.server.workers == 1):
        return None
    try:
        open_store_file(path).close()
    except StoreError as error:
        return str(error) if named else f"{config.server.workers} workers must share one file, and {error}"
    return None


def memory_refusal(config: Config) -> str | None:
    """Why this many workers cannot run on memory alone, or None where they can."""
    if config.server.workers < 2 or config.store.kind is not StoreKind.MEMORY:
        return None
    limited = [name for name, key in config.keys.items() if key.limited()]
    reasons = []
    if config.store.vault.enabled:
        reasons.append("the vault (store.vault.enabled)")
    if config.store.responses.enabled:
        reasons.append("stored responses (store.responses.enabled)")
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
