"""Settings that need a restart. A reload keeps their running values, and warns if the file differs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from msgspec.structs import replace

from dragoman.config.file_watch import ConfigFile
from dragoman.config.load import Loaded
from dragoman.config.reference import start_keys
from dragoman.config.schema.config_file import Config


def keep_running_values(loaded: Loaded, running: Config) -> Loaded:
    """The new configuration with the running values of these keys, and a warning for each that differs."""
    config, warnings = loaded.config, list(loaded.warnings)
    for path in start_keys():
        steps = path.split(".")
        now, new = _at(running, steps), _at(config, steps)
        if now != new:
            warnings.append(f"{path} stays {now} until a restart; the file has {new}")
            config = _put(config, steps, now)
    return replace(loaded, config=config, warnings=tuple(warnings))


class NewestConfig:
    """The newest valid configuration, for workers that start later. An invalid file must not stop them."""

    def __init__(self, file: ConfigFile, loaded: Loaded, check: Callable[[Config], None]) -> None:
        self.file = file
        self.loaded = loaded
        self._check = check

    def refresh(self) -> None:
        """Load the file if it changed and is valid. The workers report an invalid one."""
        if not self.file.changed():
            return
        try:
            loaded = keep_running_values(self.file.load(), self.loaded.config)
            self._check(loaded.config)
        except Exception:  # not even an internal error may end the process that keeps the workers alive
            return
        self.loaded = loaded


def _at(value: Any, steps: list[str]) -> Any:
    for step in steps:
        value = getattr(value, step)
    return value


def _put(value: Any, steps: list[str], leaf: Any) -> Any:
    if not steps:
        return leaf
    return replace(value, **{steps[0]: _put(getattr(value, steps[0]), steps[1:], leaf)})
