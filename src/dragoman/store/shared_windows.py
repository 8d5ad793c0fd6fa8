"""Requests and tokens per minute, counted by several workers as one.

They live in a file of their own beside the store: a count is one short transaction that nobody flushes to disk
(losing a minute of counts in a power cut is fine), and it never stands behind a batch of the ledger. If the file
fails, this worker's own counts decide.
"""

from __future__ import annotations

import sqlite3
from pathlib import Path
from threading import Lock

from dragoman.store.rate_windows import Allowed, Limited, Limits, Tally, Windows, decide, oldest_slice, slice_of
from dragoman.store.sqlite_tables import COUNTERS, open_database

SWEEP_EVERY = 4096
SUMS = "SELECT 0, coalesce(sum(requests), 0), coalesce(sum(tokens), 0) FROM counters WHERE key = ? AND slice >= ?"
BUCKETS = "SELECT slice, requests, tokens FROM counters WHERE key = ? AND slice >= ? ORDER BY slice"
ADD = """
INSERT INTO counters VALUES (?, ?, ?, ?) ON CONFLICT (key, slice)
DO UPDATE SET requests = requests + excluded.requests, tokens = tokens + excluded.tokens
"""


class SharedWindows:
    """Like `Windows`, for all processes that open the same path."""

    def __init__(self, path: Path) -> None:
        self._connection = open_database(path, COUNTERS, wait=0.25, durable=False)
        self._own = Windows()
        self._lock = Lock()
        self._calls = 0
        self.failed = 0

    def allow(self, key: str, limits: Limits, now: float, tokens: int = 0) -> Allowed | Limited:
        with self._lock:
            try:
                return self._allow(key, limits, now, tokens)
            except sqlite3.Error:
                self._recover()
        return self._own.allow(key, limits, now, tokens)

    def spend(self, key: str, tokens: int, now: float) -> None:
        with self._lock:
            try:
                self._connection.execute(ADD, (key, slice_of(now), 0, tokens))
                return
            except sqlite3.Error:
                self._recover()
        self._own.spend(key, tokens, now)

    def close(self) -> None:
        with self._lock:
            self._connection.close()

    def _allow(self, key: str, limits: Limits, now: float, tokens: int) -> Allowed | Limited:
        run = self._connection.execute
        run("BEGIN IMMEDIATE")
        since = (key, oldest_slice(now))
        # The sums decide nearly always; the single quarter seconds only say how long to wait.
        verdict = decide(Tally(run(SUMS, since)), limits, now, tokens)
        if isinstance(verdict, Allowed):
            run(ADD, (key, slice_of(now), 1, tokens))
        else:
            verdict = decide(Tally(run(BUCKETS, since)), limits, now, tokens)
        self._sweep(now)
        run("COMMIT")
        return verdict

    def _sweep(self, now: float) -> None:
        self._calls += 1
        if self._calls % SWEEP_EVERY == 0:
            self._connection.execute("DELETE FROM counters WHERE slice < ?", (oldest_slice(now),))

    def _recover(self) -> None:
        self.failed += 1
        try:
            if self._connection.in_transaction:
                self._connection.execute("ROLLBACK")
        except sqlite3.Error:
            return  # the connection is gone; this worker goes on counting by itself
