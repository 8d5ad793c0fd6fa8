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
from dragoman.config.known_names import KnownNames
from dragoman.config.load import DEFAULT_FILE, Loaded, load

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
    """The files, and the names that the main command knows."""

    path: Path | None = None
    env_files: tuple[Path, ...] = ()
    known: KnownNames = KnownNames()

    @property
    def file(self) -> Path | None:
        """The named file, else the default file if it exists, else None."""
        default = Path(DEFAULT_FILE)
        return self.path or (default if default.is_file() else None)

    def loaded(self) -> Loaded:
        """The configuration, with its warnings printed. Exits with code 1 if it is invalid."""
        try:
            loaded = load(self.file, known=self.known, env_files=self.env_files)
        except InvalidConfig as error:
            click.echo(str(error), err=True)
            sys.exit(1)
        for warning in loaded.warnings:
            click.echo(f"warning: {warning}", err=True)
        return loaded


def config_options(command: Command) -> Command:
    """The two options. The command gets a GivenConfig as its first argument."""

    @click.pass_context
    @wraps(command)
    def with_config(ctx: click.Context, /, path: Path | None, env_files: tuple[Path, ...], **others: Any) -> Any:
        return command(GivenConfig(path, env_files, known_names(ctx)), **others)

    return cast(Command, _config_option(_env_option(with_config)))


def known_names(ctx: click.Context) -> KnownNames:
    """The names that the main command knows. Without it names are not checked."""
    return ctx.find_object(KnownNames) or KnownNames()
