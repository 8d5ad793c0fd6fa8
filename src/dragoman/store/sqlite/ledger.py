"""The ledger in the file, with the last requests in memory too."""

from __future__ import annotations

import sqlite3
from functools import partial
from typing import Any

import msgspec

from dragoman.store.ledger import EVERYTHING, LedgerPage, LedgerQuery, cursor_of, position_of
from dragoman.store.ledger_entry import By, Caller, Entry, Totals, sanitized
from dragoman.store.memory.ledger import LedgerMemory, page
from dragoman.store.redaction import Redactor
from dragoman.store.settings import StoreSettings
from dragoman.store.sqlite.database import Database
from dragoman.store.sqlite.writer import Sweep, WriteJob

SWEEP_EVERY = 256
"""Entries between two sweeps: the file may hold so many more than `store.keep_requests`."""
NEAR_ENTRIES = 512
"""Requests in memory, so that each can be read before it is written."""
NEAR_BYTES = 16 * 1024 * 1024
PAGE_BYTES = 16 * 1024 * 1024
"""Of entries that are read for one page; bodies may be among them. A page that would be larger is shorter."""
FLUSH_DEADLINE = 2.0
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
    """`Ledger` in the file."""

    def __init__(self, database: Database, near: LedgerMemory, settings: StoreSettings, redactor: Redactor) -> None:
        self._database = database
        self._near = near
        self._settings = settings
        self._redactor = redactor
        database.add_sweep(Sweep(TOPIC, SWEEP_EVERY, self._sweep))

    def record(self, entry: Entry) -> None:
        entry = sanitized(entry, self._redactor, self._settings.config.keep_bodies)
        self._near.put(entry)
        row = (entry.id, entry.time, entry.caller, entry.target, entry.asked, int(entry.failed))
        tokens = (entry.input_tokens, entry.output_tokens, entry.cached_tokens, entry.reasoning_tokens)
        spent = (entry.cost or 0.0, int(entry.estimated), entry.estimated_cost, int(entry.unpriced))
        values = (*row, *tokens, *spent, entry.duration, entry)
        self._database.write(WriteJob(_RECORD, values, _encode, TOPIC, entry.weight()))

    async def report(self, request_id: str, viewer: Caller) -> Entry | None:
        near = self._near.report(request_id, viewer)
        if near is not None:
            return near
        entry = await self._database.report(partial(_read_one, request_id, self._near.oldest()))
        return entry if entry is not None and viewer.may_see(entry) else None

    async def recent(self, viewer: Caller, query: LedgerQuery = EVERYTHING) -> LedgerPage:
        """A page of the file, with what is not written yet."""
        rows, rest = await self._database.report(partial(_read_page, self._values(viewer, query), viewer.admin))
        found = {entry.id: entry for entry in rows}
        near = self._near.matching(viewer, query)
        if not rest:
            found |= {entry.id: entry for entry in near}
            return page(found.values(), query)
        last = (rows[-1].time, rows[-1].id)  # older ones come after those that were not read
        found |= {entry.id: entry for entry in near if (entry.time, entry.id) >= last}
        short = page(found.values(), query)
        return short if short.next is not None else LedgerPage(short.entries, cursor_of(short.entries[-1]))

    async def totals(self, viewer: Caller, by: By, query: LedgerQuery = EVERYTHING) -> tuple[Totals, ...]:
        await self._database.written(FLUSH_DEADLINE)
        rows = await self._database.report(partial(_read_totals, self._values(viewer, query), viewer.admin, by))
        return tuple(Totals(*row) for row in rows)

    def forget(self, caller: str) -> None:
        """Have the entries of a caller removed."""
        self._near.forget(caller)
        self._database.write(WriteJob(_FORGET, (caller,)))

    def _values(self, viewer: Caller, query: LedgerQuery) -> dict[str, Any]:
        position = position_of(query.after)
        return {
            "since": max(self._near.oldest(), query.since or 0.0),
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

    def _sweep(self, connection: sqlite3.Connection) -> None:
        connection.execute(_TOO_OLD, (self._near.oldest(),))
        connection.execute(_TOO_MANY, (self._settings.config.keep_requests,))


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
