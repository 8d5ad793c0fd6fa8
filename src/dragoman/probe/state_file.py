"""What an inquiry knows so far, as a file, so that it can go on later."""

from __future__ import annotations

import msgspec

from dragoman.errors import ProbeError
from dragoman.probe.findings import ProbeFinding


class ProbeState(msgspec.Struct, frozen=True):
    """The findings about one model of one server."""

    url: str
    model: str
    findings: tuple[ProbeFinding, ...]


def render_state(state: ProbeState) -> bytes:
    return msgspec.json.format(msgspec.json.encode(state), indent=1)


def parse_state(content: bytes, file: str, url: str, model: str) -> ProbeState:
    """The state in a file. Raises ProbeError if it is about another server."""
    try:
        state = msgspec.json.decode(content, type=ProbeState)
    except msgspec.DecodeError as fault:
        raise ProbeError(
            f"this is no state of a probe: {fault}", at=file, hint="remove it, or leave out --resume"
        ) from None
    if (state.url, state.model) != (url, model):
        raise ProbeError(f"it is about {state.model} at {state.url}", at=file, hint="remove it, or leave out --resume")
    return state
