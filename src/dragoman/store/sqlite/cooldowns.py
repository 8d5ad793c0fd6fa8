"""Cooldowns in the file, with all of them in this process too."""

from __future__ import annotations

import asyncio
import sqlite3

from dragoman.store.clock import Clocks
from dragoman.store.cooldowns import LONGEST, MOST_COOLDOWNS, later
from dragoman.store.errors import StoreUnavailable
from dragoman.store.memory.cooldowns import MemoryCooldowns
from dragoman.store.sqlite.database import Database
from dragoman.store.sqlite.writer import WriteJob

FRESH = 1.0
"""Seconds after which the cooldowns of other workers are read again."""
KIND = "cooldowns"

_PUT = """
INSERT INTO state (kind, caller, place, key, used, value) VALUES (?, '', '', ?, ?, x'')
ON CONFLICT DO UPDATE SET used = max(used, excluded.used)"""
_CLEAR = "DELETE FROM state WHERE kind = ? AND key = ?"
_EXPIRE = "DELETE FROM state WHERE kind = ? AND used NOT BETWEEN ? AND ?"
_LAST = "SELECT key, used FROM state WHERE kind = ? AND used BETWEEN ? AND ? ORDER BY used DESC LIMIT ?"


class SqliteCooldowns:
    """`Cooldowns` in the file. A question is answered from memory; what other workers found is read beside it."""

    def __init__(self, database: Database, near: MemoryCooldowns, clocks: Clocks) -> None:
        self._database = database
        self._near = near
        self._clocks = clocks
        self._read_at = clocks.steady()
        self._changes = 0
        self._refreshing: asyncio.Task[None] | None = None

    def rest(self, name: str, seconds: float) -> None:
        self._changes += 1
        self._near.rest(name, seconds)
        now = self._clocks.wall()
        self._database.write(WriteJob(_EXPIRE, (KIND, now, now + LONGEST)))
        self._database.write(WriteJob(_PUT, (KIND, name, now + min(seconds, LONGEST))))

    def clear(self, name: str) -> None:
        self._changes += 1
        self._near.clear(name)
        self._database.write(WriteJob(_CLEAR, (KIND, name)))

    def remaining(self, name: str) -> float:
        self._look()
        return self._near.remaining(name)

    def resting(self) -> dict[str, float]:
        self._look()
        return self._near.resting()

    def _look(self) -> None:
        if not self._database.alone and self._clocks.steady() - self._read_at >= FRESH:
            self._read_at = self._clocks.steady()
            self._refreshing = asyncio.get_running_loop().create_task(self._refresh())

    async def _refresh(self) -> None:
        """Take what is in the file, unless something was found out here meanwhile."""
        changes = self._changes
        try:
            await self._database.shared()
            found = await self._database.read(self._read)
        except StoreUnavailable:  # counted; this process goes by what it knows
            return
        if changes == self._changes:
            self._near.replace(found)

    def _read(self, connection: sqlite3.Connection) -> dict[str, float]:
        now = self._clocks.wall()
        rows = connection.execute(_LAST, (KIND, now, now + LONGEST, MOST_COOLDOWNS))
        return {name: later(until - now) for name, until in rows}
