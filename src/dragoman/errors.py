"""Every error that Dragoman raises.

    DragomanError
    ├── RequestError            what the client sent cannot be used as it is
    │   ├── MalformedRequest    not JSON, or a value of the wrong type
    │   ├── DuplicateKey        one top-level key twice: two readers could disagree about it
    │   ├── Unrepresentable     the target's dialect has no words for it
    │   └── RepairRefused       a repair was needed that the caller does not allow
    ├── TargetError             no such profile, dialect or target
    ├── OptionError             an option or its value is not known (rules, facts, arguments)
    ├── ProfileError            a profile file is wrong
    ├── ConfigError             a configuration file is wrong
    ├── StoreError              the file of the store cannot be used (`dragoman.store`)
    │   └── StoreUnavailable    the store cannot be read right now
    └── UpstreamError           the provider refused, failed or could not be reached
        └── TransportFailure    no answer, or half of one (`dragoman.upstream.transport`)

Each says what is wrong, where (`at`: a JSON pointer, or file and key) and what to do (`hint`). `status` is the HTTP
status that tells a client of it.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from typing import ClassVar

__all__ = [
    "ConfigError",
    "DragomanError",
    "DuplicateKey",
    "MalformedRequest",
    "OptionError",
    "ProfileError",
    "RepairRefused",
    "RequestError",
    "TargetError",
    "Unrepresentable",
    "UpstreamError",
    "near_match",
]


class DragomanError(Exception):
    """The root of the tree."""

    status: ClassVar[int] = 500

    def __init__(self, message: str, *, at: str = "", hint: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.at = at
        self.hint = hint

    def __str__(self) -> str:
        where = f"{self.at}: " if self.at else ""
        advice = f" ({self.hint})" if self.hint else ""
        return f"{where}{self.message}{advice}"


class RequestError(DragomanError):
    """What the client sent cannot be used as it is."""

    status = 400


class MalformedRequest(RequestError):
    """Not JSON, or a value of the wrong type."""


class DuplicateKey(RequestError):
    """One top-level key twice: a policy might read the first and the provider the last."""


class Unrepresentable(RequestError):
    """The target's dialect has no words for this."""

    status = 422


class RepairRefused(RequestError):
    """The conversation needs a repair that the caller does not allow."""

    status = 422

    def __init__(self, message: str, *, rule: str, at: str = "", hint: str = "") -> None:
        super().__init__(message, at=at, hint=hint)
        self.rule = rule


class TargetError(DragomanError):
    """No such profile, dialect or target."""

    status = 400


class OptionError(DragomanError):
    """An option, or the value given for it, is not known."""

    status = 400


class ProfileError(DragomanError):
    """A profile file is wrong."""


class ConfigError(DragomanError):
    """A configuration file is wrong."""


class UpstreamError(DragomanError):
    """The provider refused, failed or could not be reached."""


def near_match(word: str, known: Iterable[str]) -> str:
    """`known: a, b. Did you mean "a"?`, for messages about a word that is not known."""
    names = sorted(known)
    listed = ", ".join(names) if names else "none"
    close = difflib.get_close_matches(word, names, n=1)
    return f"known: {listed}." + (f' Did you mean "{close[0]}"?' if close else "")
