"""`dragoman serve`: run the gateway."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from dragoman.cli.inputs.given_config import GivenConfig, config_options


@click.command()
@config_options
@click.option("--host", help="The address to listen on; by default the file's, else 127.0.0.1.")
@click.option("--port", "-p", type=click.IntRange(0, 65535), help="The port to listen on; 0 takes a free one.")
@click.option("--workers", "-w", type=click.IntRange(1, 256), help="The number of processes that share the port.")
@click.option(
    "--reload/--no-reload",
    default=True,
    show_default=True,
    help="Load a changed configuration at once. SIGHUP always does.",
)
@click.option(
    "--profiles",
    "profiles",
    type=click.Path(path_type=Path, dir_okay=False),
    multiple=True,
    help="A TOML file with your own profiles, besides those of the configuration; repeatable.",
)
@click.option(
    "--setup",
    is_flag=True,
    help="Let the console edit the configuration, also one that is not valid, after a token that is printed once.",
)
def serve(
    given: GivenConfig,
    *,
    host: str | None,
    port: int | None,
    workers: int | None,
    reload: bool,
    profiles: tuple[Path, ...],
    setup: bool,
) -> None:
    """Serve every client dialect on one port, for models of any provider.

    Without a file, the gateway uses the providers whose keys are in the environment. Without keys, it uses the strict
    emulators instead.
    """
    from dragoman.config.errors import InvalidConfig
    from dragoman.gateway.http.server import ServeOptions, run

    try:
        code = run(
            ServeOptions(
                given.file, given.env_files, host, port, workers=workers, watch=reload, profiles=profiles, setup=setup
            )
        )
    except InvalidConfig as error:
        click.echo(str(error), err=True)
        code = 1
    sys.exit(code)
