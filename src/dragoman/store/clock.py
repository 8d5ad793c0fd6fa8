"""The two clocks of the store."""

from __future__ import annotations

import time
from collections.abc import Callable

from msgspec import Struct

Clock = Callable[[], float]


class Clocks(Struct, frozen=True):
    """The two clocks of the stores."""

    wall: Clock = time.time
    """Dates what is kept, so that a restart knows how old it is."""
    steady: Clock = time.monotonic
    """Measures the windows of limits. It never goes back and is the same for all processes of a machine, so a wall
    clock that is set back locks nobody out."""


REAL_CLOCKS = Clocks()
