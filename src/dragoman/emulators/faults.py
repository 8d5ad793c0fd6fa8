"""Faults on demand: what a network and a tired provider can do to a client.

A fault is written as a name and settings: `429;retry-after=2`, `cut;after=3`, `500;times=2`. It comes by the request
header `x-emulate-fault`, by a step of the script, or as a standing order from the command line.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from difflib import get_close_matches

from dragoman.emulators.provider import FaultKind

HEADER = "x-emulate-fault"


class BadFaultError(ValueError):
    """The words of a fault cannot be read."""


@dataclass(frozen=True, slots=True)
class Fault:
    """One thing that goes wrong."""

    name: str
    kind: FaultKind | None = None  # worded by the provider; None: made of bytes and silence
    status: int | None = None  # overrides the provider's own
    retry_after: float | None = None
    times: int | None = None  # fail so often, then succeed; None: always
    after: int = 2  # frames that still arrive
    bytes: int = 1  # of a slow write
    every: float = 0.01  # seconds between slow writes
    seconds: float = 30.0  # of a stall

    @property
    def is_early(self) -> bool:
        """Whether it strikes before anything is answered."""
        return self.kind is not None and self.name != "stream-error"


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
        Fault("502"),  # an HTML page from something in between
        Fault("stream-error", FaultKind.OVERLOADED),  # an error inside a stream that began with 200
        Fault("cut"),  # the connection closes before the end
        Fault("stall"),  # nothing more arrives
        Fault("slow"),  # a few bytes at a time
        Fault("bad-json"),  # a body or frame that is no JSON
        Fault("wrong-type"),  # the right body under the wrong content type
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
_WHOLE = ("times", "after", "bytes", "status")

BAD_GATEWAY = (
    "<html>\r\n<head><title>502 Bad Gateway</title></head>\r\n<body>\r\n<center><h1>502 Bad Gateway</h1></center>\r\n"
    "<hr><center>nginx</center>\r\n</body>\r\n</html>\r\n"
)


def fault(text: str) -> Fault:
    """A fault from its words. Raises `BadFaultError` that names what is wrong and what is known."""
    name, *settings = [piece.strip() for piece in text.split(";")]
    found = FAULTS.get(name)
    if found is None:
        raise BadFaultError(f'no fault is named "{name}"; {_hint(name, FAULTS)}')
    for setting in filter(None, settings):
        found = _set(found, setting)
    return found


def _set(found: Fault, setting: str) -> Fault:
    key, _, value = setting.partition("=")
    member = _SETTINGS.get(key.strip())
    if member is None:
        raise BadFaultError(f'fault "{found.name}" has no setting "{key}"; {_hint(key, _SETTINGS)}')
    try:
        number = int(value) if member in _WHOLE else float(value)
    except ValueError:
        raise BadFaultError(f'fault "{found.name}": {key} must be a number, not "{value}"') from None
    if number < 0:
        raise BadFaultError(f'fault "{found.name}": {key} must not be below 0')
    changed: Fault = replace(found, **{member: number})  # type: ignore[arg-type]
    return changed


def _hint(word: str, known: Mapping[str, object]) -> str:
    near = get_close_matches(word, list(known), n=1)
    return f"known: {', '.join(known)}." + (f' Did you mean "{near[0]}"?' if near else "")
