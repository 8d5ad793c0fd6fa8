"""Work that nobody waits for.

A bounded queue and one thread. `put` never blocks: when too much waits, in number or in bytes, the item is counted as
dropped. An error in
the work is counted and kept for the metrics; it never reaches whoever put the item there.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from queue import Empty, SimpleQueue
from typing import Generic, TypeVar

from dragoman.store.store import Health

Item = TypeVar("Item")
MOST_BYTES = 128 * 1024 * 1024
"""What may wait in memory: a slow disk must not cost us all of it."""


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
        self._queue: SimpleQueue[Item | threading.Event | None] = SimpleQueue()
        self._written = self._dropped = self._failed = 0
        self._last_error: str | None = None
        self._closed = False
        self._thread = threading.Thread(target=self._run, name=name, daemon=True)
        self._thread.start()

    def put(self, item: Item) -> bool:
        """Queue an item; False when it was dropped."""
        weight = self._weigh(item)
        heavy = weight and self._weight_in - self._weight_out + weight > MOST_BYTES
        if self._closed or heavy or self._queue.qsize() >= self._size:
            self._dropped += 1
            return False
        self._weight_in += weight
        self._queue.put(item)
        return True

    def flush(self, timeout: float) -> bool:
        """Wait until everything put so far was handed over."""
        if not self._thread.is_alive():
            return self._queue.empty()
        done = threading.Event()
        self._queue.put(done)
        return done.wait(timeout)

    def close(self, timeout: float = 10.0) -> None:
        """Take no more, finish what waits, end the thread."""
        if self._closed:
            return
        self._closed = True
        self._queue.put(None)
        self._thread.join(timeout)

    def health(self) -> Health:
        return Health(self._queue.qsize(), self._written, self._dropped, self._failed, self._last_error)

    def _run(self) -> None:
        while True:
            batch, signal, ended = self._next()
            if batch:
                self._do(batch)
            if signal is not None:
                signal.set()
            if ended:
                return

    def _next(self) -> tuple[list[Item], threading.Event | None, bool]:
        """Wait for one item, then take what else is there."""
        batch: list[Item] = []
        item = self._queue.get()
        while True:
            if item is None:
                return batch, None, True
            if isinstance(item, threading.Event):
                return batch, item, False
            batch.append(item)
            if len(batch) >= self._batch:
                return batch, None, False
            try:
                item = self._queue.get_nowait()
            except Empty:
                return batch, None, False

    def _do(self, batch: list[Item]) -> None:
        try:
            self._work(batch)
        except Exception as error:  # the thread must outlive a full disk; the loss is counted and told
            self._failed += len(batch)
            self._last_error = f"{type(error).__name__}: {error}"
        else:
            self._written += len(batch)
        finally:
            self._weight_out += sum(map(self._weigh, batch))
