"""What prompt caches saved and lost, summed up: by day, model and session, with the request that broke one."""

from __future__ import annotations

import asyncio

import pytest
from msgspec.structs import replace

from dragoman.config.schema.store import StoreConfig
from dragoman.store.cache_report import cache_report, report_of
from dragoman.store.journals.redaction import Redactor
from dragoman.store.ledger_entry import Entry, Viewer
from dragoman.store.memory.ledger import MemoryLedger
from dragoman.store.settings import StoreSettings

DAY = 86_400.0
GOOD = Entry(
    id="a", time=10 * DAY, asked="claude", session="s1", input_tokens=1_000, cached_tokens=900, cache_saved=0.2
)
BROKEN = replace(
    GOOD, id="b", time=11 * DAY, cached_tokens=0, cache_saved=0.0, resent_tokens=900, cache_lost=0.3, cache_break="why"
)
OTHER = replace(BROKEN, id="c", asked="gpt", session="s2", resent_tokens=50, cache_lost=0.1, written_tokens=7)
FAILED = Entry(id="d", time=10 * DAY, asked="gpt", status=500)


def test_groups_and_the_request_that_broke_one() -> None:
    report = report_of([OTHER, BROKEN, GOOD, FAILED])
    total = report.total
    assert (total.requests, total.breaks, total.resent_tokens, total.written_tokens) == (3, 2, 950, 7)
    assert (total.read, total.saved, total.lost) == (pytest.approx(0.3), pytest.approx(0.2), pytest.approx(0.4))
    assert [one.name for one in report.days] == ["1970-01-12", "1970-01-11"]
    assert [(one.name, one.read) for one in report.models] == [("claude", 0.45), ("gpt", 0.0)]
    worst = report.sessions[0].worst
    assert worst is not None
    assert (worst.id, worst.resent_tokens, worst.lost, worst.why) == ("b", 900, 0.3, "why")
    assert report.days[1].worst is None


def test_a_ledger_is_read_page_by_page() -> None:
    ledger = MemoryLedger(StoreSettings(StoreConfig()), lambda: 12 * DAY, Redactor(()))
    for number in range(2_500):
        ledger.record(replace(GOOD, id=f"r{number}", time=11 * DAY + number))
    everything = asyncio.run(cache_report(ledger, Viewer("", True), None))
    assert (everything.total.requests, everything.is_cut) == (2_500, False)
    late = asyncio.run(cache_report(ledger, Viewer("", True), 11 * DAY + 2_000))
    assert late.total.requests == 500
    assert asyncio.run(cache_report(ledger, Viewer("bob"), None)).total.requests == 0


def test_a_long_ledger_is_cut(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dragoman.store.cache_report.MOST_LOOKED_AT", 1_000)
    ledger = MemoryLedger(StoreSettings(StoreConfig()), lambda: 12 * DAY, Redactor(()))
    for number in range(1_500):
        ledger.record(replace(GOOD, id=f"r{number}", time=11 * DAY + number))
    report = asyncio.run(cache_report(ledger, Viewer("", True), None))
    assert (report.total.requests, report.is_cut) == (1_000, True)
