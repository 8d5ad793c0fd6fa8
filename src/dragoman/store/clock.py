"""The two clocks of the store."""

from __future__ import annotations

import time
from collections.abc import Callable

from msgspec import Struct

Clock = Callable[[], float]


class Clocks(Struct, frozen=True):
    """`wall` dates what is kept, so that a restart knows how old it is. `steady` measures the windows of limits.

    `steady` never goes back and is the same for all processes of a machine, so a wall clock that is set back locks
    nobody out.
    """

    wall: Clock = time.time
    steady: Clock = time.monotonic


REAL_CLOCKS = Clocks()
