"""Budgets of keys: a request is booked by estimate when it is admitted, and at its cost when it is over."""

from __future__ import annotations

import msgspec

from dragoman.config.schema.keys import Budget, Unpriced
from dragoman.conversation.failures import ExhaustedBudget, Failure, FailureKind
from dragoman.conversation.replies import Usage
from dragoman.engine.exchange.destination import TargetRoute
from dragoman.gateway.callers.caller import Caller, Refused
from dragoman.gateway.http.outbound import Headers, header
from dragoman.store.clock import Clocks
from dragoman.store.contracts.budgets import Budgets, Exhausted, Periods, Spending, periods_at
from dragoman.upstream.destinations import HttpDestination

WARNING = b"x-dragoman-budget-warning"


class Hold(msgspec.Struct, frozen=True, gc=False):
    """What is booked for a request under way."""

    periods: Periods
    """The periods in which it counts."""
    amount: float = 0.0
    """In the currency of the prices."""
    headers: tuple[tuple[bytes, bytes], ...] = ()
    """What warns the client."""


async def hold(budgets: Budgets, clocks: Clocks, caller: Caller, budget: Budget, amount: float = 0.0) -> Hold:
    """Book an amount. Raises Refused if a budget has no room for it."""
    periods = periods_at(budget, clocks.wall())
    verdict = await budgets.reserve(caller.name, periods, amount)
    if isinstance(verdict, Exhausted):
        raise Refused(_exhausted(verdict, amount, clocks.wall()))
    return Hold(periods, amount, tuple(_warnings(periods, verdict, budget.warn)))


def estimate_cost(caller: Caller, tokens: int, route: TargetRoute[HttpDestination]) -> float:
    """What a request of so many tokens costs at least. Raises Refused for a model without a price."""
    if (unpriced := _find_unpriced(route)) is not None:
        refuse_unpriced(caller, f'"{unpriced.name}"')
    price = route.first.price  # None: only the provider knows it
    return price.cost(Usage(tokens)) if price is not None else 0.0


def refuse_unpriced(caller: Caller, what: str) -> None:
    """Raise Refused for what nobody can tell the cost of, unless the key may use it all the same."""
    if caller.client is not None and caller.client.key.unpriced is Unpriced.REFUSE:
        message = f"the key has a budget, and {what} has no price; set `price` of the model, or `unpriced: allow`"
        raise Refused(Failure(FailureKind.PERMISSION, message + " of the key", 403, "model_without_price"))


def _find_unpriced(route: TargetRoute[HttpDestination]) -> HttpDestination | None:
    """A destination that may be asked, and of which nobody tells what it costs."""
    others = (one for reserved in route.reserved.values() for one in reserved)
    found = (one for one in (*route.destinations, *others) if not (one.price or one.target.facts.cost_header))
    return next(found, None)


def settle(budgets: Budgets, clocks: Clocks, caller: Caller, held: Hold | None, cost: float | None) -> None:
    """Book what a request really cost. One that was not held is booked now."""
    budget = caller.budget
    if budget is None:
        return
    held = held or Hold(periods_at(budget, clocks.wall()))
    more = (cost or 0.0) - held.amount
    if more:
        budgets.settle(caller.name, held.periods, more)


def _exhausted(verdict: Exhausted, amount: float, now: float) -> Failure:
    one = verdict.budget
    span = f"in {one.name}" if one.ends is not None else "in total"
    what = f"the key's budget of {one.limit:g} {span} is spent ({verdict.spent:.6g}"
    what += f", and this request costs about {amount:.6g})" if amount and verdict.spent < (one.limit or 0) else ")"
    if one.ends is None:
        budget, wait, what = ExhaustedBudget(one.period), None, f"{what}; it does not end"
    else:
        budget, wait = ExhaustedBudget(one.period, one.ends.timestamp()), max(one.ends.timestamp() - now, 1.0)
        what = f"{what}; it ends {one.ends.strftime('%Y-%m-%dT%H:%M:%SZ')}"
    return Failure(FailureKind.QUOTA, what, 429, "budget_exhausted", retry_after=wait, budget=budget)


def _warnings(periods: Periods, spending: Spending, warn: float) -> Headers:
    near = [
        f"{one.period};spent={spent:.6g};limit={one.limit:g}"
        for one, spent in zip(periods, spending, strict=True)
        if one.limit is not None and spent >= warn * one.limit
    ]
    return [header(WARNING, ", ".join(near))] if near else []
