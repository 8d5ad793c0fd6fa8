"""Whether other processes use the store's file.

Each process holds a shared lock on a file beside it for as long as it uses the store. The system lets go of the lock
when the process ends, however it ends. SQLite's own files cannot be locked for this: closing any handle on them would
drop SQLite's locks.
"""

from __future__ import annotations

import os
import sys
from contextlib import suppress
from pathlib import Path

if sys.platform == "win32":  # no such locks: what others write is noticed when they write it

    def _is_taken(handle: int) -> bool:
        return False

else:
    import fcntl

    def _is_taken(handle: int) -> bool:
        """Take a shared lock; whether another process had one."""
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            taken = False
        except OSError:
            taken = True
        with suppress(OSError):
            fcntl.flock(handle, fcntl.LOCK_SH)
        return taken


class FileUsers:
    """This process among those that use a file. `others`: whether there were any when it came."""

    def __init__(self, path: Path) -> None:
        self._handle: int | None = None
        self.others = True
        with suppress(OSError):
            path.parent.mkdir(parents=True, exist_ok=True)
            self._handle = os.open(path, os.O_CREAT | os.O_RDWR, 0o600)
            self.others = _is_taken(self._handle)

    def leave(self) -> None:
        if self._handle is not None:
            os.close(self._handle)
            self._handle = None
