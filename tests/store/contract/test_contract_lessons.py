"""The promises of lessons."""

from __future__ import annotations

import asyncio

import pytest
from msgspec.structs import replace
from tests.store.contract.backends import Backend, lesson


async def test_a_record_is_kept_by_target_name_and_caller(backend: Backend) -> None:
    lessons, time = (await backend.open()).lessons, backend.time
    records = [
        lesson("b", time),
        lesson("a", time, caller="anna", confirmed=True, request_id="r1"),
        lesson("a", time, facts={"tools": {"max": 3, "names": ["é", None, True, 1.5]}}),
        lesson("a", time, target="groq/y"),
    ]
    for record in records:
        await lessons.put(record)
    assert lessons.find("groq/x") == (records[2], records[1], records[0])
    assert lessons.find("groq/y") == (records[3],)
    assert lessons.find("groq/z") == ()
    assert await lessons.all() == (records[2], records[1], records[0], records[3])


async def test_a_record_replaces_the_one_of_its_name(backend: Backend) -> None:
    lessons, first = (await backend.open()).lessons, lesson("a", backend.time)
    await lessons.put(first)
    second = replace(first, confirmed=True, facts={})
    await lessons.put(second)
    assert lessons.find("groq/x") == (second,)


async def test_the_same_tuple_is_returned_until_something_changes(backend: Backend) -> None:
    lessons, time = (await backend.open()).lessons, backend.time
    await lessons.put(lesson("a", time))
    found = lessons.find("groq/x")
    time.advance(3)
    await lessons.put(lesson("a", time, target="groq/y"))
    assert lessons.find("groq/x") is found
    await lessons.put(lesson("b", time))
    assert lessons.find("groq/x") is not found


async def test_a_record_is_never_returned_after_it_expired(backend: Backend) -> None:
    lessons, time = (await backend.open()).lessons, backend.time
    await lessons.put(lesson("short", time, expires=time.wall + 10))
    await lessons.put(lesson("long", time, expires=time.wall + 20))
    assert [one.name for one in lessons.find("groq/x")] == ["long", "short"]
    time.advance(10)
    assert [one.name for one in lessons.find("groq/x")] == ["long"]
    assert [one.name for one in await lessons.all()] == ["long"]
    time.advance(10)
    assert lessons.find("groq/x") == () == await lessons.all()


async def test_one_name_or_a_whole_target_is_forgotten(backend: Backend) -> None:
    lessons, time = (await backend.open()).lessons, backend.time
    for name in "abc":
        await lessons.put(lesson(name, time, caller="anna"))
        await lessons.put(lesson(name, time))
        await lessons.put(lesson(name, time, target="groq/y"))
    await lessons.forget("groq/x", "b")
    assert [one.name for one in lessons.find("groq/x")] == ["a", "a", "c", "c"]
    await lessons.forget("groq/x")
    await lessons.forget("groq/none")
    assert lessons.find("groq/x") == ()
    assert len(lessons.find("groq/y")) == 3


@pytest.mark.sampled(4)
async def test_at_most_4096_are_kept_and_the_oldest_go_first(backend: Backend) -> None:
    lessons, time = (await backend.open()).lessons, backend.time
    for number in range(4200):
        await lessons.put(lesson("a", time, target=f"t{number}", learnt=float(number)))
    assert len(await lessons.all()) <= 4096 + backend.slack
    assert lessons.find("t0") == ()
    assert len(lessons.find("t4199")) == 1


async def test_other_workers_learn_and_forget_within_five_seconds(shared: Backend) -> None:
    one, two = (await shared.open()).lessons, (await shared.open()).lessons
    record = lesson("a", shared.time)
    await one.put(record)
    shared.time.advance(5)
    await _settled(two, "groq/x", 1)
    assert two.find("groq/x") == (record,)
    await one.forget("groq/x")
    shared.time.advance(5)
    await _settled(two, "groq/x", 0)
    assert await two.all() == ()


async def _settled(lessons: object, target: str, count: int) -> None:
    """`find` never waits: what it starts is awaited here, in real time."""
    for _ in range(500):
        if len(lessons.find(target)) == count:  # type: ignore[attr-defined]
            return
        await asyncio.sleep(0.01)
    raise AssertionError(f"the lessons of {target} did not become {count}")


async def test_all_workers_list_the_same_at_once(shared: Backend) -> None:
    one, two = (await shared.open()).lessons, (await shared.open()).lessons
    await one.put(lesson("a", shared.time))
    assert await two.all() == (lesson("a", shared.time),)


async def test_lessons_are_there_after_a_restart(lasting: Backend) -> None:
    first = await lasting.open()
    records = (lesson("a", lasting.time), lesson("b", lasting.time, caller="anna"))
    for record in (*records, lesson("c", lasting.time, expires=lasting.time.wall + 1)):
        await first.lessons.put(record)
    await first.aclose()
    lasting.time.advance(2)
    assert (await lasting.open()).lessons.find("groq/x") == records
