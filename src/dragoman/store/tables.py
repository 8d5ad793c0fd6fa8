"""The tables of the SQLite file, and how it is opened."""

from __future__ import annotations

import os
import sqlite3
from pathlib import Path

from dragoman.errors import DragomanError

VERSION = 1

TABLES = """
CREATE TABLE IF NOT EXISTS requests (
    number INTEGER PRIMARY KEY AUTOINCREMENT,
    id TEXT NOT NULL UNIQUE,
    time REAL NOT NULL,
    caller TEXT NOT NULL,
    target TEXT NOT NULL,
    asked TEXT NOT NULL,
    failed INTEGER NOT NULL,
    input INTEGER NOT NULL,
    output INTEGER NOT NULL,
    cached INTEGER NOT NULL,
    reasoning INTEGER NOT NULL,
    seconds REAL NOT NULL,
    entry BLOB NOT NULL
);
CREATE INDEX IF NOT EXISTS requests_by_time ON requests (time);
CREATE INDEX IF NOT EXISTS requests_by_caller ON requests (caller, time);
CREATE TABLE IF NOT EXISTS vault (
    caller TEXT NOT NULL,
    provider TEXT NOT NULL,
    scope TEXT NOT NULL,
    key TEXT NOT NULL,
    kind TEXT NOT NULL,
    value BLOB NOT NULL,
    used REAL NOT NULL,
    PRIMARY KEY (caller, provider, scope, key)
);
CREATE INDEX IF NOT EXISTS vault_by_use ON vault (used);
CREATE INDEX IF NOT EXISTS vault_by_caller ON vault (caller, used);
CREATE TABLE IF NOT EXISTS notes (
    shelf TEXT NOT NULL,
    key TEXT NOT NULL,
    value BLOB NOT NULL,
    time REAL NOT NULL,
    PRIMARY KEY (shelf, key)
);
"""

COUNTERS = """
CREATE TABLE IF NOT EXISTS counters (
    key TEXT NOT NULL,
    slice INTEGER NOT NULL,
    requests INTEGER NOT NULL,
    tokens INTEGER NOT NULL,
    PRIMARY KEY (key, slice)
) WITHOUT ROWID;
"""


class StoreError(DragomanError):
    """The file cannot be used as a store; the message says what to do."""


def open_database(path: Path, tables: str, *, wait: float = 5.0, durable: bool = True) -> sqlite3.Connection:
    """A connection in WAL mode with its tables there; the file is readable by its owner alone."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        os.close(os.open(path, os.O_CREAT | os.O_RDWR, 0o600))
        connection = sqlite3.connect(path, timeout=wait, isolation_level=None, check_same_thread=False)
        connection.execute("PRAGMA journal_mode=WAL")
        connection.execute(f"PRAGMA synchronous={'NORMAL' if durable else 'OFF'}")
        _create(connection, tables, path)
    except (OSError, sqlite3.Error) as error:
        raise StoreError(f"{path} cannot be used as a store: {error}. Move it away or set store.path") from error
    return connection


def _create(connection: sqlite3.Connection, tables: str, path: Path) -> None:
    version = connection.execute("PRAGMA user_version").fetchone()[0]
    if version == VERSION:
        return
    if version > VERSION:
        raise StoreError(f"{path} was written by a newer Dragoman (version {version}); set store.path to another file")
    connection.executescript(f"BEGIN IMMEDIATE; {tables} PRAGMA user_version={VERSION}; COMMIT;")
