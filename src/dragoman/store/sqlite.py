"""Memory in front, SQLite behind.

Everything is put into memory at once and into the file by one thread, in batches. Reads look into memory first and
then into the file, which in WAL mode never waits for a writer; so a second worker finds what the first has kept.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable
from pathlib import Path
from threading import Lock
from typing import Any

import msgspec

from dragoman.config.schema import StoreConfig
from dragoman.store.background_writer import Background
from dragoman.store.ledger_entry import By, Caller, Entry, Totals
from dragoman.store.memory import DAY, MemoryStore, fit_to_keep
from dragoman.store.rate_windows import Allowed, Limited, Limits, Windows
from dragoman.store.redaction import Redactor
from dragoman.store.shared_windows import SharedWindows
from dragoman.store.shelf import CAPACITY, Shelf
from dragoman.store.sqlite_tables import TABLES, open_database
from dragoman.store.store import Clock, Health
from dragoman.store.vault import Kept

NEAR_ENTRIES = 512  # requests kept in memory until the writer has surely been there
SWEEP_EVERY = 256  # writes between two sweeps of what is too old or too much
LESSONS_FRESH = 5.0  # seconds after which the lessons of other workers are read again

Job = tuple[str, tuple[Any, ...]]

RECORD = "INSERT OR REPLACE INTO requests VALUES (NULL, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
KEEP = "INSERT OR REPLACE INTO vault VALUES (?, ?, ?, ?, ?, ?, ?)"
TOUCH = "UPDATE vault SET used = ? WHERE caller = ? AND provider = ? AND scope = ? AND key = ?"
NOTE = "INSERT OR REPLACE INTO notes VALUES (?, ?, ?, ?)"
FORGET = "DELETE FROM notes WHERE shelf = ? AND key = ?"

TOO_MANY_OF_ONE = """
DELETE FROM vault WHERE rowid IN (SELECT rowid FROM vault WHERE caller = ? ORDER BY used DESC LIMIT -1 OFFSET ?)
"""
TOO_MANY = "DELETE FROM vault WHERE rowid IN (SELECT rowid FROM vault ORDER BY used DESC LIMIT -1 OFFSET ?)"
TOO_HEAVY = """
DELETE FROM vault WHERE rowid IN (
    SELECT rowid FROM (SELECT rowid, sum(length(value)) OVER (ORDER BY used DESC, rowid) AS bytes FROM vault)
    WHERE bytes > ?)
"""
TOO_MANY_NOTES = """
DELETE FROM notes WHERE shelf = :shelf AND key IN
    (SELECT key FROM notes WHERE shelf = :shelf ORDER BY time DESC LIMIT -1 OFFSET :capacity)
"""

_encode = msgspec.msgpack.Encoder().encode
_decode = msgspec.msgpack.Decoder(Entry).decode


class SqliteStore:
    """The store for several workers and for restarts."""

    def __init__(
        self, config: StoreConfig, clock: Clock, redactor: Redactor | None = None, *, shared: bool = True
    ) -> None:
        self.config = config
        self.clock = clock
        path = Path(config.path)
        self._redactor = redactor or Redactor()
        self._near = MemoryStore(
            msgspec.structs.replace(config, keep_requests=min(config.keep_requests, NEAR_ENTRIES)), clock, redactor
        )
        self._writer = open_database(path, TABLES)
        self._reader = open_database(path, TABLES, wait=0.05)
        self._reading = Lock()
        # A worker that is alone counts in memory: 3 µs a request instead of 60.
        counters = path.with_name(path.name + "-counters")
        self._windows: SharedWindows | Windows = SharedWindows(counters) if shared else Windows()
        self._writes = 0
        self._lessons_read = float("-inf")
        self._jobs: Background[Job] = Background(self._write, size=config.queue, name="dragoman-store", weigh=_weight)

    def record(self, entry: Entry) -> None:
        entry = fit_to_keep(entry, self._redactor, self.config.keep_bodies)
        self._near.put(entry)
        failed = int(entry.status >= 400 or entry.error_kind is not None)
        row = (entry.id, entry.time, entry.caller, entry.target, entry.asked, failed)
        tokens = (entry.input_tokens, entry.output_tokens, entry.cached_tokens, entry.reasoning_tokens)
        self._jobs.put((RECORD, (*row, *tokens, entry.duration, entry)))

    def report(self, request_id: str, caller: Caller) -> Entry | None:
        near = self._near.report(request_id, caller)
        if near is not None:
            return near
        rows = self._read("SELECT entry FROM requests WHERE id = ? AND time > ?", (request_id, self._oldest()))
        entry = _decode(rows[0][0]) if rows else None
        return entry if entry is not None and caller.may_see(entry) else None

    def recent(self, caller: Caller, limit: int = 50, before: float | None = None) -> tuple[Entry, ...]:
        where, values = self._visible(caller, self._oldest())
        until = float("inf") if before is None else before
        rows = self._read(
            f"SELECT entry FROM requests WHERE {where} AND time < ? ORDER BY time DESC LIMIT ?",  # noqa: S608
            (*values, until, limit),
        )
        found = {entry.id: entry for entry in self._near.recent(caller, limit, before)}
        found |= {entry.id: entry for entry in (_decode(row[0]) for row in rows)}
        return tuple(sorted(found.values(), key=lambda entry: entry.time, reverse=True)[:limit])

    def totals(self, caller: Caller, by: By, since: float = 0.0) -> tuple[Totals, ...]:
        where, values = self._visible(caller, max(since, self._oldest()))
        column = By(by).value
        rows = self._read(
            f"SELECT {column}, count(*), sum(failed), sum(input), sum(output), sum(cached), sum(reasoning), "  # noqa: S608
            f"sum(seconds) FROM requests WHERE {where} GROUP BY {column} ORDER BY count(*) DESC, {column}",
            values,
        )
        return tuple(Totals(*row) for row in rows)

    def _visible(self, caller: Caller, since: float) -> tuple[str, tuple[Any, ...]]:
        return ("time >= ?", (since,)) if caller.admin else ("time >= ? AND caller = ?", (since, caller.name))

    def _oldest(self) -> float:
        return self.clock() - self.config.keep_days * DAY

    def keep(self, caller: str, provider: str, scope: str, key: str, value: bytes, kind: str) -> None:
        limits = self.config.vault
        if not limits.enabled or len(value) > limits.max_bytes:
            return
        self._near.keep(caller, provider, scope, key, value, kind)
        self._jobs.put((KEEP, (caller, provider, scope, key, kind, value, self.clock())))

    def fetch(self, caller: str, provider: str, scope: str, keys: Iterable[str]) -> dict[str, Kept]:
        wanted = tuple(keys)
        if not wanted or not self.config.vault.enabled:
            return {}
        found = self._near.fetch(caller, provider, scope, wanted)
        now = self.clock()
        for key in wanted:
            place = (caller, provider, scope, key)
            if key not in found and (kept := self._kept(place, now)) is not None:
                found[key] = kept
                self._near.keep(caller, provider, scope, key, kept.value, kept.kind)
                self._jobs.put((TOUCH, (now, *place)))
            elif key in found and self._near.vault.due(place, now):
                self._jobs.put((TOUCH, (now, *place)))
        return found

    def _kept(self, place: tuple[str, str, str, str], now: float) -> Kept | None:
        rows = self._read(
            "SELECT value, kind FROM vault WHERE caller = ? AND provider = ? AND scope = ? AND key = ? AND used >= ?",
            (*place, now - self.config.vault.ttl),
        )
        return Kept(*rows[0]) if rows else None

    def allow(self, key: str, limits: Limits, now: float, tokens: int = 0) -> Allowed | Limited:
        return self._windows.allow(key, limits, now, tokens)

    def spend(self, key: str, tokens: int, now: float) -> None:
        self._windows.spend(key, tokens, now)

    def remember(self, shelf: Shelf, key: str, value: bytes) -> None:
        self._near.remember(shelf, key, value)
        self._jobs.put((NOTE, (shelf.value, key, value, self.clock())))

    def recall(self, shelf: Shelf, key: str) -> bytes | None:
        if shelf is Shelf.LESSONS:
            self._refresh_lessons()
            return self._near.recall(shelf, key)
        value = self._near.recall(shelf, key)
        if value is not None:
            return value
        rows = self._read("SELECT value FROM notes WHERE shelf = ? AND key = ?", (shelf.value, key))
        return rows[0][0] if rows else None

    def remembered(self, shelf: Shelf) -> dict[str, bytes]:
        rows = self._read("SELECT key, value FROM notes WHERE shelf = ?", (shelf.value,))
        return dict(rows) | self._near.remembered(shelf)

    def forget(self, shelf: Shelf, key: str) -> None:
        self._near.forget(shelf, key)
        self._jobs.put((FORGET, (shelf.value, key)))

    def _refresh_lessons(self) -> None:
        """Lessons are asked for on every request and are nearly always none: the shelf is read whole, now and then."""
        now = self.clock()
        if now - self._lessons_read < LESSONS_FRESH:
            return
        self._lessons_read = now
        rows = self._read("SELECT key, value FROM notes WHERE shelf = ?", (Shelf.LESSONS.value,))
        for key, value in rows:
            self._near.remember(Shelf.LESSONS, key, value)

    def health(self) -> Health:
        health = self._jobs.health()
        return msgspec.structs.replace(health, failed=health.failed + self._windows.failed)

    def flush(self, timeout: float = 5.0) -> bool:
        return self._jobs.flush(timeout)

    def close(self) -> None:
        self._jobs.close()
        with self._reading:
            self._reader.close()
        self._writer.close()
        self._windows.close()

    def _read(self, sql: str, values: tuple[Any, ...]) -> list[Any]:
        """Rows, or none when the file fails: the data path does not fail with it."""
        with self._reading:
            try:
                return self._reader.execute(sql, values).fetchall()
            except sqlite3.Error:
                return []

    def _write(self, jobs: list[Job]) -> None:
        self._writer.execute("BEGIN IMMEDIATE")
        try:
            for sql, values in jobs:
                self._writer.execute(sql, _ready(values))
            self._sweep(jobs)
            self._writer.execute("COMMIT")
        except sqlite3.Error:
            if self._writer.in_transaction:
                self._writer.execute("ROLLBACK")
            raise

    def _sweep(self, jobs: list[Job]) -> None:
        for caller in {values[0] for sql, values in jobs if sql is KEEP}:
            self._writer.execute(TOO_MANY_OF_ONE, (caller, self.config.vault.per_caller))
        self._writes += len(jobs)
        if self._writes >= SWEEP_EVERY:
            self._writes = 0
            self._sweep_all()

    def _sweep_all(self) -> None:
        config, now, run = self.config, self.clock(), self._writer.execute
        run("DELETE FROM requests WHERE time < ?", (now - config.keep_days * DAY,))
        run("DELETE FROM requests WHERE number <= (SELECT max(number) FROM requests) - ?", (config.keep_requests,))
        run("DELETE FROM vault WHERE used < ?", (now - config.vault.ttl,))
        run(TOO_MANY, (config.vault.entries,))
        run(TOO_HEAVY, (config.vault.max_bytes,))
        for shelf, capacity in CAPACITY.items():
            run(TOO_MANY_NOTES, {"shelf": shelf.value, "capacity": capacity})


def _ready(values: tuple[Any, ...]) -> tuple[Any, ...]:
    """Values as SQLite takes them: an entry is encoded here, on the writer's thread."""
    return tuple(_encode(value) if isinstance(value, Entry) else value for value in values)


def _weight(job: Job) -> int:
    """The bytes of a request's bodies; everything else is small."""
    last = job[1][-1]
    return last.weight() if isinstance(last, Entry) else 0
