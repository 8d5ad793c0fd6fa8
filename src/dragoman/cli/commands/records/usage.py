"""`dragoman usage`: requests, tokens and cost, by key, model, day or target."""

from __future__ import annotations

import csv
import sys
import time

import click
import msgspec

from dragoman.cli.inputs.compile_context import json_option
from dragoman.cli.inputs.state_access import GatewayState, key_option, state_options
from dragoman.cli.output.cache_tables import print_cache
from dragoman.cli.output.console import print_table
from dragoman.errors import OptionError
from dragoman.store.cache_report import CacheReport, cache_report
from dragoman.store.contracts.ledger import LedgerQuery
from dragoman.store.ledger_entry import Totals, Viewer
from dragoman.store.ledger_views import GROUPS, UsageReport, parse_since, usage_report
from dragoman.store.store import Store

_ADMIN = Viewer("", admin=True)
_HEAD = ("requests", "errors", "input", "output", "cached", "reasoning", "cost", "estimated cost", "unpriced")
_FORMULA = ("=", "+", "-", "@", "\t", "\r")


@click.command()
@state_options
@key_option
@click.option("--by", type=click.Choice(list(GROUPS)), default="model", show_default=True, help="How to group.")
@click.option("--since", metavar="SPAN|DATE", help="Only from then on: 30m, 24h, 7d, 2w, or a date in UTC.")
@click.option(
    "--format", "form", type=click.Choice(["table", "csv", "json"]), default="table", show_default=True, help="Output."
)
@json_option
@click.option(
    "--cache", "caches", is_flag=True, help="What prompt caches saved and lost, and which requests broke them."
)
def usage(
    state: GatewayState,
    *,
    by: str,
    since: str | None,
    form: str,
    as_json: bool,
    caches: bool,
) -> None:
    """Show what was used and what it cost, how much of that is estimated, and what has no price."""
    moment = since_option(since)
    query = {"since": since} if since is not None else {}

    async def read_caches(store: Store) -> CacheReport:
        return await cache_report(store.ledger, _ADMIN, moment)

    async def read_usage(store: Store) -> UsageReport:
        groups = await store.ledger.totals(_ADMIN, GROUPS[by], LedgerQuery(since=moment))
        config = state.given.config()  # its warnings are printed
        return usage_report(by, moment, groups, config.store.keep_requests)

    if caches:
        _show_caches(state.ask(CacheReport, "/dragoman/cache", read_caches, query), as_json or form == "json")
    else:
        report = state.ask(UsageReport, "/dragoman/usage", read_usage, {"by": by, **query})
        _show(report, "json" if as_json else form)


def since_option(text: str | None) -> float | None:
    """The moment that `--since` means. Raises OptionError."""
    try:
        return parse_since(text, time.time()) if text is not None else None
    except ValueError as fault:
        raise OptionError(str(fault), at="--since") from None


def _show_caches(report: CacheReport, as_json: bool) -> None:
    if as_json:
        click.echo(msgspec.json.encode(report))
    else:
        print_cache(report)


def _show(report: UsageReport, form: str) -> None:
    if form == "json":
        click.echo(msgspec.json.encode(report))
    elif form == "csv":
        written = csv.writer(sys.stdout, lineterminator="\n")
        written.writerow((report.by, *_HEAD))
        written.writerows((_cell(one.name), *_figures(one)) for one in report.groups)
    elif not report.groups:
        click.echo("no requests")
    else:
        rows = [(one.name or "-", *_figures(one)) for one in (*report.groups, report.total)]
        print_table((report.by, *_HEAD), rows, always_head=True)
    if report.is_cut:
        click.echo(
            f"warning: these are the newest {report.total.requests} requests, and the ledger keeps no more; "
            "for sums of a longer time raise store.keep_requests",
            err=True,
        )


def _cell(text: str) -> str:
    """A name that a client made up must not become a formula in somebody's spreadsheet."""
    return f"'{text}" if text.startswith(_FORMULA) else text


def _figures(one: Totals) -> tuple[str, ...]:
    counts = (one.requests, one.errors, one.input_tokens, one.output_tokens, one.cached_tokens, one.reasoning_tokens)
    return (*map(str, counts), f"{one.cost:.6f}", f"{one.estimated_cost:.6f}", str(one.unpriced))
