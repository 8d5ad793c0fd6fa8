"""Budgets in a file of their own beside the store, shared by all workers.

A thread does the bookings, one short transaction each, so that neither the event loop nor a batch of the ledger stands
in the way. The file is made when a key with a budget is first used.
"""

from __future__ import annotations

import asyncio
import sqlite3
from concurrent.futures import Future
from functools import partial
from pathlib import Path

from dragoman.store.contracts.budgets import Exhausted, Periods, Spending, find_exhausted
from dragoman.store.memory.budgets import MemoryBudgets
from dragoman.store.sqlite.file_thread import DEADLINE, FileThread
from dragoman.store.sqlite.tables import open_budgets, transaction

_READ = "SELECT amount FROM budgets WHERE key = ? AND period = ?"
_FORGET = "DELETE FROM budgets WHERE key = ?"
_ADD = """
INSERT INTO budgets VALUES (?, ?, ?) ON CONFLICT (key, period) DO UPDATE SET amount = amount + excluded.amount"""


class SqliteBudgets(FileThread):
    """`Budgets` in a file."""

    def __init__(self, path: Path) -> None:
        super().__init__(path, "dragoman-budgets")
        self._near = MemoryBudgets()
        self._connection: sqlite3.Connection | None = None

    async def reserve(self, key: str, periods: Periods, amount: float) -> Spending | Exhausted:
        booking = self._begin(partial(self._reserve, key, periods, amount))
        try:
            async with asyncio.timeout(DEADLINE):
                verdict = await asyncio.wrap_future(booking)
        except asyncio.CancelledError:  # nobody is left who would settle it
            self._later(partial(self._correct, booking, key, periods, 0.0, amount))
            raise
        except Exception as error:  # whatever is wrong with the file, this process knows what it knew
            self._note(error)
            verdict = self._near.decide(key, periods, amount)
            admitted = 0.0 if isinstance(verdict, Exhausted) else amount
            self._later(partial(self._correct, booking, key, periods, admitted, amount))
            return verdict
        if not isinstance(verdict, Exhausted):
            self._near.know(key, periods, verdict)
        return verdict

    def settle(self, key: str, periods: Periods, amount: float) -> None:
        self._near.settle(key, periods, amount)
        self._later(partial(self._settle, key, periods, amount))

    async def forget(self, key: str) -> int:
        """Remove what a key has spent; in how many periods. Raises sqlite3.Error."""
        self._near.forget(key)
        return await asyncio.wrap_future(self._thread.submit(self._forget, key))

    def _close(self) -> None:
        if self._connection is not None:
            self._connection.close()

    def _reserve(self, key: str, periods: Periods, amount: float) -> Spending | Exhausted:
        with transaction(self._opened()):
            full = find_exhausted(self._read(key, periods), periods, amount)
            return self._add(key, periods, amount) if full is None else full

    def _settle(self, key: str, periods: Periods, amount: float) -> None:
        with transaction(self._opened()):
            self._add(key, periods, amount)

    def _forget(self, key: str) -> int:
        return self._opened().execute(_FORGET, (key,)).rowcount if self._path.exists() else 0

    def _add(self, key: str, periods: Periods, amount: float) -> Spending:
        self._opened().executemany(_ADD, [(key, one.name, amount) for one in periods])
        return self._read(key, periods)

    def _read(self, key: str, periods: Periods) -> Spending:
        rows = [self._opened().execute(_READ, (key, one.name)).fetchone() for one in periods]
        return tuple(float(row[0]) if row is not None else 0.0 for row in rows)

    def _opened(self) -> sqlite3.Connection:
        if self._connection is None:
            self._connection = open_budgets(self._path, wait=DEADLINE / 2)
        return self._connection

    def _correct(
        self, booking: Future[Spending | Exhausted], key: str, periods: Periods, admitted: float, amount: float
    ) -> None:
        """After a booking that nobody waited for: have the file hold what was admitted without it, and nothing else."""
        failed = booking.cancelled() or booking.exception() is not None
        booked = 0.0 if failed or isinstance(booking.result(), Exhausted) else amount
        if admitted != booked:
            self._settle(key, periods, admitted - booked)
