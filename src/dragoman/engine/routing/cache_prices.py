"""What a model costs with the provider's cache taken into account: the price that routes compare."""

from __future__ import annotations

from typing import Annotated

import msgspec
from msgspec import Meta

from dragoman.engine.routing.candidates import Candidate


class CacheHabits(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What routes assume of providers' caches, for models with a `cache_ttl`."""

    buffer_seconds: Annotated[
        float, Meta(ge=0, description="A cache counts as cold so many seconds before its end.")
    ] = 30.0
    minutes_per_message: Annotated[float, Meta(gt=0, description="How often a turn of a session comes.")] = 2.0
    create_multiplier: Annotated[
        float, Meta(ge=0, description="Times the input price for what is written, if the price has no `written`.")
    ] = 1.25
    hit_multiplier: Annotated[
        float, Meta(ge=0, description="Times the input price for what is read, if the price has no `cached`.")
    ] = 0.1


def expect_price(candidate: Candidate, warm: bool, habits: CacheHabits) -> float | None:
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
