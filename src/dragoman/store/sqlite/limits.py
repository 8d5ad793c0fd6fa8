"""Limits of a process that is alone, or one of several on the same file."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Coroutine
from functools import partial
from pathlib import Path
from typing import Any

from dragoman.store.clock import Clock
from dragoman.store.contracts.rate_limits import Allowed, KeyLimits, Limited
from dragoman.store.rate_windows import RateWindows, bound_tokens
from dragoman.store.sqlite.count_file import CAN_BE_SHARED, CountFile, unusable_counts
from dragoman.store.sqlite.database import Database
from dragoman.store.sqlite.file_thread import DEADLINE, FileThread
from dragoman.store.sqlite.tables import inode

LOOK_EVERY = 1.0
"""Seconds between two looks at whether the file is still there."""


class SharedWindows(FileThread):
    """The counts of all processes that use the same path. Each also counts by itself, for when the file fails.

    A count is tried on the event loop, where it takes some 10 µs and waits for nobody. If another worker holds the file
    at that moment, a thread waits for it.
    """

    def __init__(self, path: Path, own: RateWindows, steady: Clock) -> None:
        super().__init__(path, "dragoman-limits")
        self._own = own
        self._steady = steady
        self._file = CountFile(path, steady)
        self._patient = CountFile(path, steady, DEADLINE / 2)
        """The handle that waits for other workers; for the thread alone."""
        try:
            self._patient.begin(own.counts())
        except OSError as error:
            self.close()
            raise unusable_counts(path, error) from error
        self._looked = steady()

    async def reserve(self, key: str, limits: KeyLimits, tokens: int, count: int) -> Allowed | Limited:
        try:
            self._look()
            verdict = await self._reserve(key, limits, tokens, count)
        except Exception as error:  # whatever is wrong with the file, this process can count by itself
            self._note(error)
            return await self._own.reserve(key, limits, tokens, count)
        if isinstance(verdict, Allowed):
            self._own.add(key, count, tokens)
        return verdict

    def settle(self, key: str, tokens: int) -> None:
        self._own.add(key, 0, tokens)
        try:
            self._file.add(key, tokens)
        except BlockingIOError:
            self._later(lambda: self._patiently().add(key, tokens))
        except Exception as error:  # as above
            self._note(error)

    def close(self) -> None:
        super().close()
        self._file.close()

    async def _reserve(self, key: str, limits: KeyLimits, tokens: int, count: int) -> Allowed | Limited:
        try:
            return self._file.reserve(key, limits, tokens, count)
        except BlockingIOError:  # it is another worker's turn: wait for it, but not here
            work = partial(self._reserve_patiently, key, limits, tokens, count)
        async with asyncio.timeout(DEADLINE):
            return await asyncio.get_running_loop().run_in_executor(self._thread, work)

    def _reserve_patiently(self, key: str, limits: KeyLimits, tokens: int, count: int) -> Allowed | Limited:
        return self._patiently().reserve(key, limits, tokens, count)

    def _patiently(self) -> CountFile:
        if self._patient.inode != self._file.inode:
            self._patient.close()
            self._patient = CountFile(self._path, self._steady, DEADLINE / 2)
        return self._patient

    def _look(self) -> None:
        """Open a file again that was deleted: workers that start later would count in another."""
        now = self._steady()
        if now - self._looked > LOOK_EVERY:
            self._looked = now
            if inode(self._path) != self._file.inode:
                self._file.close()
                self._file = CountFile(self._path, self._steady)

    def _close(self) -> None:
        self._patient.close()


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
        return (self._counts() or self._own).reserve(key, limits, bound_tokens(tokens), count)

    def settle(self, key: str, tokens: int) -> None:
        (self._counts() or self._own).settle(key, bound_tokens(tokens))

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
