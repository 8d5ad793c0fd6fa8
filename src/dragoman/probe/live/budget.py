"""How much an inquiry may ask: requests, seconds, and how fast."""

from __future__ import annotations

import msgspec


class ProbeBudget(msgspec.Struct, frozen=True):
    """What an inquiry may use, waits included."""

    requests: int = 100
    """At most so many."""
    seconds: float = 120.0
    """At most so long."""
    rate: float = 5.0
    """Requests in a second at most."""
    answer_seconds: float = 30.0
    """How long one answer may take."""
