"""A profile compared with what a server was found to do."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from typing import Any

import msgspec

from dragoman.profiles.fact_names import flat_facts
from dragoman.profiles.facts import Facts, Stance
from dragoman.profiles.profile import merge


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
    known = _comparable(merge(_defaults(plain, found), plain))
    return tuple(
        ComparedFact(name, known.get(name), value, _agreement(known.get(name), value))
        for name, value in _comparable(found).items()
    )


def _defaults(plain: Mapping[str, Any], found: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    """What a profile says by silence of the settings and media that were found."""
    lookups = {"settings": Facts().setting, "media": Facts().medium}
    return {
        table: {
            entry: msgspec.to_builtins(lookup(entry))
            for entry in found.get(table, {})
            if entry not in plain.get(table, {})
        }
        for table, lookup in lookups.items()
    }


def _comparable(facts: Mapping[str, Any]) -> dict[str, Any]:
    """Facts by their dotted names. Lists are compared as sets of words."""
    return {
        name: tuple(sorted(map(str, value))) if isinstance(value, list | tuple) else value
        for name, value in flat_facts(facts).items()
    }


def _agreement(stated: Any, found: Any) -> Agreement:
    if stated == found:
        return Agreement.SAME
    return Agreement.NEW if stated in (Stance.UNKNOWN.value, Stance.TRIED.value, None, "") else Agreement.OTHER
