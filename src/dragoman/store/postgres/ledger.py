"""The ledger in the database."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

import msgspec

from dragoman.store.contracts.ledger import LedgerQuery
from dragoman.store.errors import StoreUnavailable
from dragoman.store.ledger_entry import By, Entry, Totals, Viewer
from dragoman.store.near_ledger import FLUSH_DEADLINE
from dragoman.store.postgres import questions
from dragoman.store.postgres.connection import ConnectionPool, Row, open_pool
from dragoman.store.postgres.loop_thread import LoopThread
from dragoman.store.postgres.questions import Statement
from dragoman.store.postgres.rows import decode
from dragoman.store.postgres.writer import LedgerWriter
from dragoman.store.settings import StoreSettings


class PostgresLedger:
    """`SharedLedger` in the database."""

    def __init__(self, address: str, settings: StoreSettings, writer: LedgerWriter, thread: LoopThread) -> None:
        self._address = address
        self._settings = settings
        self._writer = writer
        self._thread = thread
        self._pool: ConnectionPool | None = None
        self.write = writer.put
        self.unread = 0

    async def find(self, request_id: str, oldest: float) -> Entry | None:
        rows = await self._ask(questions.one(request_id, oldest))
        return decode(rows[0]["entry"]) if rows else None

    async def page(self, viewer: Viewer, query: LedgerQuery, oldest: float) -> tuple[list[Entry], bool]:
        rows = await self._ask(questions.page(viewer, query, oldest))
        return [decode(row["entry"]) for row in rows], bool(rows) and rows[0]["found"] != len(rows)

    async def totals(self, viewer: Viewer, by: By, query: LedgerQuery, oldest: float) -> tuple[Totals, ...]:
        return tuple(_totals(row) for row in await self._ask(questions.totals(viewer, by, query, oldest)))

    async def forget(self, caller: str) -> int:
        if not await self.written(FLUSH_DEADLINE):
            raise StoreUnavailable("the ledger cannot be reached; what waits for it could not be looked through")
        [row] = await self._ask(questions.forget(caller))
        forgotten: int = row["requests"]
        return forgotten

    async def written(self, seconds: float) -> bool:
        if self._thread.ended or not self._thread.started:
            return True
        try:
            return await asyncio.wait_for(self._thread.run(self._writer.drain()), seconds)
        except TimeoutError:
            return False

    def close(self) -> None:
        """Close the connections. It runs in the thread."""
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
