"""Requests and tokens per minute, counted by several workers as one.

The counts live in a file of their own beside the store: a count is one short transaction that nobody flushes to disk,
and it never stands behind a batch of the ledger. It is tried on the event loop, where it takes some 60 µs and waits for
nobody; where another worker holds the file at that moment, a thread waits for it.
"""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import Sequence
from functools import partial
from pathlib import Path

from dragoman.store.clock import Clock
from dragoman.store.contracts.rate_limits import Allowed, KeyLimits, Limited
from dragoman.store.rate_windows import RateWindows, Tally, decide, oldest_slice, slice_of
from dragoman.store.sqlite.file_thread import DEADLINE, FileThread
from dragoman.store.sqlite.tables import inode, open_counters, transaction

OPENING_WAIT = 5.0
SWEEP_EVERY = 4096
LOOK_EVERY = 1.0
"""Seconds between two looks at whether the file is still there."""
Row = tuple[str, int, int, int]
"""Key, number of the quarter second, requests, tokens."""

_SUMS = """
SELECT 0, coalesce(sum(requests), 0), coalesce(sum(tokens), 0) FROM counters WHERE key = ? AND slice BETWEEN ? AND ?"""
_BUCKETS = "SELECT slice, requests, tokens FROM counters WHERE key = ? AND slice BETWEEN ? AND ? ORDER BY slice"
_ADD = """
INSERT INTO counters VALUES (?, ?, ?, ?) ON CONFLICT (key, slice)
DO UPDATE SET requests = requests + excluded.requests, tokens = tokens + excluded.tokens"""
_FORGET = "DELETE FROM counters WHERE slice NOT BETWEEN ? AND ?"
_AHEAD = 4
"""Quarter seconds that another worker may be ahead. Later ones are from before a restart of the machine."""


class CounterFile:
    """One connection to the counts. Not for two threads at once."""

    def __init__(self, path: Path, wait: float, steady: Clock, counts: Sequence[Row] = ()) -> None:
        """`wait`: seconds that a transaction may wait for another worker's. `counts`: what was counted before."""
        self._steady = steady
        self._calls = 0
        self._connection = open_counters(path, wait=OPENING_WAIT)
        self.inode = inode(path)
        with transaction(self._connection):
            self._sweep()
            self._connection.executemany(_ADD, counts)
        self._connection.execute(f"PRAGMA busy_timeout={int(wait * 1000)}")

    def reserve(self, key: str, limits: KeyLimits, tokens: int, count: int) -> Allowed | Limited:
        """Decide and count, in one transaction. Raises sqlite3.Error."""
        with transaction(self._connection):
            return self._reserve(key, limits, tokens, count)

    def add(self, row: Row) -> None:
        """Count without asking. Raises sqlite3.Error."""
        self._connection.execute(_ADD, row)

    def close(self) -> None:
        self._connection.close()

    def _reserve(self, key: str, limits: KeyLimits, tokens: int, count: int) -> Allowed | Limited:
        now, run = self._steady(), self._connection.execute
        span = (key, oldest_slice(now), slice_of(now) + _AHEAD)
        # The sums decide nearly always; the single quarter seconds only say how long to wait.
        verdict = decide(Tally(run(_SUMS, span)), limits, now, tokens, count)
        if isinstance(verdict, Limited):
            return decide(Tally(run(_BUCKETS, span)), limits, now, tokens, count)
        run(_ADD, (key, slice_of(now), count, tokens))
        self._calls += 1
        if self._calls % SWEEP_EVERY == 0:
            self._sweep()
        return verdict

    def _sweep(self) -> None:
        now = self._steady()
        self._connection.execute(_FORGET, (oldest_slice(now), slice_of(now) + _AHEAD))


class SharedWindows(FileThread):
    """The counts of all processes that use the same path. Each also counts by itself, for when the file fails."""

    def __init__(self, path: Path, own: RateWindows, steady: Clock) -> None:
        super().__init__(path, "dragoman-limits")
        self._own = own
        self._steady = steady
        self._file = CounterFile(path, 0.0, steady, [(key, *bucket) for key, bucket in own.counts()])
        self._patient: CounterFile | None = None
        self._looked = steady()

    async def reserve(self, key: str, limits: KeyLimits, tokens: int, count: int) -> Allowed | Limited:
        self._look()
        try:
            verdict = await self._reserve(key, limits, tokens, count)
        except Exception as error:  # whatever is wrong with the file, this process can count by itself
            self._note(error)
            return await self._own.reserve(key, limits, tokens, count)
        if isinstance(verdict, Allowed):
            self._own.add(key, count, tokens)
        return verdict

    def settle(self, key: str, tokens: int) -> None:
        self._own.add(key, 0, tokens)
        row = (key, slice_of(self._steady()), 0, tokens)
        try:
            self._file.add(row)
        except sqlite3.OperationalError:
            self._later(lambda: self._patiently().add(row))
        except sqlite3.Error as error:
            self._note(error)

    def close(self) -> None:
        super().close()
        self._file.close()

    async def _reserve(self, key: str, limits: KeyLimits, tokens: int, count: int) -> Allowed | Limited:
        try:
            return self._file.reserve(key, limits, tokens, count)
        except sqlite3.OperationalError:  # most likely it is another worker's turn: wait for it, but not here
            work = partial(self._reserve_patiently, key, limits, tokens, count)
        async with asyncio.timeout(DEADLINE):
            return await asyncio.get_running_loop().run_in_executor(self._thread, work)

    def _reserve_patiently(self, key: str, limits: KeyLimits, tokens: int, count: int) -> Allowed | Limited:
        return self._patiently().reserve(key, limits, tokens, count)

    def _patiently(self) -> CounterFile:
        """A connection that waits for other workers; for the thread alone."""
        if self._patient is None:
            self._patient = CounterFile(self._path, DEADLINE / 2, self._steady)
        return self._patient

    def _look(self) -> None:
        """Open a file again that was deleted: workers that start later would count in another."""
        now = self._steady()
        if now - self._looked > LOOK_EVERY:
            self._looked = now
            if inode(self._path) != self._file.inode:
                self._later(self._reopen)

    def _reopen(self) -> None:
        self._patient = None
        self._file = CounterFile(self._path, 0.0, self._steady)  # the old one goes when nobody uses it any more

    def _close(self) -> None:
        if self._patient is not None:
            self._patient.close()
