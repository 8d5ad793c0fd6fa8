"""What only a new start can change: a file that says otherwise is taken in all else, and its author is told."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec

from dragoman.config import Config, ConfigFile, Loaded

PINNED = (
    "server.host",
    "server.port",
    "server.workers",
    "server.max_headers",
    "store.kind",
    "store.path",
    "store.queue",
    "store.vault.per_caller",
    "store.vault.entries",
    "store.vault.max_bytes",
    "store.vault.ttl",
)
"""Bound or opened once, with these values."""


def pinned(loaded: Loaded, running: Config) -> Loaded:
    """A new configuration with these values as they are, and a warning for each that was to be another."""
    config, warnings = loaded.config, list(loaded.warnings)
    for path in PINNED:
        steps = path.split(".")
        now, new = _at(running, steps), _at(config, steps)
        if now != new:
            warnings.append(f"{path} stays {now} until the next start; the file says {new}")
            config = _put(config, steps, now)
    return msgspec.structs.replace(loaded, config=config, warnings=tuple(warnings))


class Newest:
    """The newest good configuration, for workers that are still to start: a bad file must not keep them from it."""

    def __init__(self, file: ConfigFile, loaded: Loaded, check: Callable[[Config], None]) -> None:
        self.file = file
        self.loaded = loaded
        self._check = check

    def look(self) -> None:
        """Take the file where it changed and is good; what is wrong with a bad one, the workers tell."""
        if not self.file.changed():
            return
        try:
            loaded = pinned(self.file.load(), self.loaded.config)
            self._check(loaded.config)
        except Exception:  # not even a fault of our own may end the process that keeps the workers alive
            return
        self.loaded = loaded


def _at(value: Any, steps: list[str]) -> Any:
    for step in steps:
        value = getattr(value, step)
    return value


def _put(value: Any, steps: list[str], leaf: Any) -> Any:
    if not steps:
        return leaf
    return msgspec.structs.replace(value, **{steps[0]: _put(getattr(value, steps[0]), steps[1:], leaf)})
