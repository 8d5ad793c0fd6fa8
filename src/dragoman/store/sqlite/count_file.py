"""The counts of a minute in a file that several workers share.

Each key has one page: a digest of its name, the last quarter second that was counted, and for each quarter second of a
minute its requests and its tokens. A key keeps its page until nothing in the file counts any more. The first page says
how many are taken, and how often they were freed.

Every worker maps the file into its memory. Whoever counts holds the file's lock for a few microseconds. Nobody flushes
the file to the disk: a lost minute of counts is no loss.
"""

from __future__ import annotations

import mmap
import os
import struct
import sys
import time
from collections.abc import Iterable
from functools import lru_cache
from hashlib import blake2b
from pathlib import Path

from dragoman.store.clock import Clock
from dragoman.store.contracts.rate_limits import Allowed, KeyLimits, Limited
from dragoman.store.errors import StoreError
from dragoman.store.rate_windows import MINUTE, SLICE, Bucket, Tally, decide, slice_of

if sys.platform == "win32":  # no such locks, and no workers: each process counts by itself
    CAN_BE_SHARED = False

    def _try_lock(handle: int) -> None:
        raise OSError("this system cannot lock the file of the limits")

    def _unlock(handle: int) -> None: ...

else:
    import fcntl

    CAN_BE_SHARED = True

    def _try_lock(handle: int) -> None:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)

    def _unlock(handle: int) -> None:
        fcntl.flock(handle, fcntl.LOCK_UN)


_PAGE = 512
"""Numbers of 64 bits in a page."""
_GROWTH = 64
"""Pages by which the file grows."""
MOST_PAGES = 65_536
_RING = int(MINUTE / SLICE)
_FREED, _TAKEN = 0, 1
"""Places in the first page."""
_LAST = 2
"""The place of the last quarter second in the page of a key. The digest takes the two before."""
_REQUESTS = 4
_TOKENS = _REQUESTS + _RING
_END = _TOKENS + _RING
_ZEROS = memoryview(bytes(8 * _PAGE)).cast("q")
_AHEAD = 4
"""Quarter seconds that another worker may be ahead. Later ones are from before a restart of the machine."""
_TRIES = 8
"""How often the lock is asked for before somebody waits for it: others hold it for microseconds."""
_PAUSE = 0.001
Digest = tuple[int, int]


def unusable_counts(path: Path, error: OSError) -> StoreError:
    return StoreError(f"{path} cannot be used for limits: {error}. Move it away or set store.path")


class CountFile:
    """One handle on the counts. Not for two threads at once."""

    def __init__(self, path: Path, steady: Clock, wait: float = 0.0) -> None:
        """`wait`: seconds that a count may wait for another worker. Raises StoreError. All methods raise OSError."""
        self._steady = steady
        self._wait = wait
        self._places: dict[Digest, int] = {}
        """Where the page of a key begins, as far as pages were looked at."""
        self._freed = 0
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            self._handle = os.open(path, os.O_CREAT | os.O_RDWR, 0o600)
        except OSError as error:
            raise unusable_counts(path, error) from error
        found = os.fstat(self._handle)
        self.inode = found.st_dev, found.st_ino
        self._map: mmap.mmap | None = None
        self._numbers = _ZEROS[:0]

    def begin(self, counts: Iterable[tuple[str, Bucket]]) -> None:
        """Free the pages if nothing in them counts any more. `counts`: what was counted elsewhere before."""
        self._lock()
        try:
            self._look()
            now, numbers = slice_of(self._steady()), self._numbers
            if not any(-_AHEAD <= now - numbers[at + _LAST] < _RING for at in self._places.values()):
                numbers[_FREED] += 1
                numbers[_TAKEN] = 1
            for key, (number, requests, tokens) in counts:
                at = self._find(_digest(key))
                if self._turn(at, now) - number < _RING:
                    self._add(at, number, requests, tokens)
        finally:
            _unlock(self._handle)

    def reserve(self, key: str, limits: KeyLimits, tokens: int, count: int) -> Allowed | Limited:
        """Decide and count, as one. Raises BlockingIOError if another worker has the lock for too long."""
        self._lock()
        try:
            at = self._find(_digest(key))
            now = self._steady()
            number, numbers = self._turn(at, slice_of(now)), self._numbers
            # The sums decide nearly always. The single quarter seconds only say how long to wait.
            sums = (0, sum(numbers[at + _REQUESTS : at + _TOKENS]), sum(numbers[at + _TOKENS : at + _END]))
            verdict = decide(Tally((sums,)), limits, now, tokens, count)
            if isinstance(verdict, Limited):
                return decide(Tally(self._buckets(at, number)), limits, now, tokens, count)
            self._add(at, number, count, tokens)
            return verdict
        finally:
            _unlock(self._handle)

    def add(self, key: str, tokens: int) -> None:
        """Count tokens without asking. Raises BlockingIOError if another worker has the lock for too long."""
        self._lock()
        try:
            at = self._find(_digest(key))
            self._add(at, self._turn(at, slice_of(self._steady())), 0, tokens)
        finally:
            _unlock(self._handle)

    def close(self) -> None:
        self._unmap()
        handle, self._handle = self._handle, -1
        if handle >= 0:
            os.close(handle)

    def _lock(self) -> None:
        for _ in range(_TRIES):
            try:
                return _try_lock(self._handle)
            except BlockingIOError:
                time.sleep(0)
        end = time.monotonic() + self._wait
        while True:
            try:
                return _try_lock(self._handle)
            except BlockingIOError:
                if time.monotonic() >= end:
                    raise
            time.sleep(_PAUSE)

    def _find(self, digest: Digest) -> int:
        """Where the page of a key begins. It is looked for once, and again if the pages were freed."""
        if self._numbers and self._numbers[_FREED] == self._freed and (at := self._places.get(digest)) is not None:
            return at
        self._look()
        if (at := self._places.get(digest)) is None:
            at = self._places[digest] = self._take(digest)
        return at

    def _look(self) -> None:
        """Note the pages that other workers took."""
        self._remap()
        if not self._numbers:
            self._grow()
        if not 0 < self._numbers[_TAKEN] <= len(self._numbers) // _PAGE:  # new, or torn when the machine stopped
            self._numbers[_TAKEN] = 1
            self._numbers[_FREED] = self._freed + 1
        if self._numbers[_FREED] != self._freed:
            self._places.clear()
            self._freed = self._numbers[_FREED]
        for at in range((len(self._places) + 1) * _PAGE, self._numbers[_TAKEN] * _PAGE, _PAGE):
            self._places[self._numbers[at], self._numbers[at + 1]] = at

    def _take(self, digest: Digest) -> int:
        at = self._numbers[_TAKEN] * _PAGE
        if at >= len(self._numbers):
            self._grow()
        self._numbers[at : at + _PAGE] = _ZEROS
        self._numbers[at], self._numbers[at + 1] = digest
        self._numbers[_TAKEN] += 1
        return at

    def _grow(self) -> None:
        """Add free pages. They are written, so that a full disk is an error and not the end of the process."""
        size, more = 8 * len(self._numbers), bytes(8 * _PAGE * _GROWTH)
        if size >= 8 * _PAGE * MOST_PAGES:
            raise OSError(f"the file of the limits has {MOST_PAGES} keys already")
        if os.pwrite(self._handle, more, size) < len(more):
            raise OSError("the disk is full: the file of the limits cannot grow")
        self._remap()

    def _remap(self) -> None:
        size = os.fstat(self._handle).st_size // (8 * _PAGE) * (8 * _PAGE)
        if size == 8 * len(self._numbers):
            return
        self._unmap()
        self._map = mmap.mmap(self._handle, size)
        self._numbers = memoryview(self._map).cast("q")

    def _unmap(self) -> None:
        self._numbers.release()
        self._numbers = _ZEROS[:0]
        if self._map is not None:
            self._map.close()
            self._map = None

    def _turn(self, at: int, number: int) -> int:
        """Forget what no longer counts in this quarter second. Returns the quarter second to count in."""
        numbers = self._numbers
        last = numbers[at + _LAST]
        if number < last <= number + _AHEAD:
            return last
        if 0 <= number - last < _RING:
            for passed in range(last + 1, number + 1):
                place = at + passed % _RING
                numbers[place + _REQUESTS] = numbers[place + _TOKENS] = 0
        else:
            numbers[at + _REQUESTS : at + _END] = _ZEROS[_REQUESTS:_END]
        numbers[at + _LAST] = number
        return number

    def _add(self, at: int, number: int, requests: int, tokens: int) -> None:
        place = at + number % _RING
        self._numbers[place + _REQUESTS] += requests
        self._numbers[place + _TOKENS] += tokens

    def _buckets(self, at: int, number: int) -> Iterable[Bucket]:
        """The quarter seconds until this one that still count, oldest first."""
        for passed in range(number - _RING + 1, number + 1):
            place = at + passed % _RING
            yield passed, self._numbers[place + _REQUESTS], self._numbers[place + _TOKENS]


@lru_cache(maxsize=4096)
def _digest(key: str) -> Digest:
    first, second = struct.unpack("qq", blake2b(key.encode(errors="surrogatepass"), digest_size=16).digest())
    return first, second
