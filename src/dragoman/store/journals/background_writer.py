"""Work that nobody waits for.

A bounded queue and one thread. `put` never blocks: when too much waits, in number or in bytes, the item is counted as
dropped. The thread works at most once in `PAUSE` seconds, unless a batch is full or somebody waits: to be woken by
every request costs more than the work. An error in the work is counted and kept for the metrics; it never reaches the
code that put the item there.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextlib import suppress
from queue import Empty, SimpleQueue
from typing import Generic, TypeVar

from dragoman.store.contracts.health import StoreHealth

Item = TypeVar("Item")
MOST_BYTES = 128 * 1024 * 1024
"""What may wait in memory: a slow disk must not cost us all of it."""
PAUSE = 0.01
"""Seconds that the first item of a batch waits for others: what a process that is killed may lose in addition."""


class PartlyFailed(Exception):
    """Some items of a batch could not be worked on, the others were."""

    def __init__(self, count: int, last: Exception) -> None:
        super().__init__(f"{type(last).__name__}: {last}")
        self.count = count


class _Mark:
    """A place in the queue. `reached` is called when everything before it was handed over."""

    def __init__(self, reached: Callable[[], object]) -> None:
        self.reached = reached


class Background(Generic[Item]):
    """Hands items to `work` in batches, in the order in which they came. `weigh` tells the bytes that an item holds."""

    def __init__(
        self,
        work: Callable[[list[Item]], None],
        *,
        size: int,
        batch: int = 512,
        name: str,
        weigh: Callable[[Item], int] = lambda item: 0,
    ) -> None:
        self._work = work
        self._weigh = weigh
        self._weight_in = self._weight_out = 0  # each is written by one thread alone
        self._size = size
        self._batch = batch
        self._queue: SimpleQueue[Item | _Mark | None] = SimpleQueue()
        self._written = self._dropped = self._failed = 0
        self._last_error: str | None = None
        self._closed = False
        self._hurry = threading.Event()
        self._thread = threading.Thread(target=self._run, name=name, daemon=True)
        self._thread.start()

    def put(self, item: Item) -> bool:
        """Queue an item; False when it was dropped."""
        weight = self._weigh(item)
        heavy = weight and self._weight_in - self._weight_out + weight > MOST_BYTES
        waiting = self._queue.qsize()
        if self._closed or heavy or waiting >= self._size:
            self._dropped += 1
            return False
        self._weight_in += weight
        self._queue.put(item)
        if waiting == self._batch:
            self._hurry.set()
        return True

    def mark(self, reached: Callable[[], object]) -> None:
        """Have a function called, by the thread, when everything put so far was handed over."""
        if self._thread.is_alive() and not self._closed:
            self._queue.put(_Mark(reached))
            self._hurry.set()
        else:
            reached()

    def flush(self, timeout: float) -> bool:
        """Wait until everything put so far was handed over."""
        done = threading.Event()
        self.mark(done.set)
        return done.wait(timeout)

    def close(self, timeout: float = 10.0) -> bool:
        """Take no more, finish what waits, end the thread; False when that takes too long."""
        if not self._closed:
            self._closed = True
            self._queue.put(None)
            self._hurry.set()
            self._thread.join(timeout)
        return not self._thread.is_alive()

    def health(self) -> StoreHealth:
        return StoreHealth(
            waiting=self._queue.qsize(),
            written=self._written,
            dropped=self._dropped,
            failed=self._failed,
            last_error=self._last_error,
        )

    def _run(self) -> None:
        while True:
            batch, marks, ended = self._next()
            if batch:
                self._do(batch)
            for mark in marks:
                with suppress(Exception):  # a loop that was closed meanwhile has nobody waiting in it
                    mark.reached()
            if ended:
                return

    def _next(self) -> tuple[list[Item], list[_Mark], bool]:
        """Wait for one item and a moment for others, then take what is there."""
        batch: list[Item] = []
        marks: list[_Mark] = []
        item = self._queue.get()
        if self._queue.qsize() < self._batch:
            self._hurry.wait(PAUSE)
        self._hurry.clear()
        while True:
            if item is None:
                return batch, marks, True
            if isinstance(item, _Mark):
                marks.append(item)
            else:
                batch.append(item)
            if len(batch) >= self._batch:
                return batch, marks, False
            try:
                item = self._queue.get_nowait()
            except Empty:
                return batch, marks, False

    def _do(self, batch: list[Item]) -> None:
        failed = 0
        try:
            self._work(batch)
        except PartlyFailed as error:
            failed, self._last_error = error.count, str(error)
        except Exception as error:  # the thread must outlive a full disk; the loss is counted and logged
            failed, self._last_error = len(batch), f"{type(error).__name__}: {error}"
        self._failed += failed
        self._written += len(batch) - failed
        self._weight_out += sum(map(self._weigh, batch))
