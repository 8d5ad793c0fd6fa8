"""A profile compared with what a server was found to do."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from enum import StrEnum
from typing import Any

import msgspec

from dragoman.profiles.facts import Facts, Stance


class Agreement(StrEnum):
    """How a fact of a profile compares with what was found."""

    SAME = "same"
    NEW = "new"
    OTHER = "other"


class ComparedFact(msgspec.Struct, frozen=True):
    """One fact, as the profile has it and as the server answered."""

    fact: str
    """Its name."""
    stated: Any
    """What the profile says."""
    found: Any
    """What the server does."""
    agreement: Agreement
    """`new`: the profile does not know it."""


def compare_facts(stated: Facts, found: Mapping[str, Any]) -> tuple[ComparedFact, ...]:
    """Every fact that was found, beside what the profile says."""
    plain: dict[str, Any] = msgspec.to_builtins(stated)
    known = Facts()
    flat = dict(_flat(plain)) | dict(_defaults(plain, found, known))
    return tuple(
        ComparedFact(name, flat.get(name), value, _agreement(flat.get(name), value)) for name, value in _flat(found)
    )


def _defaults(plain: Mapping[str, Any], found: Mapping[str, Any], known: Facts) -> Iterator[tuple[str, Any]]:
    """What a profile says by silence of the settings and media that were found."""
    for table, lookup in (("settings", known.setting), ("media", known.medium)):
        for entry in found.get(table, {}):
            if entry not in plain.get(table, {}):
                yield from _flat({table: {entry: msgspec.to_builtins(lookup(entry))}})


def _flat(facts: Mapping[str, Any], before: str = "") -> Iterator[tuple[str, Any]]:
    """Facts by their dotted names. Lists are compared as sets of words."""
    for name, value in facts.items():
        if isinstance(value, Mapping):
            yield from _flat(value, f"{before}{name}.")
        elif isinstance(value, list | tuple):
            yield f"{before}{name}", tuple(sorted(map(str, value)))
        else:
            yield f"{before}{name}", value


def _agreement(stated: Any, found: Any) -> Agreement:
    if stated == found:
        return Agreement.SAME
    return Agreement.NEW if stated in (Stance.UNKNOWN.value, None, "") else Agreement.OTHER
