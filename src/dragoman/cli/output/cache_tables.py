"""A report about prompt caches as tables."""

from __future__ import annotations

import click

from dragoman.cli.output.console import print_table
from dragoman.store.cache_report import CacheReport, CacheTotals

_HEAD = ("requests", "input", "read from cache", "sent again", "saved", "lost", "broken", "worst request", "why")


def print_cache(report: CacheReport) -> None:
    """By day, if there are several, by model and by session; the one that lost the most first."""
    if not report.total.requests:
        click.echo("no requests")
        return
    for title, groups in (("day", report.days), ("model", report.models), ("session", report.sessions)):
        if groups and (title != "day" or len(groups) > 1):
            print_table((title, *_HEAD), [_row(one) for one in groups], always_head=True)
            click.echo()
    print_table(("all", *_HEAD), [_row(report.total)])
    if report.is_cut:
        click.echo("older requests were not looked at: use a later --since")


def _row(one: CacheTotals) -> tuple[str, ...]:
    worst = (one.worst.id, one.worst.why) if one.worst is not None else ("-", "-")
    money = (f"{one.saved:.4f}", f"{one.lost:.4f}")
    return (
        *(one.name or "-", str(one.requests), str(one.input_tokens), f"{one.read:.0%}", str(one.resent_tokens)),
        *(*money, str(one.breaks), *worst),
    )
