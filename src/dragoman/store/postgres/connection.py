"""Connections to the database: what may wait, and for how long. The only module that knows asyncpg."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from typing import Any, Protocol
from urllib.parse import urlsplit

import asyncpg

from dragoman.config.schema.store import PostgresOptions

CONNECT_SECONDS = 3.0
_VALUE_CLASSES = ("22", "23")
"""SQLSTATE classes of a value's own fault: data exceptions and integrity violations."""
NO_PARTITION = "23514"

Row = Mapping[str, Any]


class DatabaseConnection(Protocol):
    """What is used of a connection."""

    async def execute(self, statement: str, *values: object) -> str: ...

    async def fetch(self, statement: str, *values: object) -> Sequence[Row]: ...

    async def copy_records_to_table(
        self, table_name: str, *, records: Iterable[tuple[object, ...]], columns: Sequence[str]
    ) -> str: ...

    def transaction(self) -> AbstractAsyncContextManager[object]: ...

    def is_closed(self) -> bool: ...

    def terminate(self) -> None: ...

    async def close(self, *, timeout: float | None = None) -> None: ...  # noqa: ASYNC109 (asyncpg's own)


class ConnectionPool(Protocol):
    """Connections for questions."""

    def acquire(self, *, timeout: float | None = None) -> AbstractAsyncContextManager[DatabaseConnection]: ...

    def terminate(self) -> None: ...


async def connect(address: str, options: PostgresOptions) -> DatabaseConnection:
    """A connection of its own, for the writer."""
    connection: DatabaseConnection = await asyncpg.connect(address, **_settings(options))
    return connection


async def open_pool(address: str, options: PostgresOptions) -> ConnectionPool:
    """Connections for questions; each is made when it is needed."""
    pool: ConnectionPool = await asyncpg.create_pool(
        address, min_size=0, max_size=options.connections, **_settings(options)
    )
    return pool


def _settings(options: PostgresOptions) -> dict[str, Any]:
    milliseconds = str(int(options.timeout * 1000))
    return {
        "timeout": CONNECT_SECONDS,
        "command_timeout": options.timeout + 1.0,
        "server_settings": {
            "application_name": "dragoman",
            "statement_timeout": milliseconds,
            "lock_timeout": milliseconds,
            "idle_in_transaction_session_timeout": str(int(options.timeout * 4000)),
        },
    }


def is_a_values_fault(error: Exception) -> bool:
    """Whether a value is to blame, not the server or the way to it."""
    if isinstance(error, asyncpg.InterfaceError | OSError):
        return isinstance(error, asyncpg.DataError | ValueError)
    state: str | None = getattr(error, "sqlstate", None)
    if state is not None:
        return state != NO_PARTITION and state.startswith(_VALUE_CLASSES)
    return isinstance(error, ValueError | TypeError | OverflowError)


def lacks_partition(error: Exception) -> bool:
    """Whether the partition of a row is not there: another replica has removed it."""
    return getattr(error, "sqlstate", None) == NO_PARTITION


def place_of(address: str) -> str:
    """The address without user, password and options, for people."""
    parts = urlsplit(address)
    hosts = parts.netloc.rpartition("@")[2]
    return f"postgresql://{hosts}{parts.path}"
