"""The promises of pins and sessions."""

from __future__ import annotations

import asyncio

import pytest
from tests.store.contract.backends import Backend

from dragoman.store.contracts.pins import SESSION, Pin, PinOwner

ANNA = PinOwner("anna")
TALK = PinOwner("anna", "talk")


async def test_a_pin_is_its_callers_and_its_sessions_own(backend: Backend) -> None:
    pins, now = (await backend.open()).pins, backend.time.wall
    await pins.put(ANNA, {"toolu_1": Pin("groq/x", now)})
    await pins.put(TALK, {SESSION: Pin("groq/y", now), "f\x1fcall_0": Pin("groq/z", now)})
    assert await pins.find(ANNA, ["toolu_1", SESSION]) == {"toolu_1": Pin("groq/x", now)}
    assert set(await pins.find(TALK, [SESSION, "f\x1fcall_0", "toolu_1"])) == {SESSION, "f\x1fcall_0"}
    assert await pins.find(PinOwner("bert"), ["toolu_1"]) == {}
    assert await pins.find(PinOwner("bert", "talk"), [SESSION]) == {}


async def test_a_session_is_forgotten_as_a_whole_and_alone(backend: Backend) -> None:
    pins, pin = (await backend.open()).pins, Pin("groq/x", backend.time.wall)
    other = PinOwner("anna", "other")
    for owner in (ANNA, TALK, other):
        await pins.put(owner, {SESSION: pin, "k": pin})
    await pins.forget(TALK)
    await pins.forget(PinOwner("bert", "other"))
    assert await pins.find(TALK, [SESSION, "k"]) == {}
    assert len(await pins.find(other, [SESSION, "k"])) == len(await pins.find(ANNA, [SESSION, "k"])) == 2


async def test_what_was_forgotten_is_never_found_again(backend: Backend) -> None:
    pins, pin = (await backend.open()).pins, Pin("groq/x", backend.time.wall)
    for number in range(50):
        talk = PinOwner("anna", f"talk{number}")
        await pins.put(talk, {SESSION: pin})
        reads = [asyncio.create_task(pins.find(talk, [SESSION, f"k{at}"])) for at in range(3)]
        await asyncio.gather(pins.forget(talk), *reads)
        assert await pins.find(talk, [SESSION, "k0"]) == {}


async def test_a_pin_is_forgotten_a_day_after_its_last_use(backend: Backend) -> None:
    store = await backend.open()
    await store.pins.put(TALK, {SESSION: Pin("groq/x", backend.time.wall)})
    backend.time.advance(80_000)
    assert await store.pins.find(TALK, [SESSION])
    await store.flush()
    backend.time.advance(80_000)
    assert await store.pins.find(TALK, [SESSION])
    await store.flush()
    backend.time.advance(86_401)
    assert await store.pins.find(TALK, [SESSION]) == {}


@pytest.mark.sampled(3)
async def test_C23_at_most_4096_pins_of_one_caller_are_kept(backend: Backend) -> None:
    store = await backend.open()
    count = 5000 + 2 * backend.slack
    keys = [f"call_{number:08}" for number in range(count)]
    await store.pins.put(PinOwner("bert"), {"first": Pin("m", 0.0)})
    for at in range(0, count, 100):
        backend.time.advance(1)
        await store.pins.put(ANNA, dict.fromkeys(keys[at : at + 100], Pin("m", backend.time.wall)))
    await store.flush()
    found = await store.pins.find(ANNA, keys)
    assert len(found) <= 4096 + backend.slack
    assert keys[-1] in found
    assert keys[0] not in found
    assert await store.pins.find(PinOwner("bert"), ["first"])


async def test_other_workers_see_a_new_pin_at_once_and_a_change_within_two_seconds(shared: Backend) -> None:
    one, two = (await shared.open()).pins, (await shared.open()).pins
    await one.put(TALK, {SESSION: Pin("groq/x", 1.0)})
    assert (await two.find(TALK, [SESSION]))[SESSION].target == "groq/x"
    await one.put(TALK, {SESSION: Pin("groq/y", 2.0)})
    shared.time.advance(2.1)
    assert (await two.find(TALK, [SESSION]))[SESSION].target == "groq/y"
    await one.forget(TALK)
    shared.time.advance(2.1)
    assert await two.find(TALK, [SESSION]) == {}


async def test_a_pin_is_there_after_a_restart(lasting: Backend) -> None:
    first = await lasting.open()
    await first.pins.put(TALK, {SESSION: Pin("groq/x", 1.5)})
    await first.aclose()
    assert await (await lasting.open()).pins.find(TALK, [SESSION]) == {SESSION: Pin("groq/x", 1.5)}
