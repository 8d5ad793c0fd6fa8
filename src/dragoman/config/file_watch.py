"""The configuration file of a running gateway, which may change.

`changed()` is cheap enough to call every second: it compares size and time first, and reads the file only if those
differ. `load()` is all or nothing: if the file is missing, incomplete or invalid, it raises and `current` stays.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from pathlib import Path

from dragoman.config.known_names import KnownNames
from dragoman.config.load import Loaded, load

Stamp = tuple[tuple[int, int] | None, ...]


class ConfigFile:
    """The configuration of a running gateway, and its files."""

    def __init__(
        self,
        path: Path | None,
        *,
        known: KnownNames | None = None,
        process: Mapping[str, str] | None = None,
        env_files: Sequence[Path] = (),
    ) -> None:
        self.path = path
        self.current: Loaded | None = None
        self._known = known
        self._process = process
        self._env_files = tuple(env_files)
        self._stamp: Stamp = ()
        self._digest = b""

    def load(self) -> Loaded:
        """Load now. On `InvalidConfig` the current configuration stays, and this version is not reported again."""
        self._stamp, self._digest = self._stamps(), self._digests()
        loaded = load(self.path, known=self._known, process=self._process, env_files=self._env_files)
        self.current = loaded
        return loaded

    def changed(self) -> bool:
        """Whether the files differ from those of the last `load()`, valid or not."""
        stamp = self._stamps()
        if stamp == self._stamp:
            return False
        if self._digests() == self._digest:
            self._stamp = stamp  # touched, not changed
            return False
        return True

    def files(self) -> tuple[Path, ...]:
        """All watched files. They need not exist."""
        if self.path is None:
            return (Path(".env"), *self._env_files)
        return (self.path, self.path.parent / ".env", *self._env_files)

    def _stamps(self) -> Stamp:
        return tuple(_stamp(path) for path in self.files())

    def _digests(self) -> bytes:
        digest = hashlib.blake2b()
        for path in self.files():
            digest.update(_content(path) + b"\0")
        return digest.digest()


def _stamp(path: Path) -> tuple[int, int] | None:
    try:
        stat = path.stat()
    except OSError:
        return None
    return stat.st_mtime_ns, stat.st_size


def _content(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError:
        return b"\0missing"
