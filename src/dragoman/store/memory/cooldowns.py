"""The cooldowns that this process knows."""

from __future__ import annotations

from dragoman.store.clock import Clock
from dragoman.store.contracts.cooldowns import LONGEST, MOST_COOLDOWNS


class MemoryCooldowns:
    """`Cooldowns` of one process."""

    def __init__(self, steady: Clock) -> None:
        self._now = steady
        self._until: dict[str, float] = {}

    def rest(self, name: str, seconds: float) -> None:
        now = self._now()
        self._until[name] = max(self._until.get(name, 0.0), now + min(seconds, LONGEST))
        if len(self._until) > MOST_COOLDOWNS:
            self._shrink(now)

    def clear(self, name: str) -> None:
        self._until.pop(name, None)

    def remaining(self, name: str) -> float:
        if not self._until:
            return 0.0
        return max(self._until.get(name, 0.0) - self._now(), 0.0)

    def resting(self) -> dict[str, float]:
        now = self._now()
        return {name: until - now for name, until in self._until.items() if until > now}

    def replace(self, seconds: dict[str, float]) -> None:
        """Take what another place knows. What is known here already keeps its end, so that it does not move about."""
        now = self._now()
        known = self._until
        self._until = {name: known[name] if name in known else now + more for name, more in seconds.items()}

    def _shrink(self, now: float) -> None:
        """Drop what is over, and else what ends first."""
        self._until = {name: until for name, until in self._until.items() if until > now}
        for name in sorted(self._until, key=lambda one: self._until[one])[: len(self._until) - MOST_COOLDOWNS]:
            del self._until[name]
