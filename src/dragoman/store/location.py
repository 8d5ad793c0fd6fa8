"""Where the store's file is.

store.path          that file; a relative path starts at the configuration's folder
a configuration     `dragoman.sqlite3` beside it
no configuration    `dragoman/dragoman.sqlite3` in the user's state directory
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

from dragoman.config.schema.store import StoreConfig, StoreKind

NAME = "dragoman.sqlite3"


def store_file(
    config: StoreConfig, config_file: Path | None, environment: Mapping[str, str] = os.environ
) -> Path | None:
    """The file that a gateway with this configuration uses; None if it keeps its state in memory."""
    if config.kind is StoreKind.MEMORY:
        return None
    folder = config_file.absolute().parent if config_file is not None else None
    if config.path is not None:
        return (folder or Path.cwd()) / Path(config.path).expanduser()
    return (folder or state_directory(environment)) / NAME


def state_directory(environment: Mapping[str, str] = os.environ) -> Path:
    """Where programs keep state of this user that outlives them (XDG base directories; on Windows LOCALAPPDATA)."""
    given = environment.get("XDG_STATE_HOME", "")
    if given and Path(given).is_absolute():  # the specification has relative ones ignored
        return Path(given) / "dragoman"
    if os.name == "nt" and environment.get("LOCALAPPDATA"):
        return Path(environment["LOCALAPPDATA"]) / "dragoman"
    return Path(environment.get("HOME") or "~").expanduser() / ".local" / "state" / "dragoman"
