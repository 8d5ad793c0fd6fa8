"""Alarms: they ring once, in their order, not before their time, and not when stopped."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from tests.upstream.transport_servers import on_a_stepped_clock, step

from dragoman.gateway.http.coarse_timer import TICK, CoarseTimeout, CoarseTimer


class Alarm(CoarseTimeout):
    def __init__(self, timer: CoarseTimer, seconds: float, ring: Callable[[], object]) -> None:
        super().__init__(timer, seconds)
        self.ring = ring

    def on_timeout(self) -> None:
        self.ring()


@on_a_stepped_clock
async def test_alarms_ring_once_and_in_time() -> None:
    timer, rung, ticks = CoarseTimer(), list[str](), list[list[str]]()
    Alarm(timer, 3 * TICK, lambda: rung.append("late"))
    Alarm(timer, TICK, lambda: rung.append("early"))
    stopped = Alarm(timer, TICK, lambda: rung.append("stopped"))
    stopped.stop()
    for _ in range(5):
        ticks.append([*rung])
        await step(TICK)
    assert ticks == [[], [], ["early"], ["early"], ["early", "late"]]
    assert rung == ["early", "late"]
    assert not timer.timeouts


@on_a_stepped_clock
async def test_an_alarm_may_set_another_and_stop_a_third() -> None:
    timer, rung = CoarseTimer(), list[str]()
    ended = asyncio.Event()
    other = Alarm(timer, 60, lambda: rung.append("other"))

    def again() -> None:
        other.stop()
        Alarm(timer, 0, ended.set)

    Alarm(timer, 0, again)
    await step(TICK)
    await step(TICK)
    assert ended.is_set()
    assert rung == []
    assert not timer.timeouts


@on_a_stepped_clock
async def test_an_alarm_that_another_of_the_same_tick_stops_does_not_ring() -> None:
    timer, rung = CoarseTimer(), list[str]()
    ended = asyncio.Event()
    alarms: list[Alarm] = []

    def ring_alone() -> None:
        rung.append("one")
        for alarm in alarms:
            alarm.stop()

    alarms += [Alarm(timer, 0, ring_alone) for _ in range(5)]
    Alarm(timer, TICK, ended.set)
    await step(TICK)
    await step(TICK)
    assert ended.is_set()
    assert rung == ["one"]
