"""Entries that wait on the disk while the database is away.

Each process has a file of its own, locked while it lives. A file that nobody locks was left by a process that died:
whoever finds it writes its entries to the database. Writing an entry twice is harmless, so a file is removed only when
all of it is in the database.
"""

from __future__ import annotations

import os
import sys
import uuid
import zlib
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from struct import Struct as Layout

if sys.platform == "win32":  # no such locks: a process takes care of its own file alone

    def _lock(handle: int) -> bool:
        return False

else:
    import fcntl

    def _lock(handle: int) -> bool:
        """Whether the file is ours now."""
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            return False
        return True


ENDING = ".spool"
LARGEST_RECORD = 256 * 1024 * 1024
_HEAD = Layout("<II")


class Spool:
    """A bounded file of records, each with its length and a checksum. `folder` None: there is no disk to wait on."""

    def __init__(self, folder: Path | None, most_bytes: int) -> None:
        self._folder = folder
        self._most = most_bytes
        self._path = folder / f"{os.getpid()}-{uuid.uuid4().hex[:8]}{ENDING}" if folder is not None else None
        self._handle: int | None = None
        self.size = 0

    def append(self, records: Sequence[bytes]) -> int:
        """Put records at the end; how many fitted. Raises OSError."""
        taken, chunk = 0, bytearray()
        for record in records:
            grown = self.size + len(chunk) + _HEAD.size + len(record)
            if self._path is None or grown > self._most or len(record) > LARGEST_RECORD:
                break
            chunk += _HEAD.pack(len(record), zlib.crc32(record)) + record
            taken += 1
        if taken:
            _write(self._open(), chunk)
            self.size += len(chunk)
        return taken

    def read(self) -> Iterator[bytes]:
        """The records of this process."""
        if self.size and self._path is not None:
            yield from read_records(self._path)

    def clear(self) -> None:
        """All of it is in the database."""
        if self._handle is not None:
            os.ftruncate(self._handle, 0)
        self.size = 0

    def left_behind(self) -> Iterator[Path]:
        """Files of processes that are gone. Each is ours while the iterator stands on it."""
        if self._folder is None or not self._folder.is_dir():
            return
        for path in sorted(self._folder.glob(f"*{ENDING}")):
            if path != self._path:
                yield from _take_over(path)

    def close(self) -> None:
        """An empty file is removed. One with entries stays for whoever comes next."""
        if self._handle is None or self._path is None:
            return
        if not self.size:
            self._path.unlink(missing_ok=True)
        os.close(self._handle)
        self._handle = None

    def _open(self) -> int:
        assert self._path is not None
        if self._handle is None:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            self._handle = os.open(self._path, os.O_CREAT | os.O_WRONLY | os.O_APPEND, 0o600)
            _lock(self._handle)
        return self._handle


def _take_over(path: Path) -> Iterator[Path]:
    try:
        handle = os.open(path, os.O_RDONLY)
    except OSError:
        return
    try:
        if _lock(handle):
            yield path
    finally:
        os.close(handle)


def _write(handle: int, chunk: bytearray) -> None:
    """All of it or nothing: a disk that fills up in the middle must not leave half a record before the next ones."""
    size = os.fstat(handle).st_size
    view = memoryview(chunk)
    try:
        while view:
            view = view[os.write(handle, view) :]
    except OSError:
        with suppress(OSError):
            os.ftruncate(handle, size)
        raise


def read_records(path: Path) -> Iterator[bytes]:
    """The records of a file, up to the first one that is not whole: its process was killed while it wrote."""
    with path.open("rb") as file:
        while len(head := file.read(_HEAD.size)) == _HEAD.size:
            length, check = _HEAD.unpack(head)
            if length > LARGEST_RECORD:
                return
            record = file.read(length)
            if len(record) != length or zlib.crc32(record) != check:
                return
            yield record
