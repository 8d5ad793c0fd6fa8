"""Redis for what requests need at once: limits, budgets, reasoning state, pins, lessons, stored answers, cooldowns."""

from __future__ import annotations

from dragoman.store.redis_store.address import parse_address
from dragoman.store.redis_store.inspection import inspect
from dragoman.store.redis_store.store import RedisStore
from dragoman.store.shared_backends import StoreOpening


def open_part(opening: StoreOpening) -> RedisStore:
    """The hot part that `store.hot` names. Connects to nothing yet. Raises StoreError."""
    assert opening.config.hot is not None
    return RedisStore(parse_address(opening.config.hot.reveal()), opening.config, opening.clocks)


__all__ = ["RedisStore", "inspect", "open_part", "parse_address"]
