"""What was found out about a server that keeps shared state."""

from __future__ import annotations

from enum import StrEnum

from msgspec import Struct


class Gravity(StrEnum):
    """How bad a finding is. A `risk` works today and loses something on a bad day; a `fault` does not work."""

    GOOD = "good"
    RISK = "risk"
    FAULT = "fault"
    UNKNOWN = "unknown"


class ServerFinding(Struct, frozen=True):
    """One thing about a server, without any password."""

    name: str
    gravity: Gravity
    text: str
    """How it is."""
    cure: str = ""
    """What to do about it."""
