"""The ledger in the file."""

from __future__ import annotations

import sqlite3
from functools import partial
from typing import Any

import msgspec

from dragoman.store.clock import Clock
from dragoman.store.contracts.ledger import LedgerQuery, position_of
from dragoman.store.ledger_entry import By, Entry, Totals, Viewer
from dragoman.store.memory.ledger import DAY
from dragoman.store.near_ledger import PAGE_BYTES
from dragoman.store.settings import StoreSettings
from dragoman.store.sqlite.database import Database
from dragoman.store.sqlite.writer import Sweep, WriteJob

SWEEP_EVERY = 256
"""Entries between two sweeps: the file may hold so many more than `store.keep_requests`."""
TOPIC = "requests"

_RECORD = (
    "INSERT OR REPLACE INTO requests (id, time, caller, target, asked, failed, input, output, cached, reasoning, cost, "
    "estimated, estimated_cost, unpriced, seconds, entry) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
)
_REPORT = "SELECT entry FROM requests WHERE id = ? AND time >= ?"
_FORGET = "DELETE FROM requests WHERE caller = ?"
_TOO_OLD = "DELETE FROM requests WHERE time < ?"
_TOO_MANY = "DELETE FROM requests WHERE number <= (SELECT max(number) FROM requests) - ?"
_WHERE = """
FROM requests WHERE time >= :since AND (:until IS NULL OR time < :until)
AND (:caller IS NULL OR caller = :caller) AND (:target IS NULL OR target = :target)
AND (:asked IS NULL OR asked = :asked) AND (:failed IS NULL OR failed = :failed)
"""
_OWN = "AND caller = :viewer "
_REST = "AND (time, id) < (:time, :id) "
_PAGE = "ORDER BY time DESC, id DESC LIMIT :limit"
_SUMS = (
    "SELECT {group} AS name, count(*), sum(failed), sum(input), sum(output), sum(cached), sum(reasoning), "
    "sum(seconds), sum(cost), sum(estimated), sum(estimated_cost), sum(unpriced) "
)
_GROUPS = {
    By.TARGET: "target",
    By.CALLER: "caller",
    By.ASKED: "asked",
    By.DAY: "date(CAST(time AS INTEGER), 'unixepoch')",
}

_encode = msgspec.msgpack.Encoder().encode
_decode = msgspec.msgpack.Decoder(Entry).decode


class SqliteLedger:
    """`SharedLedger` in the file."""

    def __init__(self, database: Database, settings: StoreSettings, clock: Clock) -> None:
        self._database = database
        self._settings = settings
        self._clock = clock
        self.written = database.written
        database.add_sweep(Sweep(TOPIC, SWEEP_EVERY, self._sweep))

    def write(self, entry: Entry) -> None:
        row = (entry.id, entry.time, entry.caller, entry.target, entry.asked, int(entry.failed))
        tokens = (entry.input_tokens, entry.output_tokens, entry.cached_tokens, entry.reasoning_tokens)
        spent = (entry.cost or 0.0, int(entry.estimated), entry.estimated_cost, int(entry.unpriced))
        values = (*row, *tokens, *spent, entry.duration, entry)
        self._database.write(WriteJob(_RECORD, values, _encode, TOPIC, entry.weight()))

    async def find(self, request_id: str, oldest: float) -> Entry | None:
        return await self._database.report(partial(_read_one, request_id, oldest))

    async def page(self, viewer: Viewer, query: LedgerQuery, oldest: float) -> tuple[list[Entry], bool]:
        return await self._database.report(partial(_read_page, _values(viewer, query, oldest), viewer.admin))

    async def totals(self, viewer: Viewer, by: By, query: LedgerQuery, oldest: float) -> tuple[Totals, ...]:
        read = partial(_read_totals, _values(viewer, query, oldest), viewer.admin, by)
        return tuple(Totals(*row) for row in await self._database.report(read))

    async def forget(self, caller: str) -> int:
        count = await self._database.report(partial(_count, caller))
        self._database.write(WriteJob(_FORGET, (caller,)))
        return count

    def _sweep(self, connection: sqlite3.Connection) -> None:
        config = self._settings.config
        connection.execute(_TOO_OLD, (self._clock() - config.keep_days * DAY,))
        connection.execute(_TOO_MANY, (config.keep_requests,))


def _values(viewer: Viewer, query: LedgerQuery, oldest: float) -> dict[str, Any]:
    position = position_of(query.after)
    return {
        "since": max(oldest, query.since or 0.0),
        "until": query.until,
        "caller": query.caller,
        "target": query.target,
        "asked": query.asked,
        "failed": None if query.failed is None else int(query.failed),
        "viewer": viewer.name,
        "time": position[0] if position is not None else None,
        "id": position[1] if position is not None else None,
        "limit": query.page_size() + 1,
    }


def _count(caller: str, connection: sqlite3.Connection) -> int:
    count: int = connection.execute("SELECT count(*) FROM requests WHERE caller = ?", (caller,)).fetchone()[0]
    return count


def _read_one(request_id: str, since: float, connection: sqlite3.Connection) -> Entry | None:
    row = connection.execute(_REPORT, (request_id, since)).fetchone()
    return _decode(row[0]) if row is not None else None


def _read_page(values: dict[str, Any], admin: bool, connection: sqlite3.Connection) -> tuple[list[Entry], bool]:
    """The entries of a page, and whether there are more than their size allows."""
    rest = _REST if values["time"] is not None else ""
    statement = "SELECT entry" + _WHERE + ("" if admin else _OWN) + rest + _PAGE
    found: list[Entry] = []
    size = 0
    for (entry,) in connection.execute(statement, values):
        size += len(entry)
        if found and size > PAGE_BYTES:
            return found, True
        found.append(_decode(entry))
    return found, False


def _read_totals(values: dict[str, Any], admin: bool, by: By, connection: sqlite3.Connection) -> list[Any]:
    sums = _SUMS.format(group=_GROUPS[by])
    statement = sums + _WHERE + ("" if admin else _OWN) + "GROUP BY name ORDER BY count(*) DESC, name"
    return connection.execute(statement, values).fetchall()
