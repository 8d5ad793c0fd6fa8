"""Work that nobody waits for: order, errors, bounds and marks."""

from __future__ import annotations

import threading

import pytest

from dragoman.store.journals.background_writer import Background, PartlyFailed


def test_it_keeps_order_and_survives_errors() -> None:
    done: list[int] = []

    def work(items: list[int]) -> None:
        if -1 in items:
            raise ValueError("bad item")
        done.extend(items)

    background = Background(work, size=1000, batch=7, name="test")
    for number in range(100):
        background.put(number)
    assert background.flush(5)
    background.put(-1)
    background.flush(5)
    background.put(100)
    assert background.close()
    assert done == list(range(101))
    assert background.health().failed == 1
    assert background.health().last_error == "ValueError: bad item"


class Gate:
    """Work that begins and then waits for leave to go on."""

    def __init__(self) -> None:
        self.began, self.open = threading.Event(), threading.Event()
        self.batches: list[list[int]] = []

    def work(self, items: list[int]) -> None:
        self.began.set()
        assert self.open.wait(60)
        self.batches.append(items)


def test_what_failed_of_a_batch_is_counted_alone() -> None:
    gate = Gate()

    def work(items: list[int]) -> None:
        gate.work(items)
        if len(items) > 1:
            raise PartlyFailed(2, ValueError("two of them"))

    background = Background(work, size=10, name="test")
    background.put(0)
    gate.began.wait(60)
    for number in range(1, 6):
        background.put(number)
    gate.open.set()
    background.close()
    health = background.health()
    assert (health.failed, health.written) == (2, 4)
    assert health.last_error == "ValueError: two of them"


def test_too_much_that_waits_is_dropped_and_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dragoman.store.journals.background_writer.MOST_BYTES", 100)
    gate, done = threading.Event(), []

    def work(batch: list[bytes]) -> None:
        gate.wait(60)
        done.extend(batch)

    jobs: Background[bytes] = Background(work, size=100, name="test", weigh=len)
    taken = [jobs.put(b"x" * 30) for _ in range(10)]
    gate.set()
    assert jobs.flush(5)
    assert (sum(taken), len(done), jobs.health().dropped) == (3, 3, 7)
    assert jobs.put(b"x" * 100), "room again once it is written"
    jobs.close()


def test_a_mark_is_reached_after_what_came_before_it_and_does_not_split_a_batch() -> None:
    gate, reached = Gate(), []
    background = Background(gate.work, size=100, name="test")
    background.put(0)
    gate.began.wait(60)
    for number in range(1, 5):
        background.put(number)
        background.mark(lambda number=number: reached.append((number, len(gate.batches))))
    background.mark(lambda: 1 / 0)  # a mark that fails must not end the thread
    gate.open.set()
    assert background.flush(5)
    assert reached == [(1, 2), (2, 2), (3, 2), (4, 2)]
    assert gate.batches == [[0], [1, 2, 3, 4]]
    background.close()
    background.mark(lambda: reached.append((5, 0)))
    assert reached[-1] == (5, 0), "nothing waits after the end, so a mark is reached at once"


def test_what_comes_within_a_moment_is_one_batch_unless_somebody_waits_or_it_is_full(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("dragoman.store.journals.background_writer.PAUSE", 3600)
    batches: list[list[int]] = []
    background = Background(batches.append, size=1000, batch=4, name="test")
    for number in range(3):
        background.put(number)
    assert background.flush(5), "who waits for it does not wait for the pause"
    assert batches == [[0, 1, 2]]
    full = threading.Event()
    monkeypatch.setattr(background, "_work", lambda items: (batches.append(items), full.set()))
    for number in range(3, 10):
        background.put(number)
    assert full.wait(60), "a full batch does not wait for the pause"
    assert background.close()
    assert [number for batch in batches for number in batch] == list(range(10))
