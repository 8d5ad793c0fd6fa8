"""Write a new version of a file next to it, and replace the file at once or not at all."""

from __future__ import annotations

import os
import shutil
import tempfile
from pathlib import Path
from types import TracebackType
from typing import Self

import msgspec


class AtomicWriter:
    """Collects the new content of a file. It replaces the old one if no error occurred and something changed.

    `count` is the number of changed pieces. Symbolic links are followed, so they stay links.
    """

    def __init__(self, path: str) -> None:
        self.count = 0
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
            shutil.copymode(self._path, self._temporary)
            os.replace(self._temporary, self._path)


def keep_layout(old: bytes, new: bytes) -> bytes:
    """The new JSON with the layout of the old: the same indentation and the same whitespace at the end."""
    content = old.strip()
    if new == old or new.strip() == content:
        return old
    if b"\n" in content:
        second = content.split(b"\n", 2)[1]
        indent = len(second) - len(second.lstrip(b" "))
        new = msgspec.json.format(new, indent=indent or 2)
    return new + old[len(old.rstrip()) :]
