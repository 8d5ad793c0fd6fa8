"""Alarms: they ring once, in their order, not before their time, and not when stopped."""

from __future__ import annotations

import asyncio

from dragoman.gateway.inbound import TICK, CoarseTimer


async def test_alarms_ring_once_and_in_time() -> None:
    timer, rung = CoarseTimer(), list[str]()
    begun = asyncio.get_running_loop().time()
    ended = asyncio.Event()
    timer.after(3 * TICK, ended.set)
    timer.after(TICK, lambda: rung.append("early"))
    stopped = timer.after(TICK, lambda: rung.append("stopped"))
    stopped.stop()
    await ended.wait()
    assert asyncio.get_running_loop().time() - begun >= 3 * TICK - 0.01
    assert rung == ["early"]
    assert not timer.timeouts


async def test_an_alarm_may_set_another_and_stop_a_third() -> None:
    timer, rung = CoarseTimer(), list[str]()
    ended = asyncio.Event()
    other = timer.after(60, lambda: rung.append("other"))

    def again() -> None:
        other.stop()
        timer.after(0, ended.set)

    timer.after(0, again)
    await asyncio.wait_for(ended.wait(), 10)
    assert rung == []
    assert not timer.timeouts
