"""The tables of the SQLite files, and how a file is opened."""

from __future__ import annotations

import os
import sqlite3
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import NamedTuple

from dragoman.store.errors import StoreError

OPENING_ATTEMPTS = 100
OPENING_PAUSE = 0.05


class Tables(NamedTuple):
    """What a file holds."""

    version: int
    statements: tuple[str, ...]
    """Which make the tables."""
    tidy: str = ""
    """A statement that runs whenever the file is opened."""


STORE = Tables(
    4,
    (
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
    cost REAL NOT NULL,
    estimated INTEGER NOT NULL,
    estimated_cost REAL NOT NULL,
    unpriced INTEGER NOT NULL,
    seconds REAL NOT NULL,
    entry BLOB NOT NULL
)""",
        "CREATE INDEX requests_by_time ON requests (time)",
        "CREATE INDEX requests_by_caller ON requests (caller, time)",
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
    ),
)
BUDGETS = Tables(
    1,
    (
        """
CREATE TABLE budgets (
    key TEXT NOT NULL,
    period TEXT NOT NULL,
    amount REAL NOT NULL,
    PRIMARY KEY (key, period)
) WITHOUT ROWID""",
    ),
    "DELETE FROM budgets WHERE period LIKE 'day %' AND period < 'day ' || date('now', '-400 days')",
)


def open_store_file(path: Path, *, wait: float = 5.0) -> sqlite3.Connection:
    """A connection to the file of the store. `wait`: seconds that a statement may wait for another worker's."""
    return _open(path, STORE, wait)


def open_budgets(path: Path, *, wait: float) -> sqlite3.Connection:
    """A connection to the file of the budgets."""
    return _open(path, BUDGETS, wait)


def _open(path: Path, tables: Tables, wait: float) -> sqlite3.Connection:
    """A connection in WAL mode with its tables there; the file is readable by its owner alone."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        _create_private(path)
        connection = _prepare(path, tables)
        connection.execute(f"PRAGMA busy_timeout={int(wait * 1000)}")
    except (OSError, sqlite3.Error) as error:
        raise StoreError(f"{path} cannot be used as a store: {error}. Move it away or set store.path") from error
    return connection


def _prepare(path: Path, tables: Tables) -> sqlite3.Connection:
    """Switching to WAL does not wait for other workers that do the same, so it is tried until it is done."""
    for attempt in range(OPENING_ATTEMPTS):
        connection = sqlite3.connect(path, timeout=5.0, isolation_level=None, check_same_thread=False)
        try:
            _refuse_foreign(connection, tables.version)
            connection.execute("PRAGMA journal_mode=WAL")
            connection.execute("PRAGMA synchronous=NORMAL")
            _make(connection, tables)
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


def _refuse_foreign(connection: sqlite3.Connection, known: int) -> None:
    """Raise for a file that is not ours to write, before a byte of it is changed."""
    connection.execute("BEGIN")  # both answers are of the same moment: another worker may be making the tables
    version = _version(connection)
    tables = connection.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]
    connection.execute("COMMIT")
    if version > known:
        raise sqlite3.DatabaseError(f"it was written by a newer Dragoman (version {version})")
    if 0 < version < known:
        raise sqlite3.DatabaseError(f"it was written by a Dragoman from before its first release (version {version})")
    if version == 0 and tables:
        raise sqlite3.DatabaseError("it belongs to another program")


def inode(path: Path) -> tuple[int, int] | None:
    """What tells a file from another one of the same name; None if there is none."""
    try:
        found = os.stat(path)
    except OSError:
        return None
    return found.st_dev, found.st_ino


def _make(connection: sqlite3.Connection, tables: Tables) -> None:
    """Make the tables, unless they are there: another worker may have been quicker."""
    if _version(connection) == tables.version and not tables.tidy:
        return
    with transaction(connection) as run:
        if _version(connection) != tables.version:
            for statement in tables.statements:
                run(statement)
            run(f"PRAGMA user_version={tables.version}")
        if tables.tidy:
            run(tables.tidy)


@contextmanager
def transaction(connection: sqlite3.Connection) -> Iterator[Callable[..., sqlite3.Cursor]]:
    """A transaction that writes: what is run in it is kept as a whole, or not at all."""
    connection.execute("BEGIN IMMEDIATE")
    try:
        yield connection.execute
        connection.execute("COMMIT")
    except BaseException:
        with suppress(sqlite3.Error):
            connection.execute("ROLLBACK")
        raise


def _version(connection: sqlite3.Connection) -> int:
    version: int = connection.execute("PRAGMA user_version").fetchone()[0]
    return version
