"""The work on the requests of a file: here, or in several processes, with the results in the order of the file."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from concurrent.futures import Future, ProcessPoolExecutor
from multiprocessing import get_context
from typing import Protocol, TypeVar

from dragoman.cli.inputs.request_files import RequestItem

BATCH_ITEMS, BATCH_BYTES = 200, 1 << 20
"""How much goes to a process at once. What a process holds is bounded, and handing it over costs little."""

Outcome = TypeVar("Outcome")
OutcomeOf = TypeVar("OutcomeOf", covariant=True)


class FileTask(Protocol[OutcomeOf]):
    """What is done with each request. It goes to other processes, so it consists of plain values."""

    def run(self, item: RequestItem) -> OutcomeOf: ...


def run_task(task: FileTask[Outcome], items: Iterator[RequestItem], jobs: int) -> Iterator[tuple[RequestItem, Outcome]]:
    """Each request with its outcome. Only as much of the file is read as the processes can work on."""
    if jobs == 1:
        yield from ((item, task.run(item)) for item in items)
        return
    waiting: deque[tuple[list[RequestItem], Future[list[Outcome]]]] = deque()
    # A fork would copy a process whose progress bar has a thread.
    with ProcessPoolExecutor(jobs, mp_context=get_context("spawn")) as pool:
        for batch in _batches(items):
            waiting.append((batch, pool.submit(_run_batch, task, batch)))
            if len(waiting) > 2 * jobs:
                yield from _finish(*waiting.popleft())
        while waiting:
            yield from _finish(*waiting.popleft())


def _batches(items: Iterator[RequestItem]) -> Iterator[list[RequestItem]]:
    batch: list[RequestItem] = []
    size = 0
    for item in items:
        batch.append(item)
        size += len(item.body)
        if len(batch) >= BATCH_ITEMS or size >= BATCH_BYTES:
            yield batch
            batch, size = [], 0
    if batch:
        yield batch


def _run_batch(task: FileTask[Outcome], batch: list[RequestItem]) -> list[Outcome]:
    return [task.run(item) for item in batch]


def _finish(batch: list[RequestItem], future: Future[list[Outcome]]) -> Iterator[tuple[RequestItem, Outcome]]:
    yield from zip(batch, future.result(), strict=True)
