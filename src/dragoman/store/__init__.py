"""State that outlives a request: ledger, vault, counters, lessons, pins and the file of refusals."""

from dragoman.store.failure_log import Failure, Failures, read_failure, read_failures, timestamp
from dragoman.store.ledger_entry import By, Caller, Entry, Totals
from dragoman.store.memory import MemoryStore
from dragoman.store.open_store import open_store, workers_need_sqlite
from dragoman.store.rate_windows import Allowed, Limited, Limits
from dragoman.store.redaction import Redactor, secrets_of
from dragoman.store.shelf import Shelf, pin_key
from dragoman.store.sqlite import SqliteStore
from dragoman.store.sqlite_tables import StoreError
from dragoman.store.store import Health, Store
from dragoman.store.vault import Kept

__all__ = [
    "Allowed",
    "By",
    "Caller",
    "Entry",
    "Failure",
    "Failures",
    "Health",
    "Kept",
    "Limited",
    "Limits",
    "MemoryStore",
    "Redactor",
    "Shelf",
    "SqliteStore",
    "Store",
    "StoreError",
    "Totals",
    "open_store",
    "pin_key",
    "read_failure",
    "read_failures",
    "secrets_of",
    "timestamp",
    "workers_need_sqlite",
]
