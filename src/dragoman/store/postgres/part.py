"""The ledger part of a store, in PostgreSQL."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

import msgspec
from msgspec.structs import replace

from dragoman.config.schema.store import StoreConfig
from dragoman.store.contracts.health import StoreHealth
from dragoman.store.contracts.ledger import LedgerQuery
from dragoman.store.errors import StoreUnavailable
from dragoman.store.ledger_entry import By, Entry, Totals, Viewer
from dragoman.store.near_ledger import FLUSH_DEADLINE, NearLedger
from dragoman.store.postgres import questions
from dragoman.store.postgres.connection import ConnectionPool, Row, open_pool, place_of
from dragoman.store.postgres.loop_thread import LoopThread
from dragoman.store.postgres.questions import Statement
from dragoman.store.postgres.rows import decode
from dragoman.store.postgres.spool import Spool
from dragoman.store.postgres.writer import CLOSE_SECONDS, LedgerWriter
from dragoman.store.settings import StoreSettings
from dragoman.store.shared_backends import StoreOpening


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
            return await self._thread.run(self._fetch(question))
        except Exception as error:
            self.unread += 1
            raise StoreUnavailable(f"the ledger cannot be read: {type(error).__name__}: {error}") from error

    async def _fetch(self, question: Statement) -> Sequence[Row]:
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


START_SECONDS = 1.0
SPOOL_FOLDER = "dragoman-spool"
MEGABYTE = 1024 * 1024


class PostgresPart:
    """`LedgerPart` in PostgreSQL. Nothing is reached before it is used."""

    def __init__(self, opening: StoreOpening) -> None:
        address = opening.config.ledger
        assert address is not None
        url = address.reveal()
        self.place = place_of(url)
        self._settings = settings = StoreSettings(opening.config)
        self._thread = LoopThread("dragoman-ledger")
        spool = _spool(opening.path, opening.config)
        self._writer = LedgerWriter(url, settings, opening.clocks.wall, spool, self._thread)
        self._entries = PostgresLedger(url, settings, self._writer, self._thread)
        self.ledger = NearLedger(self._entries, settings, opening.clocks.wall, opening.redactor)

    async def start(self) -> None:
        with suppress(TimeoutError, RuntimeError):
            await asyncio.wait_for(self._thread.run(self._writer.start()), START_SECONDS)

    def reconfigure(self, config: StoreConfig) -> None:
        self._settings.config = config

    def health(self) -> StoreHealth:
        return replace(self._writer.health(), unread=self._entries.unread)

    async def forget(self, caller: str) -> int:
        return await self.ledger.forget(caller)

    async def flush(self, seconds: float = 5.0) -> bool:
        return await self._entries.written(seconds)

    async def aclose(self) -> None:
        if self._thread.ended:
            return
        if self._thread.started:
            with suppress(TimeoutError):
                await asyncio.wait_for(self._thread.run(self._writer.close()), CLOSE_SECONDS + 2.0)
            self._thread.soon(self._entries.close)
        await self._thread.end()


def open_part(opening: StoreOpening) -> PostgresPart:
    """The ledger that a configuration names. Connects to nothing yet."""
    return PostgresPart(opening)


def _spool(path: Path | None, config: StoreConfig) -> Spool | None:
    """Beside the file of this machine's own state."""
    if path is None or not config.postgres.spool_mb:
        return None
    return Spool(path.parent / SPOOL_FOLDER, config.postgres.spool_mb * MEGABYTE)
