"""What the compiler returns: the schema, and one note for each change."""

from __future__ import annotations

from typing import Literal

import msgspec

Loses = Literal["nothing", "order", "metadata", "content"]
"""What a change costs. `nothing`: it means the same, spelled otherwise. `order`: the order of things. `metadata`: a
constraint became words in the description, or a remark was left out. `content`: the schema now allows or forbids other
values."""
WEIGHT: dict[Loses, int] = {"nothing": 0, "order": 1, "metadata": 2, "content": 3}


class SchemaNote(msgspec.Struct, frozen=True):
    """One change to a schema."""

    at: str
    """A JSON pointer inside the schema."""
    did: str
    """What was done."""
    loses: Loses = "nothing"


class Compiled(msgspec.Struct, frozen=True):
    """A schema in its target's form. Nothing to change means the caller's own bytes and no notes."""

    json: bytes
    notes: tuple[SchemaNote, ...] = ()
    names: tuple[tuple[str, str], ...] = ()
    """Renamed properties, as pairs (new, own): arguments that come back use the new name."""

    @property
    def loses(self) -> Loses:
        """The heaviest loss among the notes."""
        return max((note.loses for note in self.notes), key=WEIGHT.__getitem__, default="nothing")
