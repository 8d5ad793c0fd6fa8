"""Write a new version of a file next to it, and replace the file at once or not at all."""

from __future__ import annotations

import os
import shutil
import tempfile
from pathlib import Path
from types import TracebackType
from typing import Self


class AtomicWriter:
    """Collects the new content of a file. It replaces the old one if no error occurred and something changed.

    `count` is the number of changed pieces. Symbolic links are followed, so they stay links. `backup`: keep a copy of
    the old file; it is `copy` then.
    """

    def __init__(self, path: str, backup: bool) -> None:
        self.count = 0
        self.copy: Path | None = None
        self._backup = backup
        self._path = Path(path).resolve()

    def __enter__(self) -> Self:
        handle, name = tempfile.mkstemp(dir=self._path.parent, prefix=f".{self._path.name}.")
        self._file = os.fdopen(handle, "wb")
        self._temporary = Path(name)
        return self

    def write(self, old: bytes, new: bytes) -> None:
        self.count += old != new
        self._file.write(new)

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None) -> None:
        try:
            self._close(keep=kind is None and self.count > 0)
        finally:
            self._temporary.unlink(missing_ok=True)

    def _close(self, keep: bool) -> None:
        with self._file as file:
            file.flush()
            os.fsync(file.fileno())
        if keep:
            self.copy = back_up(str(self._path)) if self._backup else None
            shutil.copymode(self._path, self._temporary)
            os.replace(self._temporary, self._path)


def back_up(path: str) -> Path:
    """Copy a file to `FILE.bak`, or `FILE.bak.2` if that exists, and so on. Returns the copy."""
    file = Path(path).resolve()
    number = 1
    while (copy := file.with_name(f"{file.name}.bak" + (f".{number}" if number > 1 else ""))).exists():
        number += 1
    shutil.copy2(file, copy)
    return copy
