"""How models count tokens, by what their providers have reported."""

from __future__ import annotations

from typing import Protocol

from dragoman.engine.history.calibration import Calibration


class Calibrations(Protocol):
    """Calibrations by model, for all callers together.

    What a calibration says and how a count changes it is decided by `engine/history/calibration.py`: the store only
    keeps it. It holds no text, only sums of counts.

    Isolation: none. A model counts in the same way for everybody. What one caller can do to others is bounded by what a
    calibration may say at most.

    Atomicity: a calibration is written whole or not at all; the last writer of a key wins. If two workers add a
    count at the same time, one of the two counts may be lost.

    Consistency: when `put` returns, this process finds it. Other workers and replicas find it within a minute. Cuts
    that were made already do not depend on it: they are kept themselves (`summaries.py`).

    Expiry and bounds: a calibration is forgotten 30 days after it was last put. At most 4,096 are kept; those that were
    put first go first.

    What may be lost: everything. It is learnt again from the next answers. A restart keeps calibrations if the
    backend has a file or a server.

    What a failure means: the copy of this process goes on being used, and the failure is counted. No request fails.
    """

    def find(self, key: str) -> Calibration | None:
        """What is known of a model. Never waits."""

    def put(self, key: str, calibration: Calibration) -> None:
        """Keep this in place of what was known. Never waits."""
