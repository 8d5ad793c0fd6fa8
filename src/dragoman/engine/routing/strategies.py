"""Orders of preference that need no model to decide: each gives all candidates, the first choice first."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from enum import StrEnum
from functools import partial

from dragoman.engine.routing.candidates import Candidate
from dragoman.engine.routing.needs import Needs


class Strategy(StrEnum):
    """How a route chooses."""

    MODEL = "model"
    """A small model chooses."""
    ORDER = "order"
    """As configured."""
    WEIGHTED = "weighted"
    """At random, by weight."""
    CHEAPEST = "cheapest"
    """By price."""
    FASTEST = "fastest"
    """By the time to the first byte."""
    LEAST_BUSY = "least_busy"
    """By the requests under way."""
    SIZE = "size"
    """The smallest context window that is enough."""
    RATING = "rating"
    """The highest mean rating."""


def order_candidates(
    candidates: Sequence[Candidate], strategy: Strategy, needs: Needs, chance: float
) -> tuple[tuple[Candidate, ...], str]:
    """The candidates in order of preference, and the reason. `chance` is a number from 0 to 1."""
    return _ORDERS[strategy](candidates, needs, chance)


Order = tuple[tuple[Candidate, ...], str]


def _as_configured(candidates: Sequence[Candidate], needs: Needs, chance: float) -> Order:
    return tuple(candidates), "the first of the route"


def _draw_by_weight(candidates: Sequence[Candidate], needs: Needs, chance: float) -> Order:
    """One is drawn by weight; the others follow in falling weight."""
    total = sum(one.weight for one in candidates)
    left = chance * total
    drawn = candidates[-1]
    for one in candidates:
        left -= one.weight
        if left < 0:
            drawn = one
            break
    others = sorted((one for one in candidates if one is not drawn), key=lambda one: -one.weight)
    return (drawn, *others), f"drawn by weight ({drawn.weight:g} of {total:g})"


def _cheapest(candidates: Sequence[Candidate], needs: Needs, chance: float) -> Order:
    found = _sort(candidates, lambda one: one.price)
    price = found[0].price
    return found, "no price is known" if price is None else f"the cheapest, {price:g} for a million tokens"


def _fastest(candidates: Sequence[Candidate], needs: Needs, chance: float) -> Order:
    """Those that were never measured go first, so that they are."""
    found = tuple(sorted(candidates, key=lambda one: one.latency or 0.0))
    first = found[0].latency
    return found, "its speed is not known yet" if first is None else f"the fastest, {first:.2f} s to the first byte"


def _least_busy(candidates: Sequence[Candidate], needs: Needs, chance: float) -> Order:
    found = tuple(sorted(candidates, key=lambda one: one.busy / max(one.weight, 1e-9)))
    return found, f"the least busy, {found[0].busy} requests under way"


def _smallest(candidates: Sequence[Candidate], needs: Needs, chance: float) -> Order:
    found = _sort(candidates, lambda one: float(one.context_window) or None)
    return found, f"the smallest context window that holds about {needs.tokens} tokens"


def _order_by_rating(candidates: Sequence[Candidate], needs: Needs, chance: float) -> Order:
    found = _sort(candidates, lambda one: None if one.score is None else -one.score)
    best = found[0].score
    return found, "no rating is known" if best is None else f"the highest rating, {best:g}"


def _sort(candidates: Sequence[Candidate], figure: Callable[[Candidate], float | None]) -> tuple[Candidate, ...]:
    """By a figure; those without one go last."""
    return tuple(sorted(candidates, key=partial(_rank, figure)))


def _rank(figure: Callable[[Candidate], float | None], candidate: Candidate) -> tuple[bool, float]:
    found = figure(candidate)
    return found is None, found or 0.0


_ORDERS: Mapping[Strategy, Callable[[Sequence[Candidate], Needs, float], Order]] = {
    Strategy.MODEL: _as_configured,
    Strategy.ORDER: _as_configured,
    Strategy.WEIGHTED: _draw_by_weight,
    Strategy.CHEAPEST: _cheapest,
    Strategy.FASTEST: _fastest,
    Strategy.LEAST_BUSY: _least_busy,
    Strategy.SIZE: _smallest,
    Strategy.RATING: _order_by_rating,
}


def by_closeness(first: Candidate, others: Sequence[Candidate]) -> tuple[Candidate, ...]:
    """Who steps in for a model: healthy ones first, then the nearest by rating, discipline by discipline."""
    return tuple(sorted(others, key=lambda one: (not one.healthy, _distance(first, one))))


def _distance(one: Candidate, other: Candidate) -> float:
    shared = one.scores.keys() & other.scores.keys()
    if not shared:
        return float("inf")
    return sum(abs(one.scores[name] - other.scores[name]) for name in shared) / len(shared)
