"""Writes entries to the database in batches, and to the disk while the database is away.

All of it but `put` and `health` runs in the ledger's own thread.
"""

from __future__ import annotations

import asyncio
import random
from collections import deque
from collections.abc import Iterable
from contextlib import suppress
from datetime import date
from itertools import islice

import msgspec
from msgspec import Struct

from dragoman.store.clock import Clock
from dragoman.store.contracts.health import Absence, StoreHealth
from dragoman.store.journals.background_writer import MOST_BYTES
from dragoman.store.ledger_entry import Entry
from dragoman.store.postgres.connection import DatabaseConnection, connect, is_a_values_fault, lacks_partition, place_of
from dragoman.store.postgres.loop_thread import LoopThread
from dragoman.store.postgres.migrations import LOCK, migrate
from dragoman.store.postgres.retention import sweep, sweep_interval
from dragoman.store.postgres.rows import (
    ARRIVING,
    COLUMNS,
    TAKE_IN,
    Shelves,
    Values,
    decode,
    encode,
    latest_of_each,
    partition,
    row,
)
from dragoman.store.postgres.spool import Spool, read_records
from dragoman.store.settings import StoreSettings

BATCH = 512
BATCH_BYTES = 16 * 1024 * 1024
GATHER_SECONDS = 0.005
"""What comes within it goes in one transaction."""
FIRST_PAUSE, LONGEST_PAUSE = 0.25, 10.0
CLOSE_SECONDS = 5.0


class _Record(Struct, frozen=True, gc=False):
    """An entry and its bytes."""

    entry: Entry
    record: bytes


class LedgerWriter:
    """One connection. What it cannot write waits in the spool, in order, and is written when the database is back."""

    def __init__(
        self, address: str, settings: StoreSettings, clock: Clock, spool: Spool | None, thread: LoopThread
    ) -> None:
        self._address = address
        self._settings = settings
        self._clock = clock
        self._spool = spool
        self._effect = f"entries wait {'on the disk' if spool is not None else 'in memory'}; nobody can read the ledger"
        self._thread = thread
        self._waiting: deque[Entry] = deque()
        self._weight_in = self._weight_out = 0  # each is written by one thread alone
        self._asleep = True
        self._closed = False
        self._written = self._dropped = self._failed = self._spooled = self._reconnects = 0
        self._last_error: str | None = None
        self._away: str | None = None
        self._connection: DatabaseConnection | None = None
        self._connecting: asyncio.Task[None] | None = None
        self._running: asyncio.Task[None] | None = None
        self._wake = asyncio.Event()
        self._idle = asyncio.Event()
        self._settled = asyncio.Event()
        self._others_may_wait = False
        self._in_hand: list[_Record] = []
        self._pause = FIRST_PAUSE
        self._partitions: set[date] = set()
        self._since_sweep = 0

    # Called by requests

    def put(self, entry: Entry) -> None:
        """Queue an entry. Never waits, never fails."""
        weight = entry.weight()
        heavy = self._weight_in - self._weight_out + weight > MOST_BYTES
        if self._closed or heavy or len(self._waiting) >= self._settings.config.queue:
            self._dropped += 1
            return
        self._weight_in += weight
        self._waiting.append(entry)
        if self._asleep:
            self._asleep = False
            self._thread.soon(self._awaken)

    def health(self) -> StoreHealth:
        return StoreHealth(
            waiting=len(self._waiting),
            written=self._written,
            dropped=self._dropped,
            failed=self._failed,
            local=self._spooled,
            reconnects=self._reconnects,
            last_error=self._last_error,
            away=() if self._away is None else (Absence(place_of(self._address), self._away, self._effect, True),),
        )

    # In the thread

    async def start(self) -> None:
        """Connect, or learn that the database is away."""
        self._awaken()
        await self._settled.wait()

    async def drain(self) -> bool:
        """Wait until everything so far is written. False at once if the database is away."""
        self._awaken()
        while self._busy():
            if self._away is not None:
                return False
            self._idle.clear()
            with suppress(TimeoutError):
                await asyncio.wait_for(self._idle.wait(), 0.05)
        return True

    async def close(self) -> None:
        """Write what waits, or put it on the disk."""
        self._closed = True
        with suppress(TimeoutError):
            await asyncio.wait_for(self.drain(), CLOSE_SECONDS)
        for task in (self._running, self._connecting):
            if task is not None:
                task.cancel()
                await asyncio.wait({task})
        self._put_aside(self._in_hand)  # a server that stands still may have them or not: twice is harmless
        while self._waiting:
            self._put_aside(self._take())
        if self._spool is not None:
            self._spool.close()
        await self._disconnect()

    def _busy(self) -> bool:
        return bool(self._waiting) or not self._asleep or self._backlog()

    def _backlog(self) -> bool:
        return self._spool is not None and self._spool.size > 0

    def _awaken(self) -> None:
        self._asleep = False
        if self._running is None:
            self._running = asyncio.get_running_loop().create_task(self._run())
        self._wake.set()

    async def _run(self) -> None:
        while True:
            self._begin_to_connect()
            await self._wait_for_work()
            await asyncio.sleep(GATHER_SECONDS)
            await self._settled.wait()
            await self._work()

    async def _wait_for_work(self) -> None:
        while not self._has_work():
            self._wake.clear()
            self._asleep = True
            if not self._has_work():  # an entry may have come before its request could know that we sleep
                self._idle.set()
                await self._wake.wait()
        self._asleep = False

    def _has_work(self) -> bool:
        """While the database is away, entries are put on the disk; without one they wait."""
        if self._connection is not None:
            return bool(self._waiting) or self._backlog() or self._others_may_wait
        return bool(self._waiting) and (self._spool is not None or self._away is None)

    async def _work(self) -> None:
        if self._connection is not None and self._others_may_wait:
            await self._replay_others()
        if self._connection is not None and self._backlog():
            await self._replay_own()
        self._in_hand = batch = self._take()
        if batch and (self._connection is None or not await self._write(batch)):
            self._put_aside(batch)
        self._in_hand = []

    def _take(self) -> list[_Record]:
        """The next entries, with their bytes. One that cannot be encoded is lost, and only that one."""
        batch: list[_Record] = []
        size = 0
        while self._waiting and len(batch) < BATCH and size < BATCH_BYTES:
            entry = self._waiting.popleft()
            self._weight_out += entry.weight()
            try:
                record = encode(entry)
            except (UnicodeEncodeError, ValueError, msgspec.MsgspecError) as error:
                self._lose(1, error)
                continue
            batch.append(_Record(entry, record))
            size += len(record)
        return batch

    def _put_aside(self, batch: list[_Record]) -> None:
        """To the disk. Without one they wait in memory, within the bounds of the queue."""
        if self._spool is None:
            self._waiting.extendleft(one.entry for one in reversed(batch))
            self._weight_out -= sum(one.entry.weight() for one in batch)
            if self._closed:
                self._dropped += len(self._waiting)
                self._waiting.clear()
            return
        try:
            taken = self._spool.append([one.record for one in batch])
        except OSError as error:
            self._lose(len(batch), error)
            return
        self._spooled += taken
        self._dropped += len(batch) - taken

    def _lose(self, count: int, error: BaseException) -> None:
        self._failed += count
        self._last_error = f"{type(error).__name__}: {error}"

    # The database

    def _begin_to_connect(self) -> None:
        if self._connection is None and (self._connecting is None or self._connecting.done()):
            self._connecting = asyncio.get_running_loop().create_task(self._connect())

    async def _connect(self) -> None:
        """Try until it succeeds, with pauses that grow."""
        while self._connection is None:
            try:
                self._connection = await self._prepare()
            except Exception as error:  # a host that is unknown, a password that is wrong, tables that are too new
                self._is_away(error)
                await asyncio.sleep(self._pause * random.uniform(0.5, 1.0))  # noqa: S311
                self._pause = min(self._pause * 2, LONGEST_PAUSE)
        self._pause = FIRST_PAUSE
        self._reconnects += self._away is not None
        self._away = None
        self._others_may_wait = True
        self._settled.set()
        self._wake.set()

    async def _prepare(self) -> DatabaseConnection:
        connection = await connect(self._address, self._settings.config.postgres)
        try:
            await migrate(connection)
            await connection.execute(ARRIVING)
        except BaseException:
            connection.terminate()
            raise
        self._partitions.clear()
        return connection

    def _is_away(self, error: BaseException) -> None:
        self._away = f"{type(error).__name__}: {str(error)[:200]}"
        self._settled.set()

    async def _disconnect(self) -> None:
        connection, self._connection = self._connection, None
        if connection is not None:
            try:
                await connection.close(timeout=1.0)
            except Exception:  # it was lost already
                connection.terminate()

    async def _write(self, batch: list[_Record]) -> bool:
        """Whether the entries are in the database now, but for those whose values it refuses."""
        try:
            await self._store(batch)
        except Exception as error:
            if is_a_values_fault(error) and self._connection is not None and not self._connection.is_closed():
                return await self._write_each(batch, error)
            self._is_away(error)
            await self._disconnect()
            self._begin_to_connect()
            return False
        self._written += len(batch)
        await self._sweep_now_and_then(len(batch))
        return True

    async def _write_each(self, batch: list[_Record], error: Exception) -> bool:
        """One of the entries cannot be written: the others must not be lost with it."""
        if len(batch) == 1:
            self._lose(1, error)
            return True
        half = len(batch) // 2
        return await self._write(batch[:half]) and await self._write(batch[half:])

    async def _store(self, batch: list[_Record]) -> None:
        shelves = Shelves(self._clock(), self._settings.config.keep_days)
        rows = latest_of_each(row(one.entry, one.record, shelves) for one in batch)
        try:
            await self._take_in(rows)
        except Exception as error:
            if not lacks_partition(error):
                raise
            self._partitions.clear()
            await self._take_in(rows)

    async def _take_in(self, rows: list[Values]) -> None:
        assert self._connection is not None
        await self._make_partitions({one[0] for one in rows if isinstance(one[0], date)})
        async with self._connection.transaction():
            await self._connection.copy_records_to_table("dragoman_arriving", records=rows, columns=COLUMNS)
            await self._connection.execute(TAKE_IN)

    async def _make_partitions(self, days: set[date]) -> None:
        assert self._connection is not None
        if days <= self._partitions:
            return
        async with self._connection.transaction():
            await self._connection.execute("SELECT pg_advisory_xact_lock($1)", LOCK)
            for day in sorted(days - self._partitions):
                await self._connection.execute(partition(day))
        self._partitions |= days

    async def _sweep_now_and_then(self, count: int) -> None:
        """What is too old or too much leaves. A sweep that fails is tried again after the next batches."""
        self._since_sweep += count
        config = self._settings.config
        if self._since_sweep < sweep_interval(config.keep_requests) or self._connection is None:
            return
        try:
            await sweep(self._connection, self._clock(), config)
        except Exception as error:
            self._last_error = f"sweep: {type(error).__name__}: {error}"
            return
        self._since_sweep = 0

    # The spool

    async def _replay_own(self) -> None:
        assert self._spool is not None
        if await self._replay(self._spool.read()):
            self._spool.clear()

    async def _replay_others(self) -> None:
        """What processes that are gone have left."""
        self._others_may_wait = False
        if self._spool is None:
            return
        for path in self._spool.left_behind():
            if not await self._replay(read_records(path)):
                return
            path.unlink(missing_ok=True)

    async def _replay(self, records: Iterable[bytes]) -> bool:
        """Whether all of them are in the database now. One that cannot be read is counted as lost."""
        remaining = iter(records)
        while chunk := list(islice(remaining, BATCH)):
            batch = [one for one in map(self._read, chunk) if one is not None]
            if self._connection is None or (batch and not await self._write(batch)):
                return False
        return True

    def _read(self, record: bytes) -> _Record | None:
        try:
            return _Record(decode(record), record)
        except msgspec.DecodeError as error:
            self._lose(1, error)
            return None
