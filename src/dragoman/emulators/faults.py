"""Faults on demand: what a bad network or a failing provider does to a client.

A fault is written as a name and settings: `429;retry-after=2`, `cut;after=3`, `500;times=2`. The request header
`x-emulate-fault` causes it for one request, a step of the script for the next one, `--fault` for all.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from difflib import get_close_matches

from dragoman.emulators.provider import FaultKind

HEADER = "x-emulate-fault"


class BadFaultError(ValueError):
    """The text of a fault cannot be parsed."""


@dataclass(frozen=True, slots=True)
class Fault:
    """One failure to cause."""

    name: str
    kind: FaultKind | None = None  # set if the provider reports it in its own words
    status: int | None = None  # replaces the provider's own
    retry_after: float | None = None
    times: int | None = None  # fail this many times, then succeed; None: always
    after: int = 2  # frames that still arrive
    bytes: int = 1  # per slow write
    every: float = 0.01  # seconds between slow writes
    seconds: float = 30.0  # of a stall

    @property
    def replaces_answer(self) -> bool:
        """Whether the client gets an error instead of an answer. Other faults damage the answer while it is sent."""
        return self.name == "502" or (self.kind is not None and self.name != "stream-error")


FAULTS: Mapping[str, Fault] = {
    fault.name: fault
    for fault in (
        Fault("401", FaultKind.AUTH),
        Fault("404", FaultKind.MODEL),
        Fault("413", FaultKind.TOO_LARGE),
        Fault("429", FaultKind.RATE, 429, retry_after=1),
        Fault("500", FaultKind.SERVER, 500),
        Fault("503", FaultKind.OVERLOADED, 503),
        Fault("529", FaultKind.OVERLOADED, 529),
        Fault("context", FaultKind.CONTEXT),
        Fault("502"),  # an HTML page of a proxy
        Fault("stream-error", FaultKind.OVERLOADED),  # an error inside a stream that began with 200
        Fault("cut"),  # the connection closes before the end
        Fault("stall"),  # nothing more arrives
        Fault("slow"),  # a few bytes at a time
        Fault("bad-json"),  # a body or frame that is no JSON
        Fault("wrong-type"),  # the right body with the wrong content type
        Fault("reset"),  # the connection is reset before the headers
        Fault("reset-after-headers"),
    )
}
_SETTINGS = {
    "retry-after": "retry_after",
    "times": "times",
    "after": "after",
    "bytes": "bytes",
    "every": "every",
    "seconds": "seconds",
    "status": "status",
}
_INTEGERS = ("times", "after", "bytes", "status")

BAD_GATEWAY = (
    "<html>\r\n<head><title>502 Bad Gateway</title></head>\r\n<body>\r\n<center><h1>502 Bad Gateway</h1></center>\r\n"
    "<hr><center>nginx</center>\r\n</body>\r\n</html>\r\n"
)


def parse_fault(text: str) -> Fault:
    """A fault from its text. Raises `BadFaultError`, which names the mistake and what is known."""
    name, *settings = [piece.strip() for piece in text.split(";")]
    fault = FAULTS.get(name)
    if fault is None:
        raise BadFaultError(f'no fault is named "{name}". {known_names(name, FAULTS)}')
    for setting in filter(None, settings):
        fault = _with_setting(fault, setting)
    return fault


def _with_setting(fault: Fault, setting: str) -> Fault:
    key, _, value = setting.partition("=")
    member = _SETTINGS.get(key.strip())
    if member is None:
        raise BadFaultError(f'fault "{fault.name}" has no setting "{key}". {known_names(key, _SETTINGS)}')
    try:
        number = int(value) if member in _INTEGERS else float(value)
    except ValueError:
        raise BadFaultError(f'fault "{fault.name}": {key} must be a number, not "{value}"') from None
    if number < 0:
        raise BadFaultError(f'fault "{fault.name}": {key} must be 0 or more')
    changed: Fault = replace(fault, **{member: number})  # type: ignore[arg-type]
    return changed


def known_names(name: str, known: Iterable[str]) -> str:
    """`Did you mean "a"? Known: a, b.`, for messages about an unknown name."""
    names = list(known)
    near = get_close_matches(name, names, n=1)
    return (f'Did you mean "{near[0]}"? ' if near else "") + f"Known: {', '.join(names)}."
