"""Limits that one process keeps by itself."""

from __future__ import annotations

from dragoman.store.rate_limits import Allowed, KeyLimits, Limited
from dragoman.store.rate_windows import RateWindows


class MemoryLimits:
    """`RateLimits` of one process."""

    def __init__(self, windows: RateWindows) -> None:
        self._windows = windows

    async def reserve(self, key: str, limits: KeyLimits, tokens: int = 0) -> Allowed | Limited:
        return self._windows.reserve(key, limits, tokens)

    def forget(self, key: str) -> int:
        return self._windows.forget(key)

    def settle(self, key: str, tokens: int) -> None:
        self._windows.add(key, 0, tokens)
