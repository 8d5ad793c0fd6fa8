"""The models that a route chooses from, and what is known about them at this moment."""

from __future__ import annotations

import msgspec


class Candidate(msgspec.Struct, frozen=True, kw_only=True):
    """One model."""

    name: str
    target: str = ""
    description: str = ""
    weight: float = 1.0
    scores: dict[str, float] = {}
    """Its ratings by discipline."""
    price: float | None = None
    """What a million tokens cost, in and out together."""
    input_price: float | None = None
    """The part of the price for input."""
    cached_price: float | None = None
    """The same for input that is read from the provider's cache."""
    written_price: float | None = None
    """The same for input that is written to it."""
    context_window: int = 0
    inputs: frozenset[str] = frozenset()
    """The kinds of media that it reads."""
    tools: bool = True
    cache_minutes: float = 0.0
    """How long its provider keeps a prefix."""
    healthy: bool = True
    """This and what follows changes all the time."""
    latency: float | None = None
    """Seconds to the first byte, measured. None: not known."""
    busy: int = 0
    """Requests under way."""
    full: bool = False
    """There is no room in its limits."""

    @property
    def score(self) -> float | None:
        """Its mean rating."""
        return sum(self.scores.values()) / len(self.scores) if self.scores else None


class LeftOut(msgspec.Struct, frozen=True):
    """A model that was not considered, and why."""

    name: str
    why: str


class Decision(msgspec.Struct, frozen=True):
    """Who is asked, and why."""

    models: tuple[str, ...]
    """In this order."""
    reason: str
    left_out: tuple[LeftOut, ...] = ()
    skipped: str = ""
    """Why no router model was asked."""

    @property
    def chosen(self) -> str:
        return self.models[0]
