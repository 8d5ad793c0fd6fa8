"""The ledger part of a store, in PostgreSQL."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from pathlib import Path

from msgspec.structs import replace

from dragoman.config.schema.store import StoreConfig
from dragoman.store.contracts.health import StoreHealth
from dragoman.store.near_ledger import NearLedger
from dragoman.store.postgres.connection import place_of
from dragoman.store.postgres.ledger import PostgresLedger
from dragoman.store.postgres.loop_thread import LoopThread
from dragoman.store.postgres.spool import Spool
from dragoman.store.postgres.writer import CLOSE_SECONDS, LedgerWriter
from dragoman.store.settings import StoreSettings
from dragoman.store.shared_backends import StoreOpening

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
