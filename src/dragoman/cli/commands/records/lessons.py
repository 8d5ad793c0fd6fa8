"""`dragoman lessons`: what refusals have taught about targets; `--forget` forgets it."""

from __future__ import annotations

import asyncio
import time

import click
import msgspec

from dragoman.cli.inputs.given_config import GivenConfig
from dragoman.cli.inputs.state_access import RunningGateway, key_option, opened_store, state_options
from dragoman.cli.output.console import print_table
from dragoman.engine.exchange.lesson_book import LessonRecord
from dragoman.store.store import Store

_PATH = "/dragoman/lessons"


class _Shown(msgspec.Struct):
    lessons: tuple[LessonRecord, ...]


class _Forgotten(msgspec.Struct):
    forgotten: int


@click.command()
@state_options
@key_option
@click.option("--target", metavar="PROVIDER/MODEL", help="Only the lessons about this target.")
@click.option("--name", help="Only the lessons of this name.")
@click.option("--forget", is_flag=True, help="Forget them. A gateway that runs alone on its store is told by --url.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object per line.")
def lessons(
    given: GivenConfig,
    gateway: RunningGateway | None,
    *,
    target: str | None,
    name: str | None,
    forget: bool,
    as_json: bool,
) -> None:
    """Show what refusals have taught about targets, for whom it holds, and until when."""
    chosen = {field: value for field, value in (("target", target), ("name", name)) if value}
    if gateway is not None:
        found, count = _from_gateway(gateway, chosen, forget)
    else:
        found, count = asyncio.run(_from_store(given, chosen, forget))
    if forget:
        click.echo(f"{count} forgotten")
        return
    matching = [one for one in found if all(getattr(one, field) == value for field, value in chosen.items())]
    _show(matching, as_json)


def _from_gateway(
    gateway: RunningGateway, chosen: dict[str, str], forget: bool
) -> tuple[tuple[LessonRecord, ...], int]:
    if not forget:
        return gateway.ask(_Shown, _PATH).lessons, 0
    return (), gateway.ask(_Forgotten, _PATH, chosen, "DELETE").forgotten


async def _from_store(given: GivenConfig, chosen: dict[str, str], forget: bool) -> tuple[tuple[LessonRecord, ...], int]:
    async with opened_store(given) as store:
        return ((), 0) if store is None else await _look(store, chosen, forget)


async def _look(store: Store, chosen: dict[str, str], forget: bool) -> tuple[tuple[LessonRecord, ...], int]:
    found = await store.lessons.all()
    if not forget:
        return found, 0
    gone = [one for one in found if all(getattr(one, field) == value for field, value in chosen.items())]
    for target, name in {(one.target, one.name) for one in gone}:
        await store.lessons.forget(target, name)
    await store.flush()
    return (), len(gone)


def _show(found: list[LessonRecord], as_json: bool) -> None:
    if as_json:
        for one in found:
            click.echo(msgspec.json.encode(one))
        return
    if not found:
        click.echo("nothing has been learnt")
        return
    rows = [
        (one.target, one.name, msgspec.json.encode(one.facts).decode(), _holder(one), _left(one.expires))
        for one in found
    ]
    print_table(("target", "lesson", "facts", "holds for", "expires in"), rows)


def _holder(record: LessonRecord) -> str:
    return "all" if record.confirmed else record.caller or "the owner, until another request confirms it"


def _left(expires: float) -> str:
    minutes = max(int((expires - time.time()) / 60), 0)
    return f"{minutes // 60} h {minutes % 60} min"
