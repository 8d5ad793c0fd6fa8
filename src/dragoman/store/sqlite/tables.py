"""The tables of the SQLite files, and how a file is opened."""

from __future__ import annotations

import os
import sqlite3
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from dragoman.store.errors import StoreError

OPENING_ATTEMPTS = 100
OPENING_PAUSE = 0.05

_FIRST = (
    """
CREATE TABLE requests (
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
)""",
    "CREATE INDEX requests_by_time ON requests (time)",
    "CREATE INDEX requests_by_caller ON requests (caller, time)",
    """
CREATE TABLE vault (
    caller TEXT NOT NULL,
    provider TEXT NOT NULL,
    scope TEXT NOT NULL,
    key TEXT NOT NULL,
    kind TEXT NOT NULL,
    value BLOB NOT NULL,
    used REAL NOT NULL,
    PRIMARY KEY (caller, provider, scope, key)
)""",
    "CREATE TABLE notes (shelf TEXT, key TEXT, value BLOB, time REAL, PRIMARY KEY (shelf, key))",
)
_SECOND = (
    """
CREATE TABLE state (
    kind TEXT NOT NULL,
    caller TEXT NOT NULL,
    place TEXT NOT NULL,
    key TEXT NOT NULL,
    value BLOB NOT NULL,
    used REAL NOT NULL,
    PRIMARY KEY (kind, caller, place, key)
)""",
    "CREATE INDEX state_by_use ON state (kind, used)",
    """
CREATE TABLE lessons (
    target TEXT NOT NULL,
    name TEXT NOT NULL,
    caller TEXT NOT NULL,
    learnt REAL NOT NULL,
    expires REAL NOT NULL,
    record BLOB NOT NULL,
    PRIMARY KEY (target, name, caller)
)""",
    "INSERT INTO state SELECT 'reasoning', caller, provider || char(31) || scope, key, value, used FROM vault",
    "DROP TABLE vault",
    "DROP TABLE notes",  # lessons without a state or an expiry, learnt again from the next refusal
)
_THIRD = (
    "ALTER TABLE requests ADD COLUMN cost REAL NOT NULL DEFAULT 0",
    "ALTER TABLE requests ADD COLUMN estimated INTEGER NOT NULL DEFAULT 0",
    "ALTER TABLE requests ADD COLUMN estimated_cost REAL NOT NULL DEFAULT 0",
    "ALTER TABLE requests ADD COLUMN unpriced INTEGER NOT NULL DEFAULT 0",
)
MIGRATIONS = (_FIRST, _SECOND, _THIRD)
"""What takes a file from each version to the next."""

COUNTERS_VERSION = 2
COUNTERS = """
CREATE TABLE counters (
    key TEXT NOT NULL,
    slice INTEGER NOT NULL,
    requests INTEGER NOT NULL,
    tokens INTEGER NOT NULL,
    PRIMARY KEY (key, slice)
) WITHOUT ROWID
"""

BUDGETS_VERSION = 1
BUDGETS = """
CREATE TABLE budgets (
    key TEXT NOT NULL,
    period TEXT NOT NULL,
    amount REAL NOT NULL,
    PRIMARY KEY (key, period)
) WITHOUT ROWID
"""
_OVER = "DELETE FROM budgets WHERE period LIKE 'day %' AND period < 'day ' || date('now', '-400 days')"

Preparation = Callable[[sqlite3.Connection], None]
"""Brings the tables of a file up to date. It runs inside a transaction."""


def open_store_file(path: Path, *, wait: float = 5.0) -> sqlite3.Connection:
    """A connection to the file of the store. `wait`: seconds that a statement may wait for another worker's."""
    return _open(path, _migrate, len(MIGRATIONS), wait=wait, durable=True)


def open_counters(path: Path, *, wait: float) -> sqlite3.Connection:
    """A connection to the file of the limits. Nobody flushes it to the disk: a lost minute of counts is no loss."""
    return _open(path, _make_counters, COUNTERS_VERSION, wait=wait, durable=False)


def open_budgets(path: Path, *, wait: float) -> sqlite3.Connection:
    """A connection to the file of the budgets."""
    return _open(path, _make_budgets, BUDGETS_VERSION, wait=wait, durable=True)


def _open(path: Path, prepare: Preparation, newest: int, *, wait: float, durable: bool) -> sqlite3.Connection:
    """A connection in WAL mode with its tables there; the file is readable by its owner alone."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        _create_private(path)
        connection = _prepared(path, prepare, newest, durable)
        connection.execute(f"PRAGMA busy_timeout={int(wait * 1000)}")
    except (OSError, sqlite3.Error) as error:
        raise StoreError(f"{path} cannot be used as a store: {error}. Move it away or set store.path") from error
    return connection


def _prepared(path: Path, prepare: Preparation, newest: int, durable: bool) -> sqlite3.Connection:
    """Switching to WAL does not wait for other workers that do the same, so it is tried until it is done."""
    for attempt in range(OPENING_ATTEMPTS):
        connection = sqlite3.connect(path, timeout=5.0, isolation_level=None, check_same_thread=False)
        try:
            _refuse_foreign(connection, newest)
            connection.execute("PRAGMA journal_mode=WAL")
            connection.execute(f"PRAGMA synchronous={'NORMAL' if durable else 'OFF'}")
            prepare(connection)
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


def _refuse_foreign(connection: sqlite3.Connection, newest: int) -> None:
    """Raise for a file that is not ours to write, before a byte of it is changed."""
    connection.execute("BEGIN")  # both answers are of the same moment: another worker may be making the tables
    version = _version(connection)
    tables = connection.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]
    connection.execute("COMMIT")
    if version > newest:
        raise sqlite3.DatabaseError(f"it was written by a newer Dragoman (version {version})")
    if version == 0 and tables:
        raise sqlite3.DatabaseError("it belongs to another program")


def inode(path: Path) -> tuple[int, int] | None:
    """What tells a file from another one of the same name; None where there is none."""
    try:
        found = os.stat(path)
    except OSError:
        return None
    return found.st_dev, found.st_ino


def _migrate(connection: sqlite3.Connection) -> None:
    newest = len(MIGRATIONS)
    if _version(connection) == newest:
        return
    connection.execute("BEGIN IMMEDIATE")
    for statements in MIGRATIONS[_version(connection) :]:  # another worker may have been quicker
        for statement in statements:
            connection.execute(statement)
    connection.execute(f"PRAGMA user_version={newest}")
    connection.execute("COMMIT")


def _make_counters(connection: sqlite3.Connection) -> None:
    if _version(connection) == COUNTERS_VERSION:
        return
    connection.execute("BEGIN IMMEDIATE")
    if _version(connection) != COUNTERS_VERSION:
        connection.execute("DROP TABLE IF EXISTS counters")
        connection.execute(COUNTERS)
        connection.execute(f"PRAGMA user_version={COUNTERS_VERSION}")
    connection.execute("COMMIT")


def _make_budgets(connection: sqlite3.Connection) -> None:
    connection.execute("BEGIN IMMEDIATE")
    if _version(connection) != BUDGETS_VERSION:
        connection.execute(BUDGETS)
        connection.execute(f"PRAGMA user_version={BUDGETS_VERSION}")
    connection.execute(_OVER)
    connection.execute("COMMIT")


def _version(connection: sqlite3.Connection) -> int:
    version: int = connection.execute("PRAGMA user_version").fetchone()[0]
    return version
