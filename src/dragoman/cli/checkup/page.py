"""Checks as people read them: by section, with what to do below what is not well."""

from __future__ import annotations

from collections.abc import Sequence

import click

from dragoman.cli.checkup.check import Check, Mark
from dragoman.cli.output.console import print_beside, printable

_COLOURS = {Mark.OK: "green", Mark.WARN: "yellow", Mark.FAIL: "red", Mark.SKIP: "bright_black"}


def print_checks(checks: Sequence[Check]) -> None:
    width = max(len(check.name) for check in checks)
    for section in dict.fromkeys(check.section for check in checks):
        click.secho(section, bold=True)
        for check in checks:
            if check.section == section:
                _print_check(check, width)
    counts = {mark: sum(check.mark is mark for check in checks) for mark in Mark}
    click.echo(", ".join(f"{count} {mark}" for mark, count in counts.items() if count))


def _print_check(check: Check, width: int) -> None:
    mark = click.style(f"{check.mark:<4}", fg=_COLOURS[check.mark])
    print_beside(f"  {mark}  {printable(check.name):<{width}}  ", printable(check.text))
    if check.hint and check.mark is not Mark.OK:
        print_beside(f"  {'':<4}  {'':<{width}}  → ", printable(check.hint))
