"""`dragoman store`: check, move, export and prune what outlives requests."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import click
import msgspec

from dragoman.cli.checkup.check import Mark
from dragoman.cli.checkup.page import print_checks
from dragoman.cli.checkup.servers import server_checks
from dragoman.cli.commands.gateway.config import chosen_file, config_option, env_option, loaded_or_exit
from dragoman.cli.inputs.state_access import opened_store
from dragoman.cli.output.console import print_table
from dragoman.errors import OptionError
from dragoman.store.composed_store import ComposedStore
from dragoman.store.contracts.ledger import LedgerQuery
from dragoman.store.errors import StoreError
from dragoman.store.ledger_entry import Entry, Viewer
from dragoman.store.location import store_file
from dragoman.store.store import Prunable, Store
from dragoman.store.transfer import Moved, SqliteFile, move

_ADMIN = Viewer("", admin=True)
_PAGE = 500


@click.group()
def store() -> None:
    """Check, move, export and prune what outlives requests."""


@store.command()
@config_option
@env_option
@click.option("--timeout", type=click.FloatRange(0.1, 60), default=5.0, show_default=True, help="Seconds per server.")
@click.pass_context
def check(ctx: click.Context, path: Path | None, env_files: tuple[Path, ...], timeout: float) -> None:
    """Reach the store and say how it is doing. Exits with 1 if it cannot be used.

    Of Redis and PostgreSQL it says whether they answer and take writes, which version they are, and which of their
    settings would lose something.
    """
    is_reached = asyncio.run(_check(ctx, path, env_files))
    config = loaded_or_exit(ctx, path, env_files).config
    checks = server_checks(config, store_file(config.store, chosen_file(path)), timeout)
    if checks:
        print_checks(checks)
    if not is_reached or any(check.mark is Mark.FAIL for check in checks):
        ctx.exit(1)


async def _check(ctx: click.Context, path: Path | None, env_files: tuple[Path, ...]) -> bool:
    async with opened_store(ctx, path, env_files) as opened:
        if opened is None:
            click.echo("no gateway has made a store yet")
            return True
        health = opened.health()
        rows = [("place", opened.place), ("state", "ok" if health.away is None else f"away: {health.away}")]
        if health.replicas:
            rows.append(("processes that share it", str(max(health.replicas - 1, 0))))
        rows += [("lessons", str(len(await opened.lessons.all())))]
        print_table(("", ""), rows)
        return health.away is None


@store.command()
@config_option
@env_option
@click.option(
    "--from", "source", type=click.Path(path_type=Path), help="The SQLite file. By default the gateway's own."
)
@click.pass_context
def migrate(ctx: click.Context, path: Path | None, env_files: tuple[Path, ...], source: Path | None) -> None:
    """Move what a SQLite file holds to the servers of `store.hot` and `store.ledger`.

    Stop the gateway that writes the file first. Moving it again changes nothing.
    """
    config = loaded_or_exit(ctx, path, env_files).config.store
    if config.hot is None and config.ledger is None:
        raise OptionError("the configuration names no server", hint="set store.hot or store.ledger")
    file = source or store_file(config, chosen_file(path))
    if file is None:
        raise OptionError("say which file with --from", at="store.kind")
    try:
        moved = asyncio.run(_migrate(ctx, path, env_files, file, ledger=config.ledger is not None))
    except StoreError as error:
        raise OptionError(str(error)) from None
    named = msgspec.structs.asdict(moved)
    click.echo("moved " + ", ".join(f"{count} {name}" for name, count in named.items()))


async def _migrate(
    ctx: click.Context, path: Path | None, env_files: tuple[Path, ...], file: Path, *, ledger: bool
) -> Moved:
    async with opened_store(ctx, path, env_files) as opened:
        assert isinstance(opened, ComposedStore)
        if (why := opened.health().away) is not None:
            raise StoreError(f"cannot be reached: {why}")
        return await move(SqliteFile(file), opened, opened.hot, lambda done: None, ledger=ledger)


@store.command()
@config_option
@env_option
@click.pass_context
def export(ctx: click.Context, path: Path | None, env_files: tuple[Path, ...]) -> None:
    """Print requests and lessons as one JSON object per line, the newest request first."""
    asyncio.run(_export(ctx, path, env_files))


async def _export(ctx: click.Context, path: Path | None, env_files: tuple[Path, ...]) -> None:
    async with opened_store(ctx, path, env_files) as opened:
        if opened is None:
            return
        async for entry in _entries(opened):
            click.echo(b'{"request":' + entry.report() + b"}")
        for record in await opened.lessons.all():
            click.echo(msgspec.json.encode({"lesson": record}))


async def _entries(opened: Store) -> AsyncIterator[Entry]:
    after: str | None = None
    while True:
        page = await opened.ledger.recent(_ADMIN, LedgerQuery(limit=_PAGE, after=after))
        for entry in page.entries:
            yield entry
        after = page.next
        if after is None:
            return


@store.command()
@config_option
@env_option
@click.pass_context
def prune(ctx: click.Context, path: Path | None, env_files: tuple[Path, ...]) -> None:
    """Remove now what is too old or too much. Gateways do so by themselves while they work."""
    click.echo(f"{asyncio.run(_prune(ctx, path, env_files))} removed")


async def _prune(ctx: click.Context, path: Path | None, env_files: tuple[Path, ...]) -> int:
    async with opened_store(ctx, path, env_files) as opened:
        return await opened.prune() if isinstance(opened, Prunable) else 0
