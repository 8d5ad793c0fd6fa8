"""Every error that Dragoman raises.

    DragomanError
    ├── RequestError            the request cannot be used as it is
    │   ├── MalformedRequest    not JSON, or a value of the wrong type
    │   ├── DuplicateKey        a top-level key is there twice, and two parsers could disagree about it
    │   ├── LimitExceeded       it holds more than the limits allow
    │   ├── Unrepresentable     the target's dialect cannot express it
    │   └── RepairRefused       it needs a repair that the caller does not allow
    ├── TargetError             unknown profile, dialect or target
    ├── OptionError             unknown option or value (rules, facts, arguments)
    ├── ProfileError            a profile file is invalid
    ├── TemplateError           a chat template cannot be read or run
    ├── ConfigError             a configuration file is invalid
    ├── ProbeError              a server cannot be asked what it accepts
    ├── StoreError              the file of the store cannot be used (`dragoman.store`)
    │   └── StoreUnavailable    the store cannot be read right now
    └── UpstreamError           the provider refused, failed or could not be reached
        ├── NoHealthyModel      every model of a route is left alone after failures
        └── TransportFailure    no answer, or an incomplete one (`dragoman.upstream.transport`)

Each says what is wrong, where (`at`: a JSON pointer, or file and key) and what to do (`hint`). `status` is the HTTP
status for a client.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from typing import ClassVar

__all__ = [
    "ConfigError",
    "DragomanError",
    "DuplicateKey",
    "LimitExceeded",
    "MalformedRequest",
    "NoHealthyModel",
    "OptionError",
    "ProbeError",
    "ProfileError",
    "RepairRefused",
    "RequestError",
    "TargetError",
    "TemplateError",
    "Unrepresentable",
    "UpstreamError",
    "near_match",
]


class DragomanError(Exception):
    """The base of all errors."""

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
    """The request cannot be used as it is."""

    status = 400


class MalformedRequest(RequestError):
    """Not JSON, or a value of the wrong type."""


class DuplicateKey(RequestError):
    """A top-level key is there twice. A policy might use the first and the provider the last."""


class LimitExceeded(RequestError):
    """The request holds more messages, parts, tools or values than the limits allow."""

    status = 413


class Unrepresentable(RequestError):
    """The target's dialect cannot express a value.

    A codec knows no pointers into the client's body. It says what it means by `key`, the name that rules have for a
    setting, or by `item`, the number of a message. The engine makes `at` of them.
    """

    status = 422

    def __init__(self, message: str, *, at: str = "", hint: str = "", key: str = "", item: int | None = None) -> None:
        super().__init__(message, at=at, hint=hint)
        self.key = key
        self.item = item


class RepairRefused(RequestError):
    """The conversation needs a repair that the caller does not allow."""

    status = 422

    def __init__(self, message: str, *, rule: str, at: str = "", hint: str = "") -> None:
        super().__init__(message, at=at, hint=hint)
        self.rule = rule


class TargetError(DragomanError):
    """The profile, dialect or target is unknown."""

    status = 400


class OptionError(DragomanError):
    """An option or its value is unknown."""

    status = 400


class ProfileError(DragomanError):
    """A profile file is invalid. `problems`: all its mistakes, each with its line, if they are known."""

    def __init__(self, message: str, *, at: str = "", hint: str = "", problems: tuple[str, ...] = ()) -> None:
        super().__init__(message, at=at, hint=hint)
        self.problems = problems


class TemplateError(DragomanError):
    """A chat template cannot be read or run."""

    status = 400


class ConfigError(DragomanError):
    """A configuration file is invalid."""


class ProbeError(DragomanError):
    """A server cannot be asked what it accepts."""


class UpstreamError(DragomanError):
    """The provider refused, failed or could not be reached."""


class NoHealthyModel(UpstreamError):
    """Every model of a route is left alone after failures."""

    status = 503


def near_match(word: str, known: Iterable[str]) -> str:
    """`Did you mean "a"? Known: a, b.`, for messages about an unknown word. The list may be long, and stands last."""
    names = sorted(known)
    close = difflib.get_close_matches(word, names, n=1)
    listed = ", ".join(names) if names else "none"
    return f'Did you mean "{close[0]}"? Known: {listed}.' if close else f"Known: {listed}."
