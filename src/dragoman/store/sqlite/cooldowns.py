"""Cooldowns in the file, with all of them in this process too."""

from __future__ import annotations

import sqlite3

from dragoman.store.clock import Clocks
from dragoman.store.contracts.cooldowns import LONGEST, MOST_COOLDOWNS, later
from dragoman.store.memory.cooldowns import MemoryCooldowns
from dragoman.store.sqlite.book import FileCopy
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

    def __init__(self, database: Database, clocks: Clocks) -> None:
        self._near = near = MemoryCooldowns(clocks.steady)
        self._wall = clocks.wall
        self._copy = FileCopy(database, FRESH, clocks.steady, self._read, near.replace)

    def rest(self, name: str, seconds: float) -> None:
        self._near.rest(name, seconds)
        now = self._wall()
        expire = WriteJob(_EXPIRE, (KIND, now, now + LONGEST))
        self._copy.write(expire, WriteJob(_PUT, (KIND, name, now + min(seconds, LONGEST))))

    def clear(self, name: str) -> None:
        self._near.clear(name)
        self._copy.write(WriteJob(_CLEAR, (KIND, name)))

    def remaining(self, name: str) -> float:
        self._copy.look()
        return self._near.remaining(name)

    def resting(self) -> dict[str, float]:
        self._copy.look()
        return self._near.resting()

    def _read(self, connection: sqlite3.Connection) -> dict[str, float]:
        now = self._wall()
        rows = connection.execute(_LAST, (KIND, now, now + LONGEST, MOST_COOLDOWNS))
        return {name: later(until - now) for name, until in rows}
