"""Files of lines, written by a thread of their own.

A request hands over a line and goes on. A line that cannot be written is counted as failed, and only that line is lost.
"""

from __future__ import annotations

import errno
import os
from abc import ABC, abstractmethod
from pathlib import Path
from typing import Generic, TypeVar

from dragoman.store.contracts.health import StoreHealth
from dragoman.store.journals.background_writer import Background, PartlyFailed

Line = TypeVar("Line")
_QUEUE = 1000
_BATCH = 64


class QueuedLines(ABC, Generic[Line]):
    """A queue of lines for files in `folder`; no queue if there is no folder. A subclass writes each line."""

    def __init__(self, folder: Path | None, *, thread: str) -> None:
        self.is_wanted = folder is not None
        self._folder = folder
        self._queue: Background[Line] | None = None
        if folder is not None:
            self._queue = Background(self._append_all, size=_QUEUE, batch=_BATCH, name=thread, weigh=self.weigh)

    @abstractmethod
    def append(self, line: Line) -> None:
        """Write a line to its file. Called by the thread; an error costs this line alone."""

    @abstractmethod
    def weigh(self, line: Line) -> int:
        """The bytes that a waiting line holds."""

    def write(self, line: Line) -> None:
        """Queue a line. Never waits, never raises."""
        if self._queue is not None:
            self._queue.put(line)

    def health(self) -> StoreHealth:
        return self._queue.health() if self._queue is not None else StoreHealth()

    def flush(self, timeout: float = 5.0) -> bool:
        return self._queue.flush(timeout) if self._queue is not None else True

    def close(self) -> None:
        if self._queue is not None:
            self._queue.close()

    def _append_all(self, lines: list[Line]) -> None:
        assert self._folder is not None
        self._folder.mkdir(parents=True, exist_ok=True)
        errors: list[Exception] = []
        for line in lines:
            try:
                self.append(line)
            except Exception as error:  # one line that cannot be written must not take the others with it
                errors.append(error)
        if errors:
            raise PartlyFailed(len(errors), errors[-1])


def open_lines(path: Path) -> int:
    """A file of lines, open for `append_line`; made if there is none."""
    return os.open(path, os.O_RDWR | os.O_APPEND | os.O_CREAT, 0o600)


def append_line(handle: int, line: bytes) -> None:
    """Write a line to the end of a file, at once. Raises OSError if there is no room for all of it.

    A full disk takes a part of a line, and tells it by a number alone. The next line begins anew after it.
    """
    data = line + b"\n"
    if os.fstat(handle).st_size:
        os.lseek(handle, -1, os.SEEK_END)
        if os.read(handle, 1) != b"\n":
            data = b"\n" + data
    if os.write(handle, data) < len(data):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
