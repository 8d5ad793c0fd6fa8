"""How much an inquiry may ask: requests, seconds, and how fast."""

from __future__ import annotations

import msgspec


class ProbeBudget(msgspec.Struct, frozen=True):
    """`requests` and `seconds` at most, waits included. `rate`: requests in a second at most.
    `answer_seconds`: how long one answer may take."""

    requests: int = 100
    seconds: float = 120.0
    rate: float = 5.0
    answer_seconds: float = 30.0
