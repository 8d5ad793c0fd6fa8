"""What a model costs with the provider's cache taken into account: the price that routes compare."""

from __future__ import annotations

import msgspec

from dragoman.engine.routing.candidates import Candidate


class CacheHabits(msgspec.Struct, frozen=True, kw_only=True):
    """What is assumed of providers' caches. If a price does not tell, writing to a cache and reading from it cost so
    many times the input."""

    buffer_seconds: float = 30.0
    """A cache counts as cold so long before its end."""
    minutes_per_message: float = 2.0
    """While it lasts, a turn comes so often."""
    create_multiplier: float = 1.25
    hit_multiplier: float = 0.1


def expected_price(candidate: Candidate, warm: bool, habits: CacheHabits) -> float | None:
    """What a million tokens cost, in and out together.

    Of a warm cache the input is read. A cold one is written on the first turn and read on those that follow in time.
    """
    if candidate.price is None or candidate.input_price is None or not candidate.cache_minutes:
        return candidate.price
    plain = candidate.input_price
    read = plain * habits.hit_multiplier if candidate.cached_price is None else candidate.cached_price
    written = plain * habits.create_multiplier if candidate.written_price is None else candidate.written_price
    turns = max(1.0, candidate.cache_minutes / habits.minutes_per_message)
    return candidate.price - plain + (read if warm else (written + read * (turns - 1)) / turns)
