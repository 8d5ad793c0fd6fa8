"""What a run knows so far, as a file, so that it can go on later."""

from __future__ import annotations

import msgspec

from dragoman.errors import ProbeError
from dragoman.probe.check import ComparedFact
from dragoman.probe.findings import ProbeFinding
from dragoman.verification.sending import SentRequest


class TrialRun(msgspec.Struct, frozen=True):
    """One conversation on one target."""

    trial: str
    sent: tuple[SentRequest, ...]


class FactCheck(msgspec.Struct, frozen=True):
    """What the provider itself said to the questions of the probe."""

    findings: tuple[ProbeFinding, ...] = ()
    held: int = 0
    """Facts that are as the profile says, or that it does not know."""
    wrong: tuple[ComparedFact, ...] = ()
    """What the profile says is accepted, and the provider refuses in words."""
    careful: tuple[ComparedFact, ...] = ()
    """What the profile says is refused, and the provider took when it was asked. It may have ignored it."""
    requests: int = 0
    cost: float = 0.0
    """In dollars, at most: by the size of the requests."""
    ended: str = ""
    """Why it ended early; empty if it is complete."""


class TargetRun(msgspec.Struct, frozen=True):
    """All that is known of one target."""

    target: str
    runs: tuple[TrialRun, ...] = ()
    facts: FactCheck = FactCheck()
    unfinished: float = 0.0
    """Dollars for conversations that were begun, and are begun anew when the run goes on."""
    ended: str = ""
    """Why it ended early; empty if it is complete."""
    priced: bool = True
    """Whether the price of the model is known; else a high one is assumed."""

    @property
    def cost(self) -> float:
        return sum(sent.cost for run in self.runs for sent in run.sent) + self.facts.cost + self.unfinished

    @property
    def is_complete(self) -> bool:
        return not self.ended and not self.facts.ended


class RunState(msgspec.Struct, frozen=True):
    """All targets of a run."""

    targets: tuple[TargetRun, ...] = ()

    def of(self, target: str) -> TargetRun:
        return next((one for one in self.targets if one.target == target), TargetRun(target))

    def put(self, run: TargetRun) -> RunState:
        """The state with this run in its place."""
        kept = {one.target: one for one in self.targets}
        return RunState(tuple((kept | {run.target: run}).values()))


def render_state(state: RunState) -> bytes:
    return msgspec.json.format(msgspec.json.encode(state), indent=1)


def parse_state(content: bytes, file: str) -> RunState:
    """The state in a file. Raises ProbeError."""
    try:
        return msgspec.json.decode(content, type=RunState)
    except msgspec.DecodeError as fault:
        raise ProbeError(f"this is no state of a run: {fault}", at=file, hint="remove it") from None
