"""The calibrations that this process knows."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable

from dragoman.engine.history.calibration import Calibration
from dragoman.store.clock import Clock

MOST_CALIBRATIONS = 4096
LIFETIME = 30 * 86_400.0


class MemoryCalibrations:
    """`Calibrations` of one process; those that were put first stand first."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._known: OrderedDict[str, tuple[Calibration, float]] = OrderedDict()

    def find(self, key: str) -> Calibration | None:
        found = self._known.get(key)
        return found[0] if found is not None and self._clock() - found[1] <= LIFETIME else None

    def put(self, key: str, calibration: Calibration) -> None:
        self._known[key] = (calibration, self._clock())
        self._known.move_to_end(key)
        if len(self._known) > MOST_CALIBRATIONS:
            self._known.popitem(last=False)

    def all(self) -> list[tuple[str, Calibration, float]]:
        """What is known, with when it was put; the first are those that were put first."""
        return [(key, calibration, put) for key, (calibration, put) in self._known.items()]

    def replace(self, rows: Iterable[tuple[str, Calibration, float]]) -> None:
        """Take these in place of all others; the first are those that were put first."""
        self._known = OrderedDict((key, (calibration, put)) for key, calibration, put in rows)
