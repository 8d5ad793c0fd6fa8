"""Cooldowns: destinations and keys that are left alone for a while, whoever found out."""

from __future__ import annotations

import random
from typing import Protocol


class Cooldowns(Protocol):
    """Pauses by name. A name is a destination's, or that of one of its keys.

    What speaks against a destination is decided by `upstream/cooldowns.py`: the store only passes it on.

    Atomicity: each name is written whole. The pause that ends last wins, until the name is cleared.

    Consistency: when `rest` or `clear` returns, this process sees it. Other workers and replicas see it within two
    seconds, and each ends a pause a little later than told (up to a tenth), so that they do not all return at once.

    Expiry and bounds: a pause lasts an hour at most. At most 4,096 names are kept; those that end first go first.

    What may be lost: everything. A destination that still fails is found out again.

    What a failure means: this process goes by what it found out itself. No request fails.
    """

    def rest(self, name: str, seconds: float) -> None:
        """Leave a name alone for so long. Never waits."""

    def clear(self, name: str) -> None:
        """Leave it alone no longer: it works again. Never waits."""

    def remaining(self, name: str) -> float:
        """For how many seconds a name is still left alone; 0.0 if it is not. Never waits."""

    def resting(self) -> dict[str, float]:
        """All names that are left alone, with their seconds. Never waits."""


MOST_COOLDOWNS = 4096
LONGEST = 3600.0
_JITTER = 0.1


def later(seconds: float) -> float:
    """A pause that another process began, a little longer, so that not all return at once."""
    return seconds * (1.0 + _JITTER * random.random())  # noqa: S311 - no secret
