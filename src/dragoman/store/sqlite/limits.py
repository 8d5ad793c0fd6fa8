"""Limits of a process that is alone, or one of several on the same file."""

from __future__ import annotations

import threading
from collections.abc import Coroutine
from pathlib import Path
from typing import Any

from dragoman.store.clock import Clock
from dragoman.store.contracts.rate_limits import Allowed, KeyLimits, Limited
from dragoman.store.rate_windows import RateWindows, bounded
from dragoman.store.sqlite.count_file import CAN_BE_SHARED
from dragoman.store.sqlite.database import Database
from dragoman.store.sqlite.shared_windows import SharedWindows


class SqliteLimits:
    """`RateLimits`. A process that is alone counts in memory: 3 µs a request instead of 10.

    When another process appears, the counts so far go into the file that both then use.
    """

    def __init__(self, database: Database, path: Path, steady: Clock) -> None:
        self._database = database
        self._path = path
        self._steady = steady
        self._own = RateWindows(steady)
        self._shared: SharedWindows | None = None
        self._opening: threading.Thread | None = None
        self._failed = 0
        self._last_error: str | None = None
        if CAN_BE_SHARED and not database.alone:
            self._shared = SharedWindows(path, self._own, steady)

    def reserve(
        self, key: str, limits: KeyLimits, tokens: int = 0, count: int = 1
    ) -> Coroutine[Any, Any, Allowed | Limited]:
        return (self._counts() or self._own).reserve(key, limits, bounded(tokens), count)

    def settle(self, key: str, tokens: int) -> None:
        (self._counts() or self._own).settle(key, bounded(tokens))

    def forget(self, key: str) -> int:
        """Remove the counts of a key from this process; those of the file are over within a minute."""
        return self._own.forget(key)

    @property
    def failed(self) -> int:
        return self._failed + (self._shared.failed if self._shared is not None else 0)

    @property
    def last_error(self) -> str | None:
        return self._last_error or (self._shared.last_error if self._shared is not None else None)

    def close(self) -> None:
        """Blocks until what waits is counted."""
        if self._opening is not None:
            self._opening.join(5.0)
        if self._shared is not None:
            self._shared.close()

    def _counts(self) -> SharedWindows | None:
        """The counts of all processes, if there are others; until they are open, this process's own decide."""
        if CAN_BE_SHARED and self._shared is None and self._opening is None and not self._database.alone:
            self._opening = threading.Thread(target=self._open, name="dragoman-limits-opening", daemon=True)
            self._opening.start()
        return self._shared

    def _open(self) -> None:
        try:
            self._shared = SharedWindows(self._path, self._own, self._steady)
        except Exception as error:  # the own counts go on deciding
            self._failed += 1
            self._last_error = str(error)
