"""One thing that was looked at, and how it is."""

from __future__ import annotations

from enum import StrEnum

import msgspec


class Mark(StrEnum):
    OK = "ok"
    WARN = "warn"
    FAIL = "fail"
    SKIP = "skip"


class Check(msgspec.Struct, frozen=True):
    """One thing that was looked at."""

    section: str
    name: str
    mark: Mark
    text: str
    """What was found."""
    hint: str = ""
    """What to do about it."""
