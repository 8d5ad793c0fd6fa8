"""`dragoman profiles diff`: the facts in which two profiles differ."""

from __future__ import annotations

from typing import Any

import click
import msgspec

from dragoman.cli.output.console import print_table
from dragoman.profiles.fact_names import flat_facts
from dragoman.profiles.profile import Target

_NAMES = ("dialect", "provider", "family", "model")
"""Facts that say who it is, in which any two differ."""


class DifferingFact(msgspec.Struct, frozen=True):
    """A fact, and what each of the two says. None: nothing."""

    fact: str
    first: Any
    second: Any


def differing_facts(first: Target, second: Target) -> tuple[DifferingFact, ...]:
    """The facts in which two targets differ, in the order of the catalogue."""
    before, after = _flat_facts(first), _flat_facts(second)
    return tuple(
        DifferingFact(name, before.get(name), after.get(name))
        for name in dict.fromkeys((*before, *after))
        if before.get(name) != after.get(name)
    )


def show_difference(first: Target, second: Target, *, as_json: bool) -> int:
    """Print the difference. 1 if there is one."""
    found = differing_facts(first, second)
    if as_json:
        click.echo(msgspec.json.format(msgspec.json.encode(found)).decode())
    elif found:
        rows = [(one.fact, _shown(one.first), _shown(one.second)) for one in found]
        print_table(("fact", first.profile.name, second.profile.name), rows)
    else:
        click.echo("no fact differs")
    return 1 if found else 0


def _flat_facts(target: Target) -> dict[str, Any]:
    plain: dict[str, Any] = msgspec.to_builtins(target.facts)
    return {name: value for name, value in flat_facts(plain).items() if name not in _NAMES}


def _shown(value: Any) -> str:
    if value is None:
        return "-"
    return value if isinstance(value, str) and value else msgspec.json.encode(value).decode()
