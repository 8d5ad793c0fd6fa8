"""What an exchange asks its driver to do, and how it ends: one small value for each.

A driver answers a step with the method named in its docstring, and gets the next step.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from enum import Enum
from typing import Generic

import msgspec

from dragoman.conversation.failures import Failure
from dragoman.engine.adapted import Adapted
from dragoman.engine.destination import D
from dragoman.engine.history.cuts import Cut
from dragoman.engine.reasoning_restore import Kept
from dragoman.engine.translation import Translation
from dragoman.errors import RequestError


class Choose(msgspec.Struct, Generic[D], frozen=True, gc=False):
    """Say which of these is asked next: the driver knows their health, keys and lessons. → `chosen`."""

    candidates: tuple[D, ...]


class Recall(msgspec.Struct, frozen=True, gc=False):
    """Look up what was kept for this caller under these keys, the latest first. → `recalled`.

    Keys are made as they are read: a driver that keeps nothing does not pay for them.
    """

    provider: str
    scope: str
    keys: Iterable[str]


class RecallCut(msgspec.Struct, frozen=True, gc=False):
    """Look up the cut of this conversation's history that was kept for this caller, under the first of these keys that
    has one; and how the model counts, which is kept for all under `calibration`. → `cut_recalled`."""

    keys: Iterable[str]
    calibration: str


class RecallSummary(msgspec.Struct, frozen=True, gc=False):
    """Look up the summary that was kept for this caller under the first of these keys that has one.
    → `summary_recalled`."""

    keys: Iterable[str]


class FetchMedia(msgspec.Struct, frozen=True, gc=False):
    """Fetch these: the target does not take them by URL. What cannot be had is left out. → `fetched`, or
    `unfetched` if the driver has no room for them."""

    urls: tuple[str, ...]


class Send(msgspec.Struct, Generic[D], frozen=True, gc=False):
    """POST `request.body` to `request.path` of the destination, signed with its n-th key. → `head`, or `broken`;
    `unsent` where the driver does not send it."""

    destination: D
    key: int
    request: Adapted


class AttemptFailed(msgspec.Struct, Generic[D], frozen=True, gc=False):
    """Note what became of this send; nothing has reached the client. → `resume`."""

    destination: D
    key: int
    request: Adapted
    failure: Failure


class Wait(msgspec.Struct, frozen=True, gc=False):
    """Wait so many seconds. → `waited`."""

    seconds: float


class Answered(msgspec.Struct, frozen=True, gc=False):
    """The end: the client's whole answer."""

    body: bytes


class Streaming(msgspec.Struct, frozen=True, gc=False):
    """The client's answer begins with `first`; nothing can be tried again. Feed the rest to `translation` and close it,
    unless the upstream's stream is `over` already; then → `stream_ended`."""

    first: bytes
    translation: Translation
    over: bool


class GaveUp(msgspec.Struct, frozen=True, gc=False):
    """The end: the failure that the client gets. `fault` is set where no target could be asked at all."""

    failure: Failure
    fault: RequestError | None = None


class Reading(Enum):
    """How the body of an answer is read: `WHOLE` or as an `ERROR` (→ `body`), or piece by piece (→ `opening`)."""

    WHOLE = "whole"
    ERROR = "error"
    PIECES = "pieces"


class ToKeep(msgspec.Struct, frozen=True, gc=False):
    """State that must come back on the next turn and that the client cannot carry; found again by a `Recall`."""

    provider: str
    scope: str
    states: Mapping[str, Kept]


class CutToKeep(msgspec.Struct, frozen=True, gc=False):
    """A cut that later turns of the conversation take over; found again by a `RecallCut`."""

    key: str
    cut: Cut


Step = (
    Choose[D]
    | Recall
    | RecallSummary
    | RecallCut
    | FetchMedia
    | Send[D]
    | AttemptFailed[D]
    | Wait
    | Answered
    | Streaming
    | GaveUp
)
End = Answered | Streaming | GaveUp
ENDS = (Answered, Streaming, GaveUp)
