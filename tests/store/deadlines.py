"""Waiting for a store, however busy the machine is; and a deadline only while no answer can come."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TypeVar

from dragoman.store.redis_store import RedisStore
from dragoman.store.store import StorePart

Part = TypeVar("Part", bound=StorePart)
NEVER_LATE = 10_000.0
"""Milliseconds: the longest deadline that can be configured."""


async def until(true: Callable[[], bool]) -> None:
    for _ in range(6000):
        if true():
            return
        await asyncio.sleep(0.01)
    raise AssertionError("it did not come true within a minute")


async def reached(store: Part) -> Part:
    """A store that was started, and whose servers are there."""
    for _ in range(60):
        await store.start()
        if not store.health().away:
            return store
    raise AssertionError(store.health().away)


@contextmanager
def hurried(store: RedisStore, seconds: float = 0.01) -> Iterator[None]:
    """Answers are late after a moment. For a server that was stopped: one that runs may be slower than that."""
    links = (store._counts, store._values)
    usual = [link._deadline for link in links]
    for link in links:
        link._deadline = seconds
    try:
        yield
    finally:
        for link, deadline in zip(links, usual, strict=True):
            link._deadline = deadline
