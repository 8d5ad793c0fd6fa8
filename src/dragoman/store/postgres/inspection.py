"""What an operator should know about the PostgreSQL that keeps the ledger. Nothing is changed there."""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Iterator

from dragoman.config.schema.store import PostgresOptions
from dragoman.store.contracts.server_findings import Gravity, ServerFinding
from dragoman.store.postgres.connection import DatabaseConnection, Row, connect, place_of
from dragoman.store.postgres.migrations import MIGRATIONS, TablesVersion, tables_version
from dragoman.store.shared_backends import StoreOpening

OLDEST = 110_000
"""`server_version_num` of 11, the first with keys over partitions."""
_STATE = """
SELECT current_setting('server_version') AS version,
       current_setting('server_version_num')::integer AS number,
       pg_is_in_recovery() OR current_setting('transaction_read_only')::boolean AS is_read_only,
       current_schema()::text AS schema,
       has_schema_privilege(current_schema(), 'CREATE') AS may_create,
       current_setting('fsync')::boolean AND current_setting('full_page_writes')::boolean AS is_safe,
       current_setting('max_connections')::integer AS most,
       (SELECT count(*) FROM pg_stat_activity WHERE backend_type = 'client backend') AS used,
       to_regclass('dragoman_schema') IS NOT NULL AS has_tables"""
_LOGIN = ("28000", "28P01")


async def inspect(opening: StoreOpening, seconds: float) -> tuple[ServerFinding, ...]:
    """Ask the database of `store.ledger` how it is."""
    assert opening.config.ledger is not None
    address = opening.config.ledger.reveal()
    try:
        async with asyncio.timeout(seconds):
            connection = await connect(address, opening.config.postgres)
            try:
                return await _ask(connection, place_of(address), opening.config.postgres)
            finally:
                connection.terminate()
    except Exception as error:  # a host that is unknown, a password that is wrong, a proxy that is no database
        return (_report_unreached(place_of(address), error, seconds),)


def _report_unreached(place: str, error: Exception, seconds: float) -> ServerFinding:
    if isinstance(error, TimeoutError):
        reason = f"did not answer within {seconds:g} s"
    elif isinstance(error, OSError) and error.errno:
        reason = f"cannot be reached: {os.strerror(error.errno)}"
    else:
        reason = f"cannot be used: {error or type(error).__name__}"
    cure = "is it running, and does store.ledger name its address? Until it answers, entries wait on the disk"
    if getattr(error, "sqlstate", None) in _LOGIN:
        cure = "check user and password of store.ledger"
    return ServerFinding("", Gravity.FAULT, f"{place} {reason}", cure)


async def _ask(connection: DatabaseConnection, place: str, options: PostgresOptions) -> tuple[ServerFinding, ...]:
    started = time.perf_counter()
    await connection.fetch("SELECT 1")
    taken = (time.perf_counter() - started) * 1000
    [row] = await connection.fetch(_STATE)
    tables = await tables_version(connection) if row["has_tables"] else TablesVersion(0, 0)
    answers = ServerFinding("", Gravity.GOOD, f"{place} answers in {taken:.2g} ms")
    return answers, *_findings(row, tables, options)


def _findings(row: Row, tables: TablesVersion, options: PostgresOptions) -> Iterator[ServerFinding]:
    old = row["number"] < OLDEST
    cure = "use PostgreSQL 11 or later" if old else ""
    yield ServerFinding("version", Gravity.FAULT if old else Gravity.GOOD, f"PostgreSQL {row['version']}", cure)
    yield _writing(row)
    yield _tables(tables)
    yield _safety(row)
    yield _room(row, options)


def _writing(row: Row) -> ServerFinding:
    if row["is_read_only"]:
        return ServerFinding("writing", Gravity.FAULT, "takes no writes", "name the primary in store.ledger")
    if row["schema"] is None:
        cure = "create the schema, or leave search_path out of store.ledger"
        return ServerFinding("writing", Gravity.FAULT, "the search_path names no schema that is there", cure)
    if not row["may_create"]:
        text = f"this user may not create tables in the schema {row['schema']}; each day needs one"
        return ServerFinding("writing", Gravity.FAULT, text, f"GRANT CREATE ON SCHEMA {row['schema']} TO that user")
    return ServerFinding("writing", Gravity.GOOD, f"tables can be made in the schema {row['schema']}")


def _tables(tables: TablesVersion) -> ServerFinding:
    known = len(MIGRATIONS)
    if (why := tables.too_new) is not None:
        return ServerFinding("tables", Gravity.FAULT, why)
    if not tables.version:
        return ServerFinding("tables", Gravity.GOOD, "none yet; the first gateway makes them")
    if tables.version < known:
        text = f"version {tables.version} of {known}; the next gateway that starts brings them up to date"
        return ServerFinding("tables", Gravity.GOOD, text)
    newer = f"; a newer dragoman made them, and this one (which knows {known}) may use them"
    text = f"version {tables.version}" + (newer if tables.version > known else ", up to date")
    return ServerFinding("tables", Gravity.GOOD, text)


def _safety(row: Row) -> ServerFinding:
    if row["is_safe"]:
        return ServerFinding("persistence", Gravity.GOOD, "survives a crash")
    text = "fsync or full_page_writes is off: a crash of the machine may destroy the ledger"
    return ServerFinding("persistence", Gravity.RISK, text, "turn both on")


def _room(row: Row, options: PostgresOptions) -> ServerFinding:
    """One process of the gateway needs one connection that writes, and some for questions."""
    free, needed = row["most"] - row["used"], options.connections + 1
    text = f"{row['used']} of {row['most']} in use; a process of the gateway takes up to {needed}"
    if free >= needed:
        return ServerFinding("connections", Gravity.GOOD, text)
    cure = "raise max_connections, or lower store.postgres.connections"
    return ServerFinding("connections", Gravity.RISK, text, cure)
