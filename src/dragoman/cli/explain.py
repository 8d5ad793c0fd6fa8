"""`dragoman explain`: what will be changed for a target, in sentences."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import click
import msgspec

from dragoman.cli.compile_context import chosen, profile_options
from dragoman.cli.console import clean
from dragoman.engine import explain as explaining
from dragoman.engine.adapt import choose
from dragoman.engine.explain import Explained, Reason
from dragoman.profiles.facts import Stance


@click.command()
@click.argument("target")
@click.option("--json", "as_json", is_flag=True, help="As JSON.")
@profile_options
def explain(target: str, as_json: bool, rules: tuple[str, ...], profiles: Path | None) -> None:
    """Say what is changed for TARGET (PROFILE/MODEL), whatever the conversation, and why."""
    given = chosen(profiles, rules)
    found = explaining.explain(target, profiles=given.profiles, rules=given.rules)
    if as_json:
        click.echo(msgspec.json.format(msgspec.json.encode(found)).decode())
        return
    dialect = choose(target, given.profiles).dialect
    click.echo(f"{click.style(target, bold=True)} speaks {dialect}.\n")
    _tell("What it refuses is repaired for every client:", (one for one in found if not one.careful))
    _tell(
        f"Nobody knows how it takes these; they are repaired only where a client of another dialect than {dialect} "
        "is translated:",
        (one for one in found if one.careful),
    )


def _tell(heading: str, found: Iterable[Explained]) -> None:
    entries = list(found)
    if not entries:
        return
    click.echo(heading)
    for one in entries:
        click.echo(f"\n  {click.style(one.rule, fg='cyan')}: {sentence(one)}")
        for reason in one.because:
            click.echo(f"    {clean(because(reason))}")
    click.echo()


def sentence(one: Explained) -> str:
    """The defect, what is done about it and what that loses."""
    chosen = f" The answer chosen is `{clean(one.does)}`." if one.does else ""
    loses = "It loses nothing." if one.loses == "nothing" else f"It loses {one.loses} at most."
    return f"{one.defect}.{chosen} {loses}"


def because(reason: Reason) -> str:
    """The fact in words, and the provider's own."""
    words = f": “{reason.says}” (seen {reason.seen})" if reason.says else ""
    return f"because {_stated(reason)} [{reason.fact}]{words}"


def _stated(reason: Reason) -> str:
    if reason.value == Stance.REFUSES:
        return f"it refuses {reason.about}"
    if reason.value == Stance.UNKNOWN:
        return f"nobody knows whether it takes {reason.about}"
    if isinstance(reason.value, dict):
        return f"it does not take all of {', '.join(reason.value)}"
    value = reason.value if isinstance(reason.value, str) else msgspec.json.encode(reason.value).decode()
    return f"of {reason.about}: {value or 'none'}"
