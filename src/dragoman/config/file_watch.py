"""The configuration file of a running gateway, which may change.

`changed()` is cheap enough to call every second: it compares size and time first, and reads the file only if those
differ. `load()` is all or nothing: if the file is missing, incomplete or invalid, it raises and `current` stays. It
fails closed: a file that says nothing is refused, and so is one without keys or providers if there were some before. An
editor that saves in two steps, or a mount that is gone for a moment, must not open a gateway to everybody.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from pathlib import Path

from dragoman.config.errors import InvalidConfig, Problem
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
        if (refusal := self._refusal(loaded)) is not None:
            raise InvalidConfig([Problem(refusal, loaded.file or "environment")])
        self.current = loaded
        return loaded

    def _refusal(self, loaded: Loaded) -> str | None:
        """Why a valid configuration is not taken, if it is not."""
        if loaded.blank and self.path is not None:
            return "is empty; write at least one setting, or leave the file out (dragoman init writes an example)"
        running = self.current.config if self.current is not None else None
        if running is None:
            return None
        if running.keys and not loaded.config.keys:
            return "has no keys any more: everybody could use the gateway; restart it if that is meant"
        if running.providers and not loaded.config.providers:
            return "has no providers any more; restart the gateway if that is meant"
        return None

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
