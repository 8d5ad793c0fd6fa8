"""A request in the ledger and in the log: both are written value by value, in the order of their fields."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import msgspec

from dragoman.conversation.failures import Failure, FailureKind
from dragoman.conversation.replies import Usage
from dragoman.engine.exchange.target_attempt import TriedTarget
from dragoman.engine.history.session_turns import CacheOutcome
from dragoman.engine.history.trimming import TrimStatistics
from dragoman.engine.library.report_summary import ReportHeaders, WrittenReport
from dragoman.engine.routing.candidates import Decision
from dragoman.engine.tokens.answer_tally import Cost, Spent
from dragoman.gateway.records import recording
from dragoman.store.ledger_entry import Entry, TakenRoute

REPORT = WrittenReport((), b'["changed"]', ReportHeaders(b"changed", b"added"), {})
TRIMMED = TrimStatistics(900, 600, 2, 1, True)
RECORD: Any = SimpleNamespace(
    id="id",
    caller=SimpleNamespace(name="caller"),
    dialect="client dialect",
    model="asked",
    ask=SimpleNamespace(stream=True, source=b"request", conversation=SimpleNamespace(messages=(1, 2, 3))),
    exchange=SimpleNamespace(
        destination=SimpleNamespace(
            name="target", target=SimpleNamespace(model="upstream model", profile=SimpleNamespace(name="profile"))
        ),
        request=SimpleNamespace(
            dialect="upstream dialect",
            body=b"sent",
            trimmed=TRIMMED,
            conversation=SimpleNamespace(messages=(1, 2)),
        ),
        attempts=SimpleNamespace(sends=3, failures=(1,), tried=(TriedTarget("first", "server", 500),)),
        lessons=("lesson",),
    ),
    dispatch=SimpleNamespace(
        known_lessons=("known lesson",),
        asked_at=2.0,
        note_cache=lambda _: CacheOutcome("session", 15, 0.5, 0.25, "why"),
    ),
    spent=Spent(Usage(11, 12, 13, 14, 16), estimated=False),
    cost=Cost(0.125, reported=True),
    first_byte=1.5,
    started=1.0,
    status=503,
    failure=None,
    copy=[b"ans", b"wer"],
    socket="continued",
    routed=SimpleNamespace(decision=Decision(("chosen", "other"), "reason", skipped="skipped"), session="chat"),
)
VALUES: dict[str, Any] = {
    "id": "id",
    "caller": "caller",
    "client_dialect": "client dialect",
    "upstream_dialect": "upstream dialect",
    "asked": "asked",
    "target": "target",
    "upstream_model": "upstream model",
    "stream": True,
    "attempts": 3,
    "changes": b'["changed"]',
    "lessons": ("lesson",),
    "known_lessons": ("known lesson",),
    "tried": b'[{"target":"first","failed":"server","status":500}]',
    "input_tokens": 11,
    "output_tokens": 12,
    "cached_tokens": 13,
    "written_tokens": 14,
    "reasoning_tokens": 16,
    "estimated": False,
    "cost": 0.125,
    "reported_cost": True,
    "ttfb": 1.5,
    "overhead_us": 1_000_000,
    "status": 503,
    "error_kind": None,
    "error": None,
    "request": b"request",
    "sent": b"sent",
    "answer": b"answer",
    "trimmed": TRIMMED,
    "socket": "continued",
    "session": "session",
    "resent_tokens": 15,
    "cache_saved": 0.5,
    "cache_lost": 0.25,
    "cache_break": "why",
    "profile": "profile",
    "messages_read": 3,
    "messages_written": 2,
    "route": TakenRoute("chosen", "reason", "skipped", "chat"),
}


def written(**changed: Any) -> Entry:
    record: Any = SimpleNamespace(**vars(RECORD) | changed)
    return recording._entry(record, REPORT, True)


def test_every_value_of_an_entry_stands_in_its_own_field() -> None:
    entry = written()
    found = msgspec.structs.asdict(entry)
    assert found.pop("time") > 1e9
    assert found.pop("duration") > 0.0
    assert found == VALUES


def test_what_failed_stands_in_its_own_fields() -> None:
    entry = written(failure=Failure(FailureKind.SERVER, "it broke", 500), spent=Spent(Usage(1), True), cost=Cost(0.5))
    assert (entry.error_kind, entry.error, entry.estimated) == ("server", "it broke", True)
    assert (entry.reported_cost, entry.stream) == (False, True)


def test_every_value_of_a_line_stands_in_its_own_field() -> None:
    routed: Any = SimpleNamespace(decision="decision", session="chat")
    line = msgspec.structs.asdict(recording._line("warning", written(), REPORT, routed, 0.2))
    assert line.pop("ms") > 0.0
    assert line.pop("trimmed") == TRIMMED.figures()
    same = ("id", "asked", "target", "attempts", "lessons", "estimated", "overhead_us", "status", "cost", "socket")
    assert line == {name: VALUES[name] for name in same} | {
        "level": "warning",
        "event": "request",
        "key": "caller",
        "dialect": "client dialect",
        "upstream": "upstream dialect",
        "changes": "changed",
        "input": 11,
        "output": 12,
        "ttfb_ms": 1500.0,
        "error": None,
        "routed": "decision",
        "session": "chat",
        "queued_ms": 200.0,
        "added": "added",
    }
