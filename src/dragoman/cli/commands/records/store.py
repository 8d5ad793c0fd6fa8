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
from dragoman.cli.inputs.given_config import GivenConfig, config_options
from dragoman.cli.inputs.state_access import open_kept_store
from dragoman.cli.output.console import print_table
from dragoman.errors import OptionError
from dragoman.store.composed_store import ComposedStore
from dragoman.store.contracts.ledger import LedgerQuery
from dragoman.store.errors import StoreError
from dragoman.store.ledger_entry import Entry, Viewer
from dragoman.store.location import store_file
from dragoman.store.memory.store import MemoryStore
from dragoman.store.store import Prunable, Store
from dragoman.store.transfer import Moved, SqliteFile, move

_ADMIN = Viewer("", admin=True)
_PAGE = 500


@click.group()
def store() -> None:
    """Check, move, export and prune what outlives requests."""


@store.command()
@config_options
@click.option("--timeout", type=click.FloatRange(0.1, 60), default=5.0, show_default=True, help="Seconds per server.")
@click.pass_context
def check(ctx: click.Context, given: GivenConfig, timeout: float) -> None:
    """Reach the store and say how it is doing. Exits with 1 if it cannot be used.

    Of Redis and PostgreSQL it says whether they answer and take writes, which version they are, and which of their
    settings would lose something.
    """
    is_reached = asyncio.run(_check(given))
    config = given.config()
    checks = server_checks(config, store_file(config.store, given.file), timeout)
    if checks:
        print_checks(checks)
    if not is_reached or any(check.mark is Mark.FAIL for check in checks):
        ctx.exit(1)


async def _check(given: GivenConfig) -> bool:
    async with open_kept_store(given) as opened:
        if isinstance(opened, MemoryStore):
            click.echo("no gateway has made a store yet")
            return True
        health = opened.health()
        rows = [
            ("place", opened.place),
            ("state", f"away: {'; '.join(map(str, health.away))}" if health.away else "ok"),
        ]
        if health.replicas:
            rows.append(("processes that share it", str(max(health.replicas - 1, 0))))
        rows += [("lessons", str(len(await opened.lessons.all())))]
        print_table(("", ""), rows)
        return not health.away


@store.command()
@config_options
@click.option(
    "--from", "source", type=click.Path(path_type=Path), help="The SQLite file. By default the gateway's own."
)
def migrate(given: GivenConfig, source: Path | None) -> None:
    """Move what a SQLite file holds to the servers of `store.hot` and `store.ledger`.

    Stop the gateway that writes the file first. Moving it again changes nothing.
    """
    config = given.loaded().config.store
    if config.hot is None and config.ledger is None:
        raise OptionError("the configuration names no server", hint="set store.hot or store.ledger")
    file = source or store_file(config, given.file)
    if file is None:
        raise OptionError("say which file with --from", at="store.kind")
    try:
        moved = asyncio.run(_migrate(given, file, ledger=config.ledger is not None))
    except StoreError as error:
        raise OptionError(str(error)) from None
    named = msgspec.structs.asdict(moved)
    click.echo("moved " + ", ".join(f"{count} {name}" for name, count in named.items()))


async def _migrate(given: GivenConfig, file: Path, *, ledger: bool) -> Moved:
    async with open_kept_store(given) as opened:
        assert isinstance(opened, ComposedStore)
        if away := opened.health().away:
            raise StoreError(f"cannot be reached: {'; '.join(map(str, away))}")
        return await move(SqliteFile(file), opened, opened.hot, lambda done: None, ledger=ledger)


@store.command()
@config_options
def export(given: GivenConfig) -> None:
    """Print requests and lessons as one JSON object per line, the newest request first."""
    asyncio.run(_export(given))


async def _export(given: GivenConfig) -> None:
    async with open_kept_store(given) as opened:
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
@config_options
def prune(given: GivenConfig) -> None:
    """Remove now what is too old or too much. Gateways do so by themselves while they work."""
    click.echo(f"{asyncio.run(_prune(given))} removed")


async def _prune(given: GivenConfig) -> int:
    async with open_kept_store(given) as opened:
        return await opened.prune() if isinstance(opened, Prunable) else 0
