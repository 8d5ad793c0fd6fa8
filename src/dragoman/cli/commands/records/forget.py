"""`dragoman forget`: remove everything that is kept for a client key."""

from __future__ import annotations

import click

from dragoman.cli.inputs.state_access import Forgotten, GatewayState, state_options
from dragoman.errors import OptionError
from dragoman.store.errors import StoreUnavailable
from dragoman.store.store import Store


@click.command()
@state_options
@click.option("--admin-key", "key", help="An admin key of that gateway.", envvar="DRAGOMAN_KEY")
@click.option("--name", "names", multiple=True, help="The name of the client key.")
@click.option("--key", "names", multiple=True, help="An older spelling of --name.")
@click.option("--yes", is_flag=True, help="Do not ask.")
def forget(state: GatewayState, *, names: tuple[str, ...], yes: bool) -> None:
    """Remove what is kept for a client key, everywhere: requests, answers, reasoning state, pins, lessons, amounts.

    A gateway that runs on a SQLite file also has state in its memory; tell it with --url. Replicas on Redis learn of it
    within a second.
    """
    if len(names) != 1:
        raise OptionError("one name is wanted", at="--name", hint="an admin key is given with --admin-key")
    (name,) = names
    if not yes:
        click.confirm(f'Forget everything of the key "{name}"? Its budget starts at zero', abort=True)

    async def forget_stored(store: Store) -> Forgotten:
        return Forgotten(await store.forget(name))

    try:
        count = state.ask(Forgotten, "/dragoman/callers", forget_stored, {"name": name}, "DELETE").forgotten
    except StoreUnavailable as error:
        raise OptionError(f"not everything was removed; try again: {error}") from None
    nothing = f'nothing is kept for a key named "{name}"; is it the name? `dragoman keys list` shows those of the file'
    click.echo(f"{count} removed" if count else nothing)
