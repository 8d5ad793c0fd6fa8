"""The promises of calibrations."""

from __future__ import annotations

import asyncio

from tests.store.contract.backends import Backend

from dragoman.engine.history.calibration import Calibration, CountedTokens, observe_count

ONE = observe_count(None, CountedTokens(1_000, 1_300))
TWO = observe_count(ONE, CountedTokens(2_000, 2_600))
DAY = 86_400


async def test_the_last_writer_wins(backend: Backend) -> None:
    calibrations = (await backend.open()).calibrations
    assert calibrations.find("openai/a") is None
    calibrations.put("openai/a", ONE)
    assert calibrations.find("openai/a") == ONE
    calibrations.put("openai/a", TWO)
    assert calibrations.find("openai/a") == TWO
    assert calibrations.find("openai/b") is None


async def test_a_calibration_is_forgotten_thirty_days_after_it_was_put(backend: Backend) -> None:
    calibrations = (await backend.open()).calibrations
    calibrations.put("openai/a", ONE)
    backend.time.advance(29 * DAY)
    calibrations.find("openai/a")  # a look is no use: models change behind their names
    assert calibrations.find("openai/a") == ONE
    backend.time.advance(DAY + 1)
    assert calibrations.find("openai/a") is None


async def test_those_that_were_put_first_go_first(backend: Backend) -> None:
    store = await backend.open()
    for number in range(4_097):
        store.calibrations.put(f"openai/{number}", Calibration(count=number + 1))
    store.calibrations.put("openai/1", ONE)
    store.calibrations.put("openai/new", ONE)
    assert store.calibrations.find("openai/0") is None
    assert store.calibrations.find("openai/2") is None
    assert store.calibrations.find("openai/1") == ONE
    assert store.calibrations.find("openai/4096") == Calibration(count=4_097)


async def test_another_worker_finds_it_within_a_minute(shared: Backend) -> None:
    one, two = await shared.open(), await shared.open()
    assert two.calibrations.find("openai/a") is None
    one.calibrations.put("openai/a", ONE)
    await one.flush()
    shared.time.advance(60)
    two.calibrations.find("openai/a")
    for _ in range(500):
        if two.calibrations.find("openai/a") is not None:
            break
        await asyncio.sleep(0.01)
    assert two.calibrations.find("openai/a") == ONE


async def test_a_calibration_is_there_after_a_restart(lasting: Backend) -> None:
    first = await lasting.open()
    first.calibrations.put("openai/a", ONE)
    first.calibrations.put("openai/a", TWO)
    await first.aclose()
    assert (await lasting.open()).calibrations.find("openai/a") == TWO


async def test_what_is_put_while_the_file_is_read_stays(shared: Backend) -> None:
    one, two = await shared.open(), await shared.open()
    one.calibrations.put("openai/a", ONE)
    await one.flush()
    shared.time.advance(60)
    two.calibrations.find("openai/a")  # begins to read
    two.calibrations.put("openai/a", TWO)
    for _ in range(20):
        await asyncio.sleep(0.01)
        assert two.calibrations.find("openai/a") == TWO
