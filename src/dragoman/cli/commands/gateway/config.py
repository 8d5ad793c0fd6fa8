"""`dragoman config`: check the file, show the effective values, print the schema for editors."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import click
from click.core import ParameterSource

from dragoman.config.effective_view import render_plain, render_yaml
from dragoman.config.errors import InvalidConfig
from dragoman.config.known_names import KnownNames
from dragoman.config.load import DEFAULT_FILE, Loaded, load
from dragoman.config.reference import json_schema

config_option = click.option(
    "--config",
    "-c",
    "path",
    type=click.Path(path_type=Path, dir_okay=False),
    envvar="DRAGOMAN_CONFIG",
    help=f"The configuration file; by default {DEFAULT_FILE} if it exists.",
)
env_option = click.option(
    "--env-file",
    "env_files",
    type=click.Path(path_type=Path, exists=True, dir_okay=False),
    multiple=True,
    help="A file with NAME=value lines; repeatable.",
)


@click.group()
def config() -> None:
    """Check and show the configuration."""


@config.command()
@click.argument("file", required=False, type=click.Path(path_type=Path, dir_okay=False))
@config_option
@env_option
@click.pass_context
def check(ctx: click.Context, file: Path | None, path: Path | None, env_files: tuple[Path, ...]) -> None:
    """Check FILE, or the configuration that the gateway would use. Every mistake is reported with its line.

    The exit code is 1 if there is a mistake, or if the file says nothing.
    """
    if file is not None and ctx.get_parameter_source("path") is ParameterSource.COMMANDLINE:
        raise click.UsageError("FILE and --config name the same thing; give one of them")
    loaded = loaded_or_exit(ctx, file or path, env_files)
    found = loaded.config
    if loaded.blank and chosen_file(file or path) is not None:
        click.echo(f"{loaded.file}: says nothing; `dragoman init` writes an example, or delete it", err=True)
        sys.exit(1)
    held = {"provider": len(found.providers), "model": len(found.models), "key": len(found.keys)}
    counts = ", ".join(f"{count} {word}{'' if count == 1 else 's'}" for word, count in held.items())
    click.echo(f"{loaded.file or 'environment'}: valid ({counts})")


@config.command()
@config_option
@env_option
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object: path → value and origin.")
@click.pass_context
def show(ctx: click.Context, path: Path | None, env_files: tuple[Path, ...], as_json: bool) -> None:
    """Print the effective configuration and the origin of each value. Secrets are masked."""
    loaded = loaded_or_exit(ctx, path, env_files)
    click.echo(json.dumps(render_plain(loaded), indent=2) if as_json else render_yaml(loaded), nl=as_json)


@config.command()
def schema() -> None:
    """Print the JSON Schema of the file, for editors."""
    click.echo(json.dumps(json_schema(), indent=2, ensure_ascii=False))


def loaded_or_exit(ctx: click.Context, path: Path | None, env_files: tuple[Path, ...]) -> Loaded:
    """The configuration, with its warnings printed. Exits with code 1 if it is invalid."""
    try:
        loaded = load(chosen_file(path), known=known_names(ctx), env_files=env_files)
    except InvalidConfig as error:
        click.echo(str(error), err=True)
        sys.exit(1)
    for warning in loaded.warnings:
        click.echo(f"warning: {warning}", err=True)
    return loaded


def chosen_file(path: Path | None) -> Path | None:
    """The named file, else the default file if it exists, else None."""
    if path is not None:
        return path
    default = Path(DEFAULT_FILE)
    return default if default.is_file() else None


def known_names(ctx: click.Context) -> KnownNames:
    """The names that the main command knows. Without it names are not checked."""
    return ctx.find_object(KnownNames) or KnownNames()
