"""`dragoman lessons`: what refusals have taught about targets; `--forget` forgets it."""

from __future__ import annotations

import time
from collections.abc import Mapping

import click
import msgspec

from dragoman.cli.inputs.state_access import Forgotten, GatewayState, key_option, list_lessons, state_options
from dragoman.cli.output.console import print_table
from dragoman.engine.exchange.lesson_book import LessonRecord
from dragoman.store.exchange_state import forget_lessons
from dragoman.store.store import Store


@click.command()
@state_options
@key_option
@click.option("--target", metavar="PROVIDER/MODEL", help="Only the lessons about this target.")
@click.option("--name", help="Only the lessons of this name.")
@click.option("--forget", is_flag=True, help="Forget them. A gateway that runs alone on its store is told by --url.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object per line.")
def lessons(
    state: GatewayState,
    *,
    target: str | None,
    name: str | None,
    forget: bool,
    as_json: bool,
) -> None:
    """Show what refusals have taught about targets, for whom it holds, and until when."""
    chosen = {field: value for field, value in (("target", target), ("name", name)) if value}
    if forget:
        click.echo(f"{_forget(state, chosen)} forgotten")
        return
    found = list_lessons(state)
    _show([one for one in found if all(getattr(one, field) == value for field, value in chosen.items())], as_json)


def _forget(state: GatewayState, chosen: Mapping[str, str]) -> int:
    async def forget_stored(store: Store) -> Forgotten:
        count = await forget_lessons(store.lessons, chosen.get("target"), chosen.get("name"))
        await store.flush()
        return Forgotten(count)

    return state.ask(Forgotten, "/dragoman/lessons", forget_stored, chosen, "DELETE").forgotten


def _show(found: list[LessonRecord], as_json: bool) -> None:
    if as_json:
        for one in found:
            click.echo(msgspec.json.encode(one))
        return
    if not found:
        click.echo("nothing has been learnt")
        return
    rows = [
        (one.target, one.name, msgspec.json.encode(one.facts).decode(), _holder(one), _tell_left(one.expires))
        for one in found
    ]
    print_table(("target", "lesson", "facts", "holds for", "expires in"), rows)


def _holder(record: LessonRecord) -> str:
    return "all" if record.confirmed else record.caller or "the owner, until another request confirms it"


def _tell_left(expires: float) -> str:
    minutes = max(int((expires - time.time()) / 60), 0)
    return f"{minutes // 60} h {minutes % 60} min"
