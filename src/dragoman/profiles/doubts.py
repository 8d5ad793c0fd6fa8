"""What becomes of a fact that nobody knows: it is taken in the client's favour, or as a refusal."""

from __future__ import annotations

from collections.abc import Mapping
from enum import IntEnum, StrEnum
from typing import Any, Literal

from msgspec.structs import replace

from dragoman.profiles.facts import ACCEPTS, REFUSES, TRIED, UNKNOWN, Facts, Stance, declarations

DoubtName = Literal["faithful", "careful"]
"""The values of `Doubt`, as callers give them."""


class Doubt(StrEnum):
    """How a fact that nobody knows is taken in the client's own dialect.

    A request that is translated to another dialect is always treated with care.
    """

    FAITHFUL = "faithful"
    """In the client's favour: what it wrote stays."""
    CAREFUL = "careful"
    """As a refusal: what may be refused is repaired."""


class Care(IntEnum):
    """Which doubts are decided as refusals, from none to all."""

    NONE = 0
    """None: what is left is certain."""
    FORM = 1
    """Those about form alone, where care loses nothing: the client's own dialect."""
    TRANSLATION = 2
    """All but what is worth a try: another dialect, where we choose the words."""
    FULL = 3
    """All: care is asked for, or the target has refused."""


DOUBTS = (UNKNOWN, TRIED)
"""What a fact says that nobody knows."""


def settle_doubts(facts: Facts, care: Care) -> Facts:
    """The facts with every doubt decided, with so much care."""
    decided = {
        UNKNOWN: REFUSES if care >= Care.TRANSLATION else ACCEPTS,
        TRIED: REFUSES if care is Care.FULL else ACCEPTS,
    }
    changes = _decisions(facts, decided)
    if care is Care.FORM:
        changes |= {name: REFUSES for name in _FORM if getattr(facts, name) is UNKNOWN}
    changes["media"] = {kind: _settle(medium, decided) for kind, medium in facts.media.items()}
    changes["settings"] = {name: _settle(setting, decided) for name, setting in facts.settings.items()}
    return replace(facts, **changes)


def facts_of_form() -> frozenset[str]:
    """The facts that concern form alone."""
    return frozenset(name for name, meta in declarations().items() if (meta.extra or {}).get("form"))


def _settle(value: Any, decided: Mapping[Stance, Stance]) -> Any:
    changes = _decisions(value, decided)
    return replace(value, **changes) if changes else value


def _decisions(value: Any, decided: Mapping[Stance, Stance]) -> dict[str, Any]:
    stances = ((name, getattr(value, name)) for name in value.__struct_fields__)
    return {name: decided[stance] for name, stance in stances if type(stance) is Stance and stance in decided}


_FORM = facts_of_form()
