"""A report that can be sent in: what was found, without keys, without contents, and without the host unless wanted."""

from __future__ import annotations

import datetime
from typing import Any

import msgspec

from dragoman.probe.check import ComparedFact
from dragoman.probe.findings import ProbeFinding


class ProbeReport(msgspec.Struct, frozen=True, kw_only=True):
    """What a probe found, to be sent to us."""

    dragoman: str
    seen: datetime.date
    model: str
    dialect: str
    requests: int
    seconds: float
    ended: str
    facts: dict[str, Any]
    findings: tuple[ProbeFinding, ...]
    profile: str = ""
    """The profile that was checked, if any."""
    host: str = ""
    """Only if the user wants it in."""
    compared: tuple[ComparedFact, ...] = ()


def render_report(report: ProbeReport) -> bytes:
    return msgspec.json.format(msgspec.json.encode(report), indent=2) + b"\n"
