"""`dragoman import`: translate the configuration of another gateway."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from pathlib import Path

import click

from dragoman.config.errors import InvalidConfig
from dragoman.config.importers.claude_code_router import import_claude_code_router
from dragoman.config.importers.foreign_config import Imported, render_yaml
from dragoman.config.importers.lazyrouter import import_lazyrouter
from dragoman.config.importers.litellm import import_litellm
from dragoman.config.importers.nnp import import_nnp
from dragoman.config.key_editing import write_file
from dragoman.config.load import parse, read_text
from dragoman.config.variables import Environment
from dragoman.config.yaml_tree import parse_tree
from dragoman.gateway.config_names import collect_names

files_argument = click.argument(
    "files", nargs=-1, required=True, type=click.Path(path_type=Path, exists=True, dir_okay=False)
)
file_argument = click.argument("file", type=click.Path(path_type=Path, exists=True, dir_okay=False))
output_option = click.option(
    "--output",
    "-o",
    type=click.Path(path_type=Path, dir_okay=False),
    help="Write to this file instead of standard output.",
)
force_option = click.option("--force", is_flag=True, help="Overwrite an existing file.")


@click.group(name="import")
def import_() -> None:
    """Translate another gateway's configuration. A setting without a counterpart is reported, not dropped silently."""


def _add_importer(name: str, gateway: str, file_name: str, translate: Callable[[Path], Imported]) -> None:
    """Add the command for a gateway whose configuration is one file."""

    @import_.command(name=name, help=f"Translate {gateway}'s {file_name}.")
    @file_argument
    @output_option
    @force_option
    def command(file: Path, output: Path | None, force: bool) -> None:
        _write_translation(lambda: translate(file), f"{gateway}, {file.name}", output, force)


_add_importer("litellm", "LiteLLM", "config.yaml", lambda file: import_litellm(_read(file), os.environ))
_add_importer("lazyrouter", "LazyRouter", "config.yaml", lambda file: import_lazyrouter(_read(file), os.environ))
_add_importer(
    "claude-code-router",
    "claude-code-router",
    "config.json",
    lambda file: import_claude_code_router(_read_json(file), os.environ),
)


@import_.command()
@files_argument
@output_option
@force_option
def nnp(files: tuple[Path, ...], output: Path | None, force: bool) -> None:
    """Translate NNP AI Router's three files: providers, models and user keys."""
    origin = f"NNP AI Router, {', '.join(file.name for file in files)}"
    _write_translation(
        lambda: import_nnp({str(file): _read(file) for file in files}, os.environ), origin, output, force
    )


def _read_json(file: Path) -> object:
    """JSON with comments and spare commas, as YAML: lines of comments are left out, the rest YAML takes."""
    lines = [line for line in read_text(file).splitlines() if not line.lstrip().startswith("//")]
    return parse_tree("\n".join(lines).replace("\t", "  "), file.name).plain()


def _read(file: Path) -> object:
    return parse_tree(read_text(file), file.name).plain()


def _write_translation(translate: Callable[[], Imported], origin: str, output: Path | None, force: bool) -> None:
    """Write the translation, print its notes, and check that it is valid."""
    if output is not None and output.exists() and not force:
        raise click.ClickException(f"{output} exists already; use --force to overwrite it")
    gateway, _, files = origin.partition(", ")
    try:
        imported = translate()
    except InvalidConfig as error:
        for problem in error.problems:
            click.echo(problem if problem.file else f"{files}: {problem}", err=True)
        sys.exit(1)
    if not imported.config.keys() & {"providers", "models", "keys"}:
        raise click.ClickException(f"{files}: there are no providers, models or keys as {gateway} writes them")
    text = render_yaml(imported, origin)
    if output is not None:
        write_file(output, text)
    else:
        click.echo(text, nl=False)
    for note in imported.notes:
        click.echo(f"note: {note}", err=True)
    _check_translation(text, output)


def _check_translation(text: str, output: Path | None) -> None:
    try:
        parse(text, file=output.name if output else "imported", known=collect_names(), variables=Environment({}))
    except InvalidConfig as error:
        click.echo(f"{error}\nCorrect the translation before you use it.", err=True)
        sys.exit(1)
