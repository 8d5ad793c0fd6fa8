"""The promises of the budgets."""

from __future__ import annotations

import asyncio
import sqlite3
import threading
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from tests.store.contract.backends import Backend

from dragoman.config.schema.keys import Budget
from dragoman.store.contracts.budgets import Exhausted, Period, periods_at
from dragoman.store.sqlite import budgets as sqlite_budgets
from dragoman.store.sqlite.budgets import SqliteBudgets

NOON = datetime(2026, 11, 15, 12, tzinfo=UTC).timestamp()
DAY = 86_400
ALL = Budget(day=5, month=50, total=200)


async def test_what_is_admitted_never_adds_up_to_more_than_the_budget(backend: Backend) -> None:
    budgets, periods = (await backend.open()).budgets, periods_at(Budget(day=1), NOON)
    verdicts = await asyncio.gather(*(budgets.reserve("anna", periods, 0.25) for _ in range(20)))
    granted = [verdict for verdict in verdicts if not isinstance(verdict, Exhausted)]
    assert len(granted) == 4
    assert {verdict[2] for verdict in granted} == {0.25, 0.5, 0.75, 1.0}


async def test_what_is_settled_counts_and_what_is_given_back_does_not(backend: Backend) -> None:
    budgets, periods = (await backend.open()).budgets, periods_at(Budget(total=1), NOON)
    await budgets.reserve("anna", periods, 0.5)
    budgets.settle("anna", periods, -0.25)
    assert await budgets.reserve("anna", periods, 0.75) == (1.0, 1.0, 1.0)
    budgets.settle("anna", periods, 3.0)
    full = await budgets.reserve("anna", periods, 0.0)
    assert isinstance(full, Exhausted)
    assert (full.budget.period, full.spent) == (Period.TOTAL, 4.0)


async def test_a_request_that_does_not_fit_is_not_booked(backend: Backend) -> None:
    budgets, periods = (await backend.open()).budgets, periods_at(Budget(day=1), NOON)
    assert isinstance(await budgets.reserve("anna", periods, 1.5), Exhausted)
    assert await budgets.reserve("anna", periods, 0.5) == (0.5, 0.5, 0.5)


async def test_keys_and_periods_are_counted_apart(backend: Backend) -> None:
    budgets = (await backend.open()).budgets
    today, tomorrow = periods_at(ALL, NOON), periods_at(ALL, NOON + DAY)
    in_december = periods_at(ALL, NOON + 20 * DAY)
    assert await budgets.reserve("anna", today, 5.0) == (5.0, 5.0, 5.0)
    assert isinstance(await budgets.reserve("anna", today, 0.1), Exhausted)
    assert await budgets.reserve("bert", today, 1.0) == (1.0, 1.0, 1.0)
    assert await budgets.reserve("anna", tomorrow, 2.0) == (7.0, 7.0, 2.0)
    assert await budgets.reserve("anna", in_december, 1.0) == (8.0, 1.0, 1.0)


async def test_a_limit_that_is_set_later_knows_the_past(backend: Backend) -> None:
    budgets = (await backend.open()).budgets
    await budgets.reserve("anna", periods_at(Budget(day=5), NOON), 4.0)
    full = await budgets.reserve("anna", periods_at(Budget(month=3), NOON), 0.0)
    assert isinstance(full, Exhausted)
    assert full.budget.period is Period.MONTH


async def test_the_longest_budget_that_is_spent_is_named(backend: Backend) -> None:
    budgets, periods = (await backend.open()).budgets, periods_at(Budget(day=1, month=1), NOON)
    await budgets.reserve("anna", periods, 1.0)
    full = await budgets.reserve("anna", periods, 0.0)
    assert isinstance(full, Exhausted)
    assert (full.budget.name, full.budget.ends) == ("month 2026-11", datetime(2026, 12, 1, tzinfo=UTC))


async def test_a_budget_of_nothing_admits_nothing(backend: Backend) -> None:
    assert isinstance(
        await (await backend.open()).budgets.reserve("anna", periods_at(Budget(total=0), NOON), 0.0), Exhausted
    )


@pytest.mark.parametrize(
    ("moment", "month_ends", "day_ends"),
    [
        ("2026-12-31T23:59:59", "2027-01-01", "2027-01-01"),
        ("2028-02-29T00:00:00", "2028-03-01", "2028-03-01"),
        ("2026-01-31T12:00:00", "2026-02-01", "2026-02-01"),
        ("2026-11-01T00:00:00", "2026-12-01", "2026-11-02"),
    ],
)
def test_periods_end_where_the_calendar_says(moment: str, month_ends: str, day_ends: str) -> None:
    now = datetime.fromisoformat(moment).replace(tzinfo=UTC).timestamp()
    total, month, day = periods_at(ALL, now)
    ends = [one.ends.date().isoformat() for one in (month, day) if one.ends is not None]
    assert (total.ends, ends) == (None, [month_ends, day_ends])


async def test_workers_share_one_budget(backend: Backend) -> None:
    if not backend.shared:
        pytest.skip("each worker has its own")
    workers, periods = [(await backend.open()).budgets for _ in range(3)], periods_at(Budget(total=1), NOON)
    verdicts = await asyncio.gather(*(workers[n % 3].reserve("anna", periods, 0.25) for n in range(12)))
    assert sum(not isinstance(verdict, Exhausted) for verdict in verdicts) == 4


async def test_what_is_spent_is_there_after_a_restart(backend: Backend) -> None:
    if not backend.lasting:
        pytest.skip("nothing lasts")
    periods, first = periods_at(ALL, NOON), await backend.open()
    await first.budgets.reserve("anna", periods, 1.0)
    first.budgets.settle("anna", periods, 0.5)
    await first.aclose()
    assert await (await backend.open()).budgets.reserve("anna", periods, 0.25) == (1.75, 1.75, 1.75)


async def test_a_settlement_is_booked_if_its_time_comes_while_the_file_is_being_closed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("dragoman.store.sqlite.budgets.SETTLED_WITHIN", 3600)
    budgets, periods, released = SqliteBudgets(tmp_path / "b"), periods_at(ALL, NOON), threading.Event()
    await budgets.reserve("anna", periods, 1.0)
    budgets._thread.submit(released.wait, 60)
    budgets.settle("anna", periods, 0.5)
    budgets._later(budgets._close)  # as `close` does, which waits for the thread
    budgets._thread.shutdown(wait=False)
    budgets._book_soon()
    released.set()
    budgets.close()
    assert await SqliteBudgets(tmp_path / "b").reserve("anna", periods, 0.25) == (1.75, 1.75, 1.75)


async def test_a_file_that_cannot_be_used_leaves_the_budget_on(tmp_path: Path) -> None:
    budgets, periods = SqliteBudgets(tmp_path / "b"), periods_at(Budget(total=1), NOON)
    (tmp_path / "b").write_bytes(b"no database at all" * 100)
    assert await budgets.reserve("anna", periods, 0.75) == (0.75, 0.75, 0.75)
    assert isinstance(await budgets.reserve("anna", periods, 0.5), Exhausted)
    assert budgets.last_error is not None
    budgets.close()
    assert budgets.failed == 3, "two verdicts without the file, and an amount that it does not have"


@pytest.mark.parametrize("fault", ["late", "never begun", "failed"])
async def test_what_is_admitted_without_the_file_is_booked_in_it_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, fault: str
) -> None:
    """Or the estimate is taken off when the request is settled, and was never there."""
    path, periods, released = tmp_path / "b", periods_at(Budget(total=1), NOON), threading.Event()
    budgets, book = SqliteBudgets(path), SqliteBudgets._book
    await budgets.reserve("anna", periods, 0.25)

    def held(*given: Any) -> Any:
        assert released.wait(60)
        if fault == "failed":
            raise sqlite3.OperationalError("database is locked")
        return book(*given)

    with monkeypatch.context() as patched:
        patched.setattr(sqlite_budgets, "DEADLINE", 0.05)
        patched.setattr(SqliteBudgets, "_book", held)
        if fault == "never begun":
            budgets._later(lambda: released.wait(60))
        assert await budgets.reserve("anna", periods, 0.5) == (0.75, 0.75, 0.75)
    released.set()
    budgets.settle("anna", periods, -0.125)
    budgets.close()
    again = SqliteBudgets(path)
    assert await again.reserve("anna", periods, 0.0) == (0.625, 0.625, 0.625)
    again.close()


async def test_what_comes_while_the_file_is_busy_is_booked_in_one_transaction(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, periods, sizes, book = tmp_path / "b", periods_at(Budget(total=1), NOON), list[int](), SqliteBudgets._book
    released = threading.Event()

    def counted(self: SqliteBudgets, bookings: Any) -> Any:
        assert released.wait(60)
        sizes.append(len(bookings))
        return book(self, bookings)

    monkeypatch.setattr(SqliteBudgets, "_book", counted)
    budgets = SqliteBudgets(path)
    asked = [asyncio.create_task(budgets.reserve(key, periods, 0.25)) for key in ("anna", "bert") for _ in range(6)]
    await asyncio.sleep(0)
    budgets.settle("anna", periods, 0.5)
    released.set()
    verdicts = await asyncio.gather(*asked)
    assert sum(isinstance(verdict, Exhausted) for verdict in verdicts) == 4
    budgets.close()
    assert sum(sizes) == 13
    assert len(sizes) < 4, "the first alone, and the others together"
    again = SqliteBudgets(path)
    assert isinstance(await again.reserve("bert", periods, 0.25), Exhausted)
    assert (await again.reserve("anna", periods_at(Budget(), NOON), 0.0)) == (1.5, 1.5, 1.5)
    again.close()


async def test_a_settlement_that_waits_does_not_bring_a_forgotten_key_back(tmp_path: Path) -> None:
    budgets, periods = SqliteBudgets(tmp_path / "b"), periods_at(Budget(total=1), NOON)
    await budgets.reserve("anna", periods, 0.25)
    budgets.settle("anna", periods, 0.5)
    assert await budgets.forget("anna") == 3
    assert await budgets.reserve("anna", periods, 0.0) == (0.0, 0.0, 0.0)
    budgets.close()


async def test_a_settlement_is_booked_soon_although_nothing_else_is(tmp_path: Path) -> None:
    budgets, periods = SqliteBudgets(tmp_path / "b"), periods_at(Budget(total=1), NOON)
    budgets.settle("anna", periods, 0.5)
    other = SqliteBudgets(tmp_path / "b")
    for _ in range(6000):
        if await other.reserve("anna", periods, 0.0) == (0.5, 0.5, 0.5):
            break
        await asyncio.sleep(0.01)
    else:
        raise AssertionError("it was not booked within a minute")
    other.close()
    budgets.close()


async def test_a_request_that_is_cancelled_while_it_is_booked_leaves_nothing(backend: Backend) -> None:
    budgets, periods = (await backend.open()).budgets, periods_at(Budget(total=1), NOON)
    await budgets.reserve("anna", periods, 0.25)
    waiting = asyncio.ensure_future(budgets.reserve("anna", periods, 0.5))
    await asyncio.sleep(0)
    if waiting.done():
        pytest.skip("a booking in memory does not wait")
    waiting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await waiting
    for _ in range(100):  # the thread gives it back after the booking, and before any later one
        spent = await budgets.reserve("anna", periods, 0.0)
        if spent == (0.25, 0.25, 0.25):
            return
    raise AssertionError(spent)
