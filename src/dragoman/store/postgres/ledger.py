"""The ledger in the database, with the last requests of this process in memory too."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

import msgspec

from dragoman.store.errors import StoreUnavailable
from dragoman.store.ledger import EVERYTHING, LedgerPage, LedgerQuery, cursor_of
from dragoman.store.ledger_entry import By, Caller, Entry, Totals, sanitized
from dragoman.store.memory.ledger import LedgerMemory, page
from dragoman.store.postgres import questions
from dragoman.store.postgres.connection import ConnectionPool, Row, open_pool
from dragoman.store.postgres.loop_thread import LoopThread
from dragoman.store.postgres.questions import Statement
from dragoman.store.postgres.rows import decode
from dragoman.store.postgres.writer import LedgerWriter
from dragoman.store.redaction import Redactor
from dragoman.store.settings import StoreSettings

NEAR_ENTRIES = 512
"""Requests in memory, so that each can be read before it is written."""
NEAR_BYTES = 16 * 1024 * 1024
FLUSH_DEADLINE = 2.0


class PostgresLedger:
    """`Ledger` in the database."""

    def __init__(
        self,
        address: str,
        settings: StoreSettings,
        writer: LedgerWriter,
        thread: LoopThread,
        near: LedgerMemory,
        redactor: Redactor,
    ) -> None:
        self._address = address
        self._settings = settings
        self._writer = writer
        self._thread = thread
        self._near = near
        self._redactor = redactor
        self._pool: ConnectionPool | None = None
        self.unread = 0

    def record(self, entry: Entry) -> None:
        entry = sanitized(entry, self._redactor, self._settings.config.keep_bodies)
        self._near.put(entry)
        self._writer.put(entry)

    async def report(self, request_id: str, viewer: Caller) -> Entry | None:
        near = self._near.report(request_id, viewer)
        if near is not None:
            return near
        rows = await self._ask(questions.one(request_id, self._near.oldest()))
        entry = decode(rows[0]["entry"]) if rows else None
        return entry if entry is not None and viewer.may_see(entry) else None

    async def recent(self, viewer: Caller, query: LedgerQuery = EVERYTHING) -> LedgerPage:
        """A page of the database, with what is not written yet."""
        rows = await self._ask(questions.page(viewer, query, self._near.oldest()))
        entries = [decode(row["entry"]) for row in rows]
        found = {entry.id: entry for entry in entries}
        near = self._near.matching(viewer, query)
        if not rows or rows[0]["found"] == len(rows):
            found |= {entry.id: entry for entry in near}
            return page(found.values(), query)
        last = (entries[-1].time, entries[-1].id)  # older ones come after those that were not read
        found |= {entry.id: entry for entry in near if (entry.time, entry.id) >= last}
        short = page(found.values(), query)
        return short if short.next is not None else LedgerPage(short.entries, cursor_of(short.entries[-1]))

    async def totals(self, viewer: Caller, by: By, query: LedgerQuery = EVERYTHING) -> tuple[Totals, ...]:
        await self.written(FLUSH_DEADLINE)
        rows = await self._ask(questions.totals(viewer, by, query, self._near.oldest()))
        return tuple(_totals(row) for row in rows)

    async def forget(self, caller: str) -> int:
        """Remove the entries of a caller; how many there were. Raises StoreUnavailable."""
        self._near.forget(caller)
        if not await self.written(FLUSH_DEADLINE):
            raise StoreUnavailable("the ledger cannot be reached; what waits for it could not be looked through")
        [row] = await self._ask(questions.forget(caller))
        forgotten: int = row["requests"]
        return forgotten

    async def written(self, seconds: float) -> bool:
        """Wait until everything so far is written; False when that took too long."""
        if self._thread.ended or not self._thread.started:
            return True
        try:
            return await asyncio.wait_for(self._thread.run(self._writer.drain()), seconds)
        except TimeoutError:
            return False

    def close(self) -> None:
        """In the thread."""
        if self._pool is not None:
            self._pool.terminate()

    async def _ask(self, question: Statement) -> Sequence[Row]:
        """Rows of the database. Raises StoreUnavailable, which is counted."""
        try:
            return await self._thread.run(self._asked(question))
        except Exception as error:
            self.unread += 1
            raise StoreUnavailable(f"the ledger cannot be read: {type(error).__name__}: {error}") from error

    async def _asked(self, question: Statement) -> Sequence[Row]:
        await self._writer.start()
        options = self._settings.config.postgres
        if self._pool is None:
            self._pool = await open_pool(self._address, options)
        async with self._pool.acquire(timeout=options.timeout) as connection:
            return await connection.fetch(question.text, *question.values)


def _totals(row: Row) -> Totals:
    """Sums of whole numbers come as decimals, which never overflow."""
    whole = {field.name for field in msgspec.structs.fields(Totals) if field.type is int}
    return msgspec.convert({name: int(value) if name in whole else value for name, value in row.items()}, Totals)
