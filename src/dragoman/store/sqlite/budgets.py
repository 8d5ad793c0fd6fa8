"""Budgets in a file of their own beside the store, shared by all workers.

A thread does the bookings, so that neither the event loop nor a batch of the ledger stands in the way. What comes while
it is at work is booked afterwards in one transaction. A settlement, for which nobody waits, goes with the next booking
or a few milliseconds later. The file is made when a key with a budget is first used.
"""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import Sequence
from concurrent.futures import Future
from functools import partial
from pathlib import Path
from threading import Lock

from msgspec import Struct

from dragoman.store.contracts.budgets import Exhausted, Periods, Spending, find_exhausted
from dragoman.store.memory.budgets import MemoryBudgets
from dragoman.store.sqlite.file_thread import DEADLINE, FileThread
from dragoman.store.sqlite.tables import open_budgets, transaction

_READ = "SELECT amount FROM budgets WHERE key = ? AND period = ?"
_FORGET = "DELETE FROM budgets WHERE key = ?"
_WRITE = "INSERT INTO budgets VALUES (?, ?, ?) ON CONFLICT (key, period) DO UPDATE SET amount = excluded.amount"
SETTLED_WITHIN = 0.01
"""Seconds that a settlement waits for a booking to go with."""
Verdict = Spending | Exhausted


class BudgetBooking(Struct, frozen=True):
    """An amount of a key, and who waits for what is said of it. A settlement is booked whether it fits or not."""

    key: str
    periods: Periods
    amount: float
    verdict: Future[Verdict]
    settles: bool = False


class SqliteBudgets(FileThread):
    """`Budgets` in a file."""

    def __init__(self, path: Path) -> None:
        super().__init__(path, "dragoman-budgets")
        self._near = MemoryBudgets()
        self._connection: sqlite3.Connection | None = None
        self._waiting: list[BudgetBooking] = []
        self._asked = False
        """The thread was asked to book what waits."""
        self._is_closed = False
        """Nothing is booked any more."""
        self._lock = Lock()

    async def reserve(self, key: str, periods: Periods, amount: float) -> Verdict:
        booking = self._put(BudgetBooking(key, periods, amount, Future()))
        self._book_soon()
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
        settled = self._put(BudgetBooking(key, periods, amount, Future(), settles=True))
        settled.add_done_callback(self._note_failure)
        try:
            asyncio.get_running_loop().call_later(SETTLED_WITHIN, self._book_soon)
        except RuntimeError:  # no event loop
            self._book_soon()

    async def forget(self, key: str) -> int:
        """Remove what a key has spent; in how many periods. Raises sqlite3.Error."""
        self._near.forget(key)
        self._book_soon()  # or a settlement that waits would bring the key back
        return await asyncio.wrap_future(self._thread.submit(self._forget, key))

    def _close(self) -> None:
        self._book_waiting()
        if self._connection is not None:
            self._connection.close()
        self._is_closed = True
        self._refuse(self._take(), RuntimeError("the file of the budgets is closed"))

    def _put(self, booking: BudgetBooking) -> Future[Verdict]:
        with self._lock:
            self._waiting.append(booking)
        return booking.verdict

    def _book_soon(self) -> None:
        """Have the thread book what waits."""
        if self._waiting and not self._asked:
            self._asked = True
            try:
                self._thread.submit(self._book_waiting)
            except RuntimeError as error:  # closed, or being closed: then the thread books it before it ends
                if self._is_closed:
                    self._refuse(self._take(), error)

    def _take(self) -> list[BudgetBooking]:
        """What waits, but for what nobody wants any more."""
        with self._lock:
            taken, self._waiting = self._waiting, []
            self._asked = False
        return [one for one in taken if one.verdict.set_running_or_notify_cancel()]

    def _book_waiting(self) -> None:
        bookings = self._take()
        try:
            verdicts = self._book(bookings) if bookings else ()
        except Exception as error:
            self._refuse(bookings, error)
            return
        for one, verdict in zip(bookings, verdicts, strict=True):
            one.verdict.set_result(verdict)

    def _refuse(self, bookings: Sequence[BudgetBooking], error: Exception) -> None:
        for one in bookings:
            one.verdict.set_exception(error)

    def _book(self, bookings: Sequence[BudgetBooking]) -> list[Verdict]:
        """Decide and book, as one. Amounts are read once and written once, however many bookings add to them."""
        spent: dict[tuple[str, str], float] = {}
        connection = self._open()
        with transaction(connection):
            verdicts = [self._decide(one, spent) for one in bookings]
            connection.executemany(_WRITE, [(*named, amount) for named, amount in spent.items()])
        return verdicts

    def _decide(self, one: BudgetBooking, spent: dict[tuple[str, str], float]) -> Verdict:
        """`spent`: what keys have spent in periods, as far as it was read. What is booked is added to it."""
        names = [(one.key, period.name) for period in one.periods]
        for named in names:
            if named not in spent:
                row = self._open().execute(_READ, named).fetchone()
                spent[named] = float(row[0]) if row is not None else 0.0
        full = None if one.settles else find_exhausted([spent[named] for named in names], one.periods, one.amount)
        if full is not None:
            return full
        for named in names:
            spent[named] += one.amount
        return tuple(spent[named] for named in names)

    def _forget(self, key: str) -> int:
        return self._open().execute(_FORGET, (key,)).rowcount if self._path.exists() else 0

    def _open(self) -> sqlite3.Connection:
        if self._connection is None:
            self._connection = open_budgets(self._path, wait=DEADLINE / 2)
        return self._connection

    def _correct(self, booking: Future[Verdict], key: str, periods: Periods, admitted: float, amount: float) -> None:
        """After a booking that nobody waited for: have the file hold what was admitted without it, and nothing else."""
        failed = booking.cancelled() or booking.exception() is not None
        booked = 0.0 if failed or isinstance(booking.result(), Exhausted) else amount
        if admitted != booked:
            self._book([BudgetBooking(key, periods, admitted - booked, Future(), settles=True)])
