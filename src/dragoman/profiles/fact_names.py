"""The names of facts: plain, or dotted in a table of facts, as `media.image.inline`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any


def flat_facts(facts: Mapping[str, Any]) -> dict[str, Any]:
    """Every value by its dotted name."""
    return dict(_flat(facts, ""))


def _flat(facts: Mapping[str, Any], before: str) -> Iterator[tuple[str, Any]]:
    for name, value in facts.items():
        if isinstance(value, Mapping):
            yield from _flat(value, f"{before}{name}.")
        else:
            yield f"{before}{name}", value


def entry_names(facts: Mapping[str, Any]) -> Iterator[str]:
    """The names of facts, and in place of a table those of its entries: `media.image`."""
    for name, value in facts.items():
        if isinstance(value, Mapping):
            yield from (f"{name}.{entry}" for entry in value)
        else:
            yield name


def nest_fact(name: str, value: Any) -> dict[str, Any]:
    """A fact by its dotted name, as a profile states it."""
    for step in reversed(name.split(".")):
        value = {step: value}
    return dict(value)
