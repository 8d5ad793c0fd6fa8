"""The configuration that a command is given, by `--config` and `--env-file`."""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import wraps
from pathlib import Path
from typing import Any, TypeVar, cast

import click
import msgspec

from dragoman.config.errors import InvalidConfig
from dragoman.config.load import DEFAULT_FILE, Loaded, load
from dragoman.config.schema.config_file import Config
from dragoman.gateway.config_names import collect_names
from dragoman.profiles.profile import Profiles

Command = TypeVar("Command", bound=Callable[..., Any])

_config_option = click.option(
    "--config",
    "-c",
    "path",
    type=click.Path(path_type=Path, dir_okay=False),
    envvar="DRAGOMAN_CONFIG",
    help=f"The configuration file; by default {DEFAULT_FILE} if it exists.",
)
_env_option = click.option(
    "--env-file",
    "env_files",
    type=click.Path(path_type=Path, exists=True, dir_okay=False),
    multiple=True,
    help="A file with NAME=value lines; repeatable.",
)


class GivenConfig(msgspec.Struct, frozen=True):
    """The files, and the profiles besides the built-in ones."""

    path: Path | None = None
    env_files: tuple[Path, ...] = ()
    profiles: Profiles | None = None

    @property
    def file(self) -> Path | None:
        """The named file, else the default file if it exists, else None."""
        default = Path(DEFAULT_FILE)
        return self.path or (default if default.is_file() else None)

    def loaded(self) -> Loaded:
        """The configuration, with its warnings printed. Exits with code 1 if it is invalid."""
        try:
            loaded = self._load()
        except InvalidConfig as error:
            click.echo(str(error), err=True)
            sys.exit(1)
        for warning in loaded.warnings:
            click.echo(f"warning: {warning}", err=True)
        return loaded

    def config(self) -> Config:
        """The configuration, of which `loaded` has printed the warnings."""
        return self._load().config

    def _load(self) -> Loaded:
        return load(self.file, known=collect_names(self.profiles), env_files=self.env_files)


def config_options(command: Command) -> Command:
    """The two options. The command gets a GivenConfig as its first argument."""

    @wraps(command)
    def with_config(path: Path | None, env_files: tuple[Path, ...], **others: Any) -> Any:
        return command(GivenConfig(path, env_files), **others)

    return cast(Command, _config_option(_env_option(with_config)))
