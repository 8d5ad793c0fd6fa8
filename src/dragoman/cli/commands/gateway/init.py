"""`dragoman init`: write a commented configuration to start from."""

from __future__ import annotations

from pathlib import Path

import click

from dragoman.config.example import example
from dragoman.config.key_editing import write_file
from dragoman.config.load import DEFAULT_FILE


@click.command()
@click.argument("path", type=click.Path(path_type=Path, dir_okay=False), default=DEFAULT_FILE)
@click.option("--force", is_flag=True, help="Overwrite an existing file.")
def init(path: Path, force: bool) -> None:
    """Write an example configuration with every key explained."""
    if path.exists() and not force:
        raise click.ClickException(f"{path} exists already; use --force to overwrite it")
    write_file(path, example())
    click.echo(f"{path} written. Next: dragoman config check {path}", err=True)
