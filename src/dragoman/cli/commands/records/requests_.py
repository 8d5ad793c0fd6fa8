"""`dragoman requests`: the requests of the ledger, newest first."""

from __future__ import annotations

from datetime import UTC, datetime

import click
import msgspec

from dragoman.cli.commands.records.usage import since_option
from dragoman.cli.inputs.state_access import GatewayState, key_option, state_options
from dragoman.cli.output.console import print_table
from dragoman.store.contracts.ledger import LARGEST_PAGE, LedgerQuery
from dragoman.store.ledger_entry import Viewer
from dragoman.store.ledger_views import STATES, RequestPage, RequestRow, request_row
from dragoman.store.store import Store

_HEAD = ("id", "time", "key", "model", "target", "status", "input", "output", "cost")


@click.command("requests")
@state_options
@key_option
@click.option("--of", "of_key", metavar="NAME", help="Only the requests of this client key.")
@click.option("--model", help="Only the requests for this model, as clients name it.")
@click.option("--target", metavar="PROVIDER/MODEL", help="Only the requests that this target answered.")
@click.option("--status", type=click.Choice(list(STATES)), help="Only those that were answered, or only failures.")
@click.option("--since", metavar="SPAN|DATE", help="Only from then on: 30m, 24h, 7d, 2w, or a date in UTC.")
@click.option("--limit", type=click.IntRange(1, LARGEST_PAGE), default=50, show_default=True, help="The most to show.")
@click.option("--after", metavar="CURSOR", help="Those that follow a page: its `next`.")
@click.option("--json", "as_json", is_flag=True, help="Print the page as JSON, with `next`.")
def requests_(
    state: GatewayState,
    *,
    of_key: str | None,
    model: str | None,
    target: str | None,
    status: str | None,
    since: str | None,
    limit: int,
    after: str | None,
    as_json: bool,
) -> None:
    """List requests: who asked for what, who answered, and what it cost."""
    asked = {"key_name": of_key, "model": model, "target": target, "status": status, "since": since, "after": after}
    chosen = {name: value for name, value in asked.items() if value is not None}
    query = LedgerQuery(
        since=since_option(since),
        caller=of_key,
        target=target,
        asked=model,
        failed=None if status is None else STATES[status],
        limit=limit,
        after=after,
    )

    async def read(store: Store) -> RequestPage:
        page = await store.ledger.recent(Viewer("", admin=True), query)
        return RequestPage(tuple(map(request_row, page.entries)), page.next)

    _show(state.ask(RequestPage, "/dragoman/requests", read, {**chosen, "limit": str(limit)}), as_json)


def _show(page: RequestPage, as_json: bool) -> None:
    if as_json:
        click.echo(msgspec.json.encode(page))
    elif not page.requests:
        click.echo("no requests")
    else:
        print_table(_HEAD, [_row(one) for one in page.requests], always_head=True)
        if page.next is not None:
            click.echo(f"more with: --after '{page.next}'", err=True)


def _row(one: RequestRow) -> tuple[str, ...]:
    moment = datetime.fromtimestamp(int(one.time), UTC).strftime("%Y-%m-%d %H:%M:%S")
    cost = "-" if one.cost is None else f"{'~' if one.estimated and not one.reported_cost else ''}{one.cost:.6f}"
    named = (one.id, moment, one.key or "-", one.model or "-", one.target or "-", str(one.status))
    return (*named, str(one.input_tokens), str(one.output_tokens), cost)
