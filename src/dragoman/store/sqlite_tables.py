"""The tables of the SQLite file, and how it is opened."""

from __future__ import annotations

import os
import sqlite3
import time
from contextlib import suppress
from pathlib import Path

from dragoman.errors import DragomanError

VERSION = 1
OPENING_ATTEMPTS = 100
OPENING_PAUSE = 0.05

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
    """A connection in WAL mode with its tables there; the file is readable by its owner alone.

    `wait` is how long a statement may wait for another worker's; opening itself may take longer.
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        _create_private(path)
        connection = _prepared(path, tables, durable)
        connection.execute(f"PRAGMA busy_timeout={int(wait * 1000)}")
    except (OSError, sqlite3.Error) as error:
        raise StoreError(f"{path} cannot be used as a store: {error}. Move it away or set store.path") from error
    return connection


def _prepared(path: Path, tables: str, durable: bool) -> sqlite3.Connection:
    """Switching to WAL does not wait for other workers that do the same, so it is tried until it is done."""
    for attempt in range(OPENING_ATTEMPTS):
        connection = sqlite3.connect(path, timeout=5.0, isolation_level=None, check_same_thread=False)
        try:
            connection.execute("PRAGMA journal_mode=WAL")
            connection.execute(f"PRAGMA synchronous={'NORMAL' if durable else 'OFF'}")
            _create(connection, tables, path)
            return connection
        except sqlite3.OperationalError as error:
            connection.close()
            if "locked" not in str(error) or attempt == OPENING_ATTEMPTS - 1:
                raise
            time.sleep(OPENING_PAUSE)
        except BaseException:
            connection.close()
            raise
    raise AssertionError("the last attempt returns or raises")


def _create_private(path: Path) -> None:
    """Make the file, if it is not there, for its owner alone.

    A file that is there is not opened: closing a second handle would drop the locks that SQLite holds on it in this
    process, and another worker could then take away the write-ahead log under us.
    """
    with suppress(FileExistsError):
        os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600))


def _create(connection: sqlite3.Connection, tables: str, path: Path) -> None:
    version = connection.execute("PRAGMA user_version").fetchone()[0]
    if version == VERSION:
        return
    if version > VERSION:
        raise StoreError(f"{path} was written by a newer Dragoman (version {version}); set store.path to another file")
    connection.executescript(f"BEGIN IMMEDIATE; {tables} PRAGMA user_version={VERSION}; COMMIT;")
