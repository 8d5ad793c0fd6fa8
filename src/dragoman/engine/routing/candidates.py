"""The models that a route chooses from, and what is known about them at this moment."""

from __future__ import annotations

import msgspec


class Candidate(msgspec.Struct, frozen=True, kw_only=True):
    """One model. `scores` are its ratings by discipline. `price` is what a million tokens cost, in and out together,
    `input_price` the part of it for input, `cached_price` and `written_price` for input that is read from the
    provider's cache and written to it.

    What changes all the time: `healthy`, `full` (no room in its limits), `latency` (seconds to the first byte,
    measured; None: not known), and `busy` (requests under way). `inputs` are the kinds of media that it reads.
    `cache_minutes`: how long its provider keeps a prefix.
    """

    name: str
    target: str = ""
    description: str = ""
    weight: float = 1.0
    scores: dict[str, float] = {}
    price: float | None = None
    input_price: float | None = None
    cached_price: float | None = None
    written_price: float | None = None
    context_window: int = 0
    inputs: frozenset[str] = frozenset()
    tools: bool = True
    cache_minutes: float = 0.0
    healthy: bool = True
    latency: float | None = None
    busy: int = 0
    full: bool = False

    @property
    def score(self) -> float | None:
        """Its mean rating."""
        return sum(self.scores.values()) / len(self.scores) if self.scores else None


class LeftOut(msgspec.Struct, frozen=True):
    """A model that was not considered, and why."""

    name: str
    why: str


class Decision(msgspec.Struct, frozen=True):
    """Who is asked, in this order, and why. `skipped` says why no router model was asked."""

    models: tuple[str, ...]
    reason: str
    left_out: tuple[LeftOut, ...] = ()
    skipped: str = ""

    @property
    def chosen(self) -> str:
        return self.models[0]
