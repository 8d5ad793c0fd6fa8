"""Calibrations in the file, with all of them in this process too."""

from __future__ import annotations

import asyncio
import sqlite3

import msgspec

from dragoman.engine.history.calibration import Calibration
from dragoman.store.clock import Clock
from dragoman.store.errors import StoreUnavailable
from dragoman.store.memory.calibrations import LIFETIME, MOST_CALIBRATIONS, MemoryCalibrations
from dragoman.store.sqlite.database import Database
from dragoman.store.sqlite.writer import Sweep, WriteJob

FRESH = 30.0
"""Seconds after which the calibrations of other workers are read again."""
SWEEP_EVERY = 256
KIND = "calibrations"

_PUT = """
INSERT INTO state (kind, caller, place, key, used, value) VALUES (?, '', '', ?, ?, ?)
ON CONFLICT DO UPDATE SET used = excluded.used, value = excluded.value"""
_NEWEST = "SELECT key, value, used FROM state WHERE kind = ? AND used >= ? ORDER BY used DESC, rowid DESC LIMIT ?"
_EXPIRE = "DELETE FROM state WHERE kind = ? AND used < ?"
_SHRINK = """
DELETE FROM state WHERE rowid IN (
    SELECT rowid FROM state WHERE kind = ? ORDER BY used DESC, rowid DESC LIMIT -1 OFFSET ?)"""

_encode = msgspec.msgpack.Encoder().encode
_decode = msgspec.msgpack.Decoder(Calibration).decode


class SqliteCalibrations:
    """`Calibrations` in the file. `find` answers from memory; what other workers put is read beside it."""

    def __init__(self, database: Database, near: MemoryCalibrations, clock: Clock) -> None:
        self._database = database
        self._near = near
        self._clock = clock
        self._near.replace(database.read_at_start(self._read))
        self._read_at = clock()
        self._puts = 0
        self._refreshing: asyncio.Task[None] | None = None
        database.add_sweep(Sweep(KIND, SWEEP_EVERY, self._sweep))

    def find(self, key: str) -> Calibration | None:
        if not self._database.alone and abs(self._clock() - self._read_at) >= FRESH:
            self._read_at = self._clock()
            self._refreshing = asyncio.get_running_loop().create_task(self._refresh())
        return self._near.find(key)

    def put(self, key: str, calibration: Calibration) -> None:
        self._puts += 1
        self._near.put(key, calibration)
        self._database.write(WriteJob(_PUT, (KIND, key, self._clock(), calibration), _encode, KIND))

    async def _refresh(self) -> None:
        """Take what is in the file, unless something was put here meanwhile."""
        puts = self._puts
        try:
            await self._database.shared()
            rows = await self._database.read(self._read)
        except StoreUnavailable:  # counted; this process's copy goes on being used
            return
        self._read_at = self._clock()
        if puts == self._puts:
            self._near.replace(rows)

    def _read(self, connection: sqlite3.Connection) -> list[tuple[str, Calibration, float]]:
        rows = connection.execute(_NEWEST, (KIND, self._clock() - LIFETIME, MOST_CALIBRATIONS)).fetchall()
        return [(key, found, put) for key, value, put in reversed(rows) if (found := _readable(value)) is not None]

    def _sweep(self, connection: sqlite3.Connection) -> None:
        connection.execute(_EXPIRE, (KIND, self._clock() - LIFETIME))
        connection.execute(_SHRINK, (KIND, MOST_CALIBRATIONS))


def _readable(value: bytes) -> Calibration | None:
    """What was kept, as this version writes it; what another version kept is as good as lost."""
    try:
        return _decode(value)
    except msgspec.DecodeError:
        return None
