"""Which store a configuration asks for."""

from __future__ import annotations

from dragoman.config.schema import Config, StoreKind
from dragoman.store.memory import MemoryStore
from dragoman.store.redaction import Redactor
from dragoman.store.sqlite import SqliteStore
from dragoman.store.store import Clock, Store


def open_store(config: Config, clock: Clock, *, workers: int | None = None, redactor: Redactor | None = None) -> Store:
    """The configured store, ready for use; `workers` where the command line says another number than the file."""
    redactor = redactor or Redactor.of(config)
    if config.store.kind is StoreKind.MEMORY:
        return MemoryStore(config.store, clock, redactor)
    count = config.server.workers if workers is None else workers
    return SqliteStore(config.store, clock, redactor, shared=count > 1)


def workers_need_sqlite(config: Config, workers: int | None = None) -> str | None:
    """Why this many workers cannot run on memory alone, or None when they can."""
    count = config.server.workers if workers is None else workers
    if count < 2 or config.store.kind is StoreKind.SQLITE:
        return None
    limited = [name for name, key in config.keys.items() if key.limited()]
    reasons = []
    if config.store.vault.enabled:
        reasons.append("the vault (store.vault.enabled)")
    if limited:
        reasons.append(f"the limits per minute of {', '.join(limited[:3])}{' …' if len(limited) > 3 else ''}")
    if not reasons:
        return None
    return (
        f"{count} workers would each have their own memory for {' and '.join(reasons)}. "
        "Set store.kind: sqlite, or run one worker"
    )
