"""Work beside the event loop: keys take turns, what nobody waits for is not begun, and a stop waits for nothing."""

from __future__ import annotations

import asyncio
import subprocess
import sys
import threading
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Any

import pytest

from dragoman.upstream import heavy_work
from dragoman.upstream.heavy_work import MAPPED_BYTES, MOST_WAITING, THREADS, HeavyWork, tune_allocator

TIMEOUT = 120.0


class Stage:
    """Heavy work whose jobs wait to be let go, and the order in which they began."""

    def __init__(self) -> None:
        self.heavy = HeavyWork()
        self.begun: list[str] = []
        self.gate = threading.Event()

    def job(self, name: str, held: bool = False) -> Callable[[], str]:
        def work() -> str:
            self.begun.append(name)
            if held:
                assert self.gate.wait(TIMEOUT)
            return name

        return work

    async def until(self, *names: str) -> None:
        """Once these have begun."""
        async with asyncio.timeout(TIMEOUT):
            while not set(names) <= set(self.begun):  # noqa: ASYNC110 - threads tell
                await asyncio.sleep(0.001)


def run(play: Callable[[Stage], Awaitable[Any]]) -> Stage:
    async def whole() -> Stage:
        stage = Stage()
        try:
            await play(stage)
        finally:
            stage.gate.set()
            stage.heavy.close()
        return stage

    return asyncio.run(whole())


def test_one_key_leaves_a_thread_to_the_others() -> None:
    async def play(stage: Stage) -> None:
        many = [asyncio.create_task(stage.heavy.run(stage.job(f"a{n}", held=True), "a")) for n in range(12)]
        await stage.until("a0")
        assert await stage.heavy.run(stage.job("b"), "b") == "b"
        assert stage.begun == ["a0", "b"]
        stage.gate.set()
        assert await asyncio.gather(*many) == [f"a{n}" for n in range(12)]

    run(play)


def test_keys_take_turns() -> None:
    async def play(stage: Stage) -> None:
        held = [asyncio.create_task(stage.heavy.run(stage.job(key, held=True), key)) for key in ("x", "y")]
        await stage.until("x", "y")
        order = ["a1", "a2", "a3", "b1", "b2", "c1"]
        waiting = [asyncio.create_task(stage.heavy.run(stage.job(name), name[0])) for name in order]
        await asyncio.sleep(0)
        monkey = heavy_work.THREADS
        heavy_work.THREADS = 1  # one at a time from here on, so that there is one order
        try:
            stage.gate.set()
            await asyncio.gather(*held, *waiting)
        finally:
            heavy_work.THREADS = monkey

    begun = [name for name in run(play).begun if len(name) == 2]
    assert begun == ["a1", "b1", "c1", "a2", "b2", "a3"]


@pytest.mark.parametrize("way", [HeavyWork.run, HeavyWork.run_to_end])
def test_what_nobody_waits_for_is_not_begun(way: Callable[..., Awaitable[str]]) -> None:
    async def play(stage: Stage) -> None:
        first = asyncio.create_task(stage.heavy.run(stage.job("first", held=True), "a"))
        await stage.until("first")
        gone = asyncio.ensure_future(way(stage.heavy, stage.job("gone"), "a"))
        await asyncio.sleep(0)
        last = asyncio.create_task(stage.heavy.run(stage.job("last"), "a"))
        await asyncio.sleep(0)
        gone.cancel()
        with suppress(asyncio.CancelledError):
            await gone
        assert not stage.gate.is_set(), "it does not wait for its turn either"
        stage.gate.set()
        await asyncio.gather(first, last)

    assert run(play).begun == ["first", "last"]


def test_a_caller_who_leaves_does_not_wait_for_work_under_way() -> None:
    async def play(stage: Stage) -> None:
        task = asyncio.create_task(stage.heavy.run(stage.job("long", held=True), "a"))
        await stage.until("long")
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert not stage.gate.is_set()

    run(play)


def test_a_caller_who_shares_its_work_waits_for_it() -> None:
    async def play(stage: Stage) -> None:
        task = asyncio.create_task(stage.heavy.run_to_end(stage.job("long", held=True), "a"))
        await stage.until("long")
        task.cancel()
        done, _ = await asyncio.wait({task}, timeout=0)
        assert not done
        stage.gate.set()
        with pytest.raises(asyncio.CancelledError):
            await task

    run(play)


def test_the_queue_is_bounded() -> None:
    async def play(stage: Stage) -> None:
        held = [asyncio.create_task(stage.heavy.run(stage.job(key, held=True), key)) for key in ("x", "y")]
        await stage.until("x", "y")
        waiting = [asyncio.create_task(stage.heavy.run(stage.job("w"), str(n))) for n in range(MOST_WAITING - 1)]
        await asyncio.sleep(0)
        assert not stage.heavy.is_full("new")
        waiting.append(asyncio.create_task(stage.heavy.run(stage.job("w"), "x")))
        await asyncio.sleep(0)
        assert stage.heavy.is_full("new")
        waiting.pop(0).cancel()
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        assert not stage.heavy.is_full("new")
        stage.gate.set()
        await asyncio.gather(*held, *waiting)
        assert not stage.heavy.is_full("new")

    run(play)


def test_a_key_that_fills_the_queue_leaves_room_to_every_other() -> None:
    async def play(stage: Stage) -> None:
        held = [asyncio.create_task(stage.heavy.run(stage.job(key, held=True), key)) for key in ("x", "y")]
        await stage.until("x", "y")
        waiting: dict[str, list[asyncio.Task[str]]] = {"a": [], "b": [], "c": []}
        for key, tasks in waiting.items():
            assert not stage.heavy.is_full(key)
            while not stage.heavy.is_full(key):
                tasks.append(asyncio.create_task(stage.heavy.run(stage.job(key), key)))
                await asyncio.sleep(0)
        assert [len(tasks) for tasks in waiting.values()] == [MOST_WAITING // 2, MOST_WAITING // 4, MOST_WAITING // 8]
        assert not stage.heavy.is_full("d")
        stage.gate.set()
        await asyncio.gather(*held, *(task for tasks in waiting.values() for task in tasks))

    run(play)


def test_an_error_is_raised_where_the_work_was_asked_for() -> None:
    def fail() -> None:
        raise ValueError("no")

    async def play(stage: Stage) -> None:
        with pytest.raises(ValueError, match="no"):
            await stage.heavy.run(fail)
        assert await stage.heavy.run(stage.job("next")) == "next"

    run(play)


NEVER_ENDS = """
import asyncio, threading
from dragoman.upstream.heavy_work import HeavyWork

begun = threading.Event()

def work():
    begun.set()
    while True:
        pass

async def main():
    heavy = HeavyWork()
    task = asyncio.create_task(heavy.run(work))
    await asyncio.sleep(0)
    begun.wait()
    task.cancel()
    heavy.close()

asyncio.run(main())
"""


def test_a_process_ends_whatever_its_threads_do() -> None:
    ended = subprocess.run([sys.executable, "-c", NEVER_ENDS], capture_output=True, timeout=TIMEOUT, check=False)
    assert (ended.returncode, ended.stdout, ended.stderr) == (0, b"", b"")


def test_memory_is_given_back_once_the_work_is_over(monkeypatch: pytest.MonkeyPatch) -> None:
    """While it goes on there is nothing to give back."""
    given = threading.Event()
    monkeypatch.setattr(heavy_work, "give_memory_back", given.set)
    monkeypatch.setattr(heavy_work, "TRIM_SECONDS", 0.0)

    async def play(stage: Stage) -> None:
        running = asyncio.ensure_future(stage.heavy.run(stage.job("held", held=True)))
        await stage.until("held")
        await asyncio.sleep(0)
        assert not given.is_set()
        stage.gate.set()
        await running
        assert await asyncio.to_thread(given.wait, TIMEOUT)

    run(play)


def test_large_blocks_of_memory_are_mapped_by_themselves(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[tuple[int, int]] = []
    monkeypatch.setattr(heavy_work, "_find_in_libc", lambda name: lambda *given: asked.append(given))
    tune_allocator()
    assert asked == [(-3, MAPPED_BYTES), (-8, THREADS)]
    monkeypatch.setattr(heavy_work, "_find_in_libc", lambda name: None)
    tune_allocator()
