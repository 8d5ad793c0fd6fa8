"""`dragoman forget`: remove everything that is kept for a client key."""

from __future__ import annotations

import asyncio
from pathlib import Path

import click
import msgspec

from dragoman.cli.commands.gateway.config import config_option, env_option
from dragoman.cli.inputs.state_access import call_gateway, opened_store, url_option
from dragoman.errors import OptionError
from dragoman.store.errors import StoreUnavailable

_PATH = "/dragoman/callers"


class _Gone(msgspec.Struct):
    forgotten: int


@click.command()
@config_option
@env_option
@url_option
@click.option("--admin-key", help="An admin key of that gateway.", envvar="DRAGOMAN_KEY")
@click.option("--name", "names", multiple=True, help="The name of the client key.")
@click.option("--key", "names", multiple=True, help="An older spelling of --name.")
@click.option("--yes", is_flag=True, help="Do not ask.")
@click.pass_context
def forget(
    ctx: click.Context,
    *,
    path: Path | None,
    env_files: tuple[Path, ...],
    url: str | None,
    admin_key: str | None,
    names: tuple[str, ...],
    yes: bool,
) -> None:
    """Remove what is kept for a client key, everywhere: requests, answers, reasoning state, pins, lessons, amounts.

    A gateway that runs on a SQLite file also has state in its memory; tell it with --url. Replicas on Redis learn of it
    within a second.
    """
    if len(names) != 1:
        raise OptionError("one name is wanted", at="--name", hint="an admin key is given with --admin-key")
    (name,) = names
    if not yes:
        click.confirm(f'Forget everything of the key "{name}"? Its budget starts at zero', abort=True)
    try:
        count = _ask(url, admin_key, name) if url is not None else asyncio.run(_forget(ctx, path, env_files, name))
    except StoreUnavailable as error:
        raise OptionError(f"not everything was removed; try again: {error}") from None
    nothing = f'nothing is kept for a key named "{name}"; is it the name? `dragoman keys list` shows those of the file'
    click.echo(f"{count} removed" if count else nothing)


def _ask(url: str, key: str | None, name: str) -> int:
    return msgspec.json.decode(call_gateway("DELETE", url, _PATH, key, {"name": name}), type=_Gone).forgotten


async def _forget(ctx: click.Context, path: Path | None, env_files: tuple[Path, ...], name: str) -> int:
    async with opened_store(ctx, path, env_files) as store:
        return 0 if store is None else await store.forget(name)
