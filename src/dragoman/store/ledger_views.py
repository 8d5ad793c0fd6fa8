"""The ledger as people ask for it: totals by group, and pages of requests. The gateway and the commands share these."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime

import msgspec
from msgspec import Struct

from dragoman.engine.library.report_summary import weight
from dragoman.store.ledger_entry import By, Entry, RecordedChange, Totals

GROUPS: Mapping[str, By] = {"key": By.CALLER, "model": By.ASKED, "day": By.DAY, "target": By.TARGET}
"""What usage can be grouped by."""
STATES: Mapping[str, bool] = {"ok": False, "failed": True}
"""What became of a request, and whether that is a failure."""
_SECONDS = {"m": 60, "h": 3600, "d": 86_400, "w": 604_800}
_SPAN = re.compile(r"([0-9]{1,6})([mhdw])")


class UsageReport(Struct, frozen=True, kw_only=True):
    """Sums by group, the largest first, and over all of them."""

    by: str
    since: float | None
    """In seconds since 1970."""
    groups: tuple[Totals, ...]
    total: Totals
    is_cut: bool = False
    """Whether these are as many requests as the ledger keeps. What it kept no longer is not in the sums."""


class RequestRow(Struct, frozen=True, kw_only=True):
    """A request in a list. Its report tells more."""

    id: str
    time: float
    key: str
    model: str
    target: str
    status: int
    error_kind: str | None
    stream: bool
    attempts: int
    input_tokens: int
    output_tokens: int
    cached_tokens: int
    reasoning_tokens: int
    estimated: bool
    cost: float | None
    reported_cost: bool
    duration: float
    ttfb: float | None = None
    client_dialect: str = ""
    upstream_dialect: str = ""
    rules: dict[str, int] = {}
    """Those that changed something, the heaviest first, with the number of their changes."""
    loses: str = ""
    """The heaviest loss, empty if nothing was changed."""


class RequestPage(Struct, frozen=True):
    """Some requests, newest first."""

    requests: tuple[RequestRow, ...]
    next: str | None = None
    """Asks for those that follow; None at the end."""


def usage_report(by: str, since: float | None, groups: Sequence[Totals], keep_requests: int) -> UsageReport:
    total = _total(groups)
    return UsageReport(by=by, since=since, groups=tuple(groups), total=total, is_cut=total.requests >= keep_requests)


def _total(groups: Sequence[Totals]) -> Totals:
    columns = zip(*(msgspec.structs.astuple(one)[1:] for one in groups), strict=True)
    return Totals("total", *(sum(column) for column in columns))


_NO_CHANGES = b"[]"


def _changes(entry: Entry) -> list[RecordedChange]:
    """What was changed, the heaviest losses first."""
    if entry.changes == _NO_CHANGES:
        return []
    return sorted(entry.read_changes(), key=lambda one: -weight(one.loses))


def has_rule(entry: Entry, rule: str) -> bool:
    """Whether a rule changed something in the request."""
    return rule.encode() in entry.changes and any(one.rule == rule for one in _changes(entry))


_OF_ENTRY = [name for name in RequestRow.__struct_fields__ if name in Entry.__struct_fields__]


def request_row(entry: Entry) -> RequestRow:
    changes = _changes(entry)
    return RequestRow(
        **{name: getattr(entry, name) for name in _OF_ENTRY},
        key=entry.caller,
        model=entry.asked,
        rules=dict(Counter(one.rule for one in changes)),
        loses=changes[0].loses if changes else "",
    )


def parse_since(text: str, now: float) -> float:
    """The moment that a span before now (`7d`) or a date in UTC means. Raises ValueError."""
    span = _SPAN.fullmatch(text)
    if span is not None:
        return max(now - int(span[1]) * _SECONDS[span[2]], 0.0)
    try:
        found = datetime.fromisoformat(text[:40])
    except ValueError:
        what = f'"{text[:40]}" is neither a span (30m, 24h, 7d, 2w) nor a date (2026-11-01)'
        raise ValueError(what) from None
    return (found if found.tzinfo is not None else found.replace(tzinfo=UTC)).timestamp()
