"""`dragoman config`: check the file, show the effective values, print the schema for editors."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import click
from click.core import ParameterSource
from msgspec.structs import replace

from dragoman.cli.inputs.given_config import GivenConfig, config_options
from dragoman.config.effective_view import render_plain, render_yaml
from dragoman.config.reference import json_schema


@click.group()
def config() -> None:
    """Check and show the configuration."""


@config.command()
@click.argument("file", required=False, type=click.Path(path_type=Path, dir_okay=False))
@config_options
@click.pass_context
def check(ctx: click.Context, given: GivenConfig, file: Path | None) -> None:
    """Check FILE, or the configuration that the gateway would use. Every mistake is reported with its line.

    The exit code is 1 if there is a mistake, or if the file says nothing.
    """
    if file is not None and ctx.get_parameter_source("path") is ParameterSource.COMMANDLINE:
        raise click.UsageError("FILE and --config name the same thing; give one of them")
    given = replace(given, path=file or given.path)
    loaded = given.loaded()
    found = loaded.config
    if loaded.blank and given.file is not None:
        click.echo(f"{loaded.file}: says nothing; `dragoman init` writes an example, or delete it", err=True)
        sys.exit(1)
    held = {"provider": len(found.providers), "model": len(found.models), "key": len(found.keys)}
    counts = ", ".join(f"{count} {word}{'' if count == 1 else 's'}" for word, count in held.items())
    click.echo(f"{loaded.file or 'environment'}: valid ({counts})")


@config.command()
@config_options
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object: path → value and origin.")
def show(given: GivenConfig, as_json: bool) -> None:
    """Print the effective configuration and the origin of each value. Secrets are masked."""
    loaded = given.loaded()
    click.echo(json.dumps(render_plain(loaded), indent=2) if as_json else render_yaml(loaded), nl=as_json)


@config.command()
def schema() -> None:
    """Print the JSON Schema of the file, for editors."""
    click.echo(json.dumps(json_schema(), indent=2, ensure_ascii=False))
