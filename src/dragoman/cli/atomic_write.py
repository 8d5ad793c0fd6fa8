"""A file that is written anew beside the old one and takes its place at once, or not at all."""

from __future__ import annotations

import os
import shutil
import tempfile
from pathlib import Path
from types import TracebackType
from typing import Self

import msgspec


class Rewritten:
    """The new content of a file. It replaces the old one when all went well and something was changed.

    `count` says how many pieces were changed. A link is followed, so that it still is one afterwards.
    """

    def __init__(self, path: str) -> None:
        self.count = 0
        self._path = Path(path).resolve()

    def __enter__(self) -> Self:
        handle, name = tempfile.mkstemp(dir=self._path.parent, prefix=f".{self._path.name}.")
        self._file = os.fdopen(handle, "wb")
        self._beside = Path(name)
        return self

    def write(self, old: bytes, new: bytes) -> None:
        self.count += old != new
        self._file.write(new)

    def __exit__(self, kind: type[BaseException] | None, fault: BaseException | None, _: TracebackType | None) -> None:
        try:
            self._close(keep=kind is None and self.count > 0)
        finally:
            self._beside.unlink(missing_ok=True)

    def _close(self, keep: bool) -> None:
        with self._file as file:
            file.flush()
            os.fsync(file.fileno())
        if keep:
            shutil.copymode(self._path, self._beside)
            os.replace(self._beside, self._path)


def as_before(old: bytes, new: bytes) -> bytes:
    """The new text laid out as the old one was: spread over lines or not, with the same blanks at its end."""
    content = old.strip()
    if new == old or new.strip() == content:
        return old
    if b"\n" in content:
        second = content.split(b"\n", 2)[1]
        indent = len(second) - len(second.lstrip(b" "))
        new = msgspec.json.format(new, indent=indent or 2)
    return new + old[len(old.rstrip()) :]
