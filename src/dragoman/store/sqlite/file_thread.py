"""A thread for a file beside the store's own, such as that of the limits."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import Any

DEADLINE = 2.0
"""Seconds that a request waits for other workers; then what this one knows decides."""


class FileThread:
    """Does one thing after another with a file. What fails is counted, and fails no request."""

    def __init__(self, path: Path, name: str) -> None:
        self._path = path
        self._thread = ThreadPoolExecutor(1, name)
        self.failed = 0
        self.last_error: str | None = None

    def close(self) -> None:
        """Blocks until what waits is done."""
        self._later(self._close)
        self._thread.shutdown()

    def _close(self) -> None:
        """Close the connections of the thread, in it."""
        raise NotImplementedError

    def _later(self, work: Callable[[], object]) -> None:
        """Have something done that nobody waits for."""
        with suppress(RuntimeError):  # closed
            self._thread.submit(work).add_done_callback(self._note_failure)

    def _note_failure(self, done: Future[Any]) -> None:
        error = done.exception()
        if error is not None:
            self._note(error)

    def _note(self, error: BaseException) -> None:
        self.failed += 1
        self.last_error = f"{self._path.name}: {type(error).__name__}: {error}"
