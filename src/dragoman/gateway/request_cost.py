"""What a request cost: what the provider says, else its tokens by the price of the model."""

from __future__ import annotations

import msgspec

from dragoman.engine.exchange import Exchange
from dragoman.engine.spent_tokens import Spent
from dragoman.upstream.destinations import HttpDestination


class Cost(msgspec.Struct, frozen=True, gc=False):
    """An amount in the currency of the prices. `reported`: by the provider itself, and not computed."""

    amount: float
    reported: bool = False

    def header(self) -> str:
        """The amount in plain digits, to a billionth."""
        return f"{self.amount:.9f}".rstrip("0").rstrip(".")


def request_cost(exchange: Exchange[HttpDestination], spent: Spent) -> Cost | None:
    """None where nothing was used, or nobody knows what it costs."""
    reported = exchange.cost
    if reported is not None:
        return Cost(reported, reported=True)
    price = exchange.destination.price if exchange.destination is not None else None
    return Cost(price.cost(spent.usage)) if price is not None and spent.usage.total else None
