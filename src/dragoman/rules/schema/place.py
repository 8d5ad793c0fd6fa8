"""Where the compiler stands, and what it has seen and spent on the way."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from .compiled import WEIGHT, Loses, SchemaNote
from .form import SchemaForm
from .references import References
from .vocabulary import Schema

MAX_NOTES = 200
MAX_GROWTH = 128 * 1024
"""Bytes that the copies of definitions may add to a schema: they are made on the event loop, where this takes 50 ms.
Recorded tools grow by less than 1 kB."""
_BASE_GROWTH, _GROWTH = 4096, 16
"""A short schema may grow by less: so many bytes, and so many times its own."""


def growth_of(size: int) -> int:
    """Bytes that copies may add to a schema of this size."""
    return min(MAX_GROWTH, _BASE_GROWTH + _GROWTH * size)


@dataclass(slots=True)
class Walk:
    """One pass over one schema."""

    form: SchemaForm
    """The form to reach."""
    root: Any
    references: References
    inline: bool = False
    """References are replaced by what they lead to."""
    proto: bool = False
    """The schema is written in the form of protocol buffers."""
    notes: list[SchemaNote] = field(default_factory=list)
    """What was changed so far."""
    unlisted: list[Loses] = field(default_factory=list)
    """The losses of changes that are too many to be listed."""
    growth: int = MAX_GROWTH
    """What copying may still cost, in bytes."""
    names: dict[str, str] = field(default_factory=dict)
    """New names of properties."""
    taken: set[str] | None = None
    """Names that no property may get."""

    def note(self, at: str, did: str, loses: Loses) -> None:
        """Remember a change; past the limit only that it happened, so that a bomb cannot fill the report."""
        if len(self.notes) < MAX_NOTES:
            self.notes.append(SchemaNote(at, did, loses))
        else:
            self.unlisted.append(loses)

    def report(self) -> tuple[SchemaNote, ...]:
        """All notes, the unlisted ones as one."""
        if not self.unlisted:
            return tuple(self.notes)
        heaviest = max(self.unlisted, key=WEIGHT.__getitem__)
        return (*self.notes, SchemaNote("", f"and {len(self.unlisted)} changes more", heaviest))

    def pay(self, size: int) -> bool:
        """Whether so many more bytes may be copied."""
        if size > self.growth:
            return False
        self.growth -= size
        return True


@dataclass(slots=True)
class Place:
    """One node: its pointer, its depth, and the references opened on the way to it."""

    walk: Walk
    at: str = ""
    level: int = 0
    trail: frozenset[str] = frozenset()
    guest: bool = False  # stands where a boolean is as good as a schema

    @property
    def form(self) -> SchemaForm:
        return self.walk.form

    @property
    def is_root(self) -> bool:
        return self.level == 0

    def note(self, did: str, loses: Loses = "nothing") -> None:
        """Remember a change made here."""
        self.walk.note(self.at, did, loses)

    def changed(self, node: Schema, did: str, loses: Loses = "nothing") -> Schema:
        """Remember a change and hand on its outcome."""
        self.note(did, loses)
        return node
