"""What keys may spend: booked when a request is admitted, corrected when its cost is known."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from functools import lru_cache
from typing import Protocol

from msgspec import Struct

from dragoman.config.schema.keys import Budget

_DAY = 86_400


class Period(StrEnum):
    """How long a budget lasts. Days and months are those of UTC."""

    TOTAL = "total"
    MONTH = "month"
    DAY = "day"


class PeriodBudget(Struct, frozen=True):
    """What may be spent in one period."""

    period: Period
    name: str
    limit: float | None = None
    """None if it is not limited."""
    ends: datetime | None = None
    """None if it never does."""


Periods = tuple[PeriodBudget, ...]
Spending = tuple[float, ...]
"""What is spent in each period, in their order."""


class Exhausted(Struct, frozen=True):
    """The request does not fit into this budget."""

    budget: PeriodBudget
    spent: float


def periods_at(budget: Budget, now: float) -> Periods:
    """The periods of a moment, the longest first. All are counted, so that a limit that is set later knows the past."""
    return _periods_on(budget, int(now // _DAY))


@lru_cache(maxsize=1024)
def _periods_on(budget: Budget, day: int) -> Periods:
    today = datetime.fromtimestamp(day * _DAY, UTC)
    next_month = (today.replace(day=1) + timedelta(days=32)).replace(day=1)
    return (
        PeriodBudget(Period.TOTAL, "total", budget.total),
        PeriodBudget(Period.MONTH, f"month {today:%Y-%m}", budget.month, next_month),
        PeriodBudget(Period.DAY, f"day {today:%Y-%m-%d}", budget.day, today + timedelta(days=1)),
    )


def find_exhausted(spent: Sequence[float], periods: Periods, amount: float) -> Exhausted | None:
    """The longest budget that has no room for an amount."""
    for used, one in zip(spent, periods, strict=True):
        if one.limit is not None and (used >= one.limit or used + amount > one.limit):
            return Exhausted(one, used)
    return None


class Budgets(Protocol):
    """Amounts by key and period.

    Atomicity: deciding and booking are one step, for all tasks and workers that share the backend. What is admitted
    never adds up to more than the budget; only what the requests under way cost beyond their estimates comes on top.

    Consistency: a booking counts everywhere when `reserve` returns, a settlement within milliseconds.

    Expiry: a total never, months and days when they are long over. What may be lost: settlements that wait while the
    process is killed. The estimate of such a request stays booked.

    What a failure means: if the shared amounts cannot be reached within the deadline, this process decides by what
    it last knew. The failure is counted. A budget is never off.
    """

    async def reserve(self, key: str, periods: Periods, amount: float) -> Spending | Exhausted:
        """Book an amount if it fits into every budget, and tell what is then spent."""

    def settle(self, key: str, periods: Periods, amount: float) -> None:
        """Book an amount that was not known before; a negative one gives back. Never waits, never fails."""
