"""Tools of a provider that the gateway runs in its place: what the model is shown, and what each round adds."""

from __future__ import annotations

import msgspec


class RunLimits(msgspec.Struct, frozen=True, gc=False):
    """What the tools that the gateway runs for one answer may take."""

    rounds: int = 10
    """How often the model may be asked again with results."""
    calls: int = 32
    """All runs of an answer."""
    seconds: float = 60.0
    """All runs of an answer together, by the clock."""
    bytes: int = 64 * 1024
    """What the model reads of one run."""
    total_bytes: int = 512 * 1024
    """What the model reads of all runs."""
    cost: float = 0.0
    """The dollars of all runs; 0: not limited."""
