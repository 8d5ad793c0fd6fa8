"""What is written down of a request: ledger, counts and log. None of them makes it wait."""

from __future__ import annotations

import time
from collections.abc import Sequence

import msgspec
from msgspec.structs import replace

from dragoman.config.schema.log import LogLevel
from dragoman.conversation.conversation import Ask
from dragoman.conversation.replies import Usage
from dragoman.engine.exchange.exchange import Exchange
from dragoman.engine.history.session_turns import NO_USE
from dragoman.engine.library.report_summary import (
    NOTHING_WRITTEN,
    ReportHeaders,
    WrittenReport,
    find_report,
    report_headers,
    write_report,
)
from dragoman.engine.routing.candidates import Decision
from dragoman.engine.tokens.answer_tally import Cost, Spent
from dragoman.gateway.callers.budgets import settle
from dragoman.gateway.models.routed_request import RoutedRequest
from dragoman.gateway.records.records import Records
from dragoman.gateway.records.request_record import RequestRecord
from dragoman.gateway.records.store_spans import take_calls
from dragoman.profiles.prices import find_price
from dragoman.store.clock import Clocks
from dragoman.store.journals.exchange_log import ExchangeLine
from dragoman.store.journals.redaction import Redactor
from dragoman.store.ledger_entry import Entry, TakenRoute
from dragoman.store.store import Store
from dragoman.upstream.destinations import HttpDestination

_encode = msgspec.json.Encoder().encode
_DEBUG, _INFO, _WARNING = LogLevel.DEBUG, LogLevel.INFO, LogLevel.WARNING
LONGEST_NAME = 200
"""Of a model that a client made up, this much is written down."""
LONGEST_ERROR = 8192
"""Of what a provider says this much is written down."""
_MOST_ADVISORS = 1000
LONGEST_CONTENT = 64 * 1024
"""Of a body this much is in the log, if it holds conversations."""


def find_cost(exchange: Exchange[HttpDestination], spent: Spent) -> Cost | None:
    """None if nothing was used, or nobody knows what it costs."""
    if exchange.parts:
        costs = [cost for part in exchange.parts if (cost := find_cost(part, part.spent())) is not None]
        return Cost(sum(one.amount for one in costs), all(one.reported for one in costs)) if costs else None
    tools = sum([run.cost for run in exchange.runs]) if exchange.runs else 0.0
    reported = exchange.cost
    if reported is not None:
        return Cost(reported + tools, reported=not tools)
    destination = exchange.destination
    price = destination.price if destination is not None else None
    if destination is None or price is None or not spent.usage.total:
        return Cost(tools) if tools else None
    advice = _price_advice(destination.target.profile.name, spent.usage) if spent.usage.others else 0.0
    return Cost(price.cost(spent.usage) + advice + tools)


def _price_advice(profile: str, usage: Usage) -> float:
    """What other models cost that took part in an answer, as far as their prices are known."""
    priced = [(find_price(profile, name), taken) for name, taken in usage.others[:_MOST_ADVISORS]]
    return sum([price.cost(taken) for price, taken in priced if price is not None])


def record_request(records: Records, store: Store, clocks: Clocks, record: RequestRecord) -> None:
    """Put the request into the ledger, the counts and the log: each answer, if several were asked for one by one."""
    if record.is_written:
        return
    record.is_written = True
    if record.dispatch is None or not record.dispatch.parts:
        _spend(store, clocks, record, (_record_answer(records, store, record),))
    else:
        _spend(store, clocks, record, [_record_answer(records, store, one) for one in record.answers()])


def _record_answer(records: Records, store: Store, record: RequestRecord) -> Entry:
    report = _report(record)
    entry = _entry(record, report, records.keeps_bodies)
    store.ledger.record(entry)
    records.recent.add(record, entry)
    if records.exchanges.is_wanted and record.ask is not None:
        records.exchanges.write(_exchange_line(record, record.ask, entry, records.keeps_answers))
    if records.spans is not None:
        runs = record.exchange.runs if record.exchange is not None else ()
        records.spans.add(entry, record.ask.headers if record.ask is not None else {}, take_calls(), runs)
    if record.dispatch is not None and record.dispatch.booking is not None:
        record.dispatch.settle(Usage(entry.input_tokens, entry.output_tokens))
    records.metrics.add(entry, report.counts)
    for run in record.exchange.runs if record.exchange is not None else ():
        records.metrics.tool_run(run)
    level = _INFO if record.failure is None else _WARNING
    if records.lines.takes(level):
        queued = record.dispatch.queued if record.dispatch is not None else 0.0
        records.lines.put(_line(level, entry, report, record.routed, queued))
    if records.lines.takes(_DEBUG):
        details = {"tried": msgspec.json.decode(entry.tried), "changes": msgspec.json.decode(entry.changes)}
        records.lines.add(_DEBUG, {"event": "report", "id": entry.id, **details, "known": entry.known_lessons})
    if records.logs_content:
        records.lines.add(level, {"event": "content", "id": entry.id, **_content(record, records.redactor)})
    return entry


def _content(record: RequestRecord, redactor: Redactor) -> dict[str, str]:
    """What was asked, sent and answered, without secrets, as far as it is there."""
    request = record.exchange.request if record.exchange is not None else None
    bodies = {
        "request": record.ask.source if record.ask is not None else None,
        "sent": request.body if request is not None else None,
        "answer": _answer(record),
    }
    return {
        name: redactor.text(body[:LONGEST_CONTENT].decode("utf-8", "replace"))
        for name, body in bodies.items()
        if body is not None
    }


def headers_of_report(record: RequestRecord) -> ReportHeaders:
    """What was changed in the request, in a line or two. The whole report is written after the answer, unless it is
    long."""
    changes = record.exchange.changes if record.exchange is not None else ()
    written = record.dispatch.report if record.dispatch is not None else None
    if written is not None and written.changes is changes:
        return written.headers
    known = find_report(changes)
    if known is not None and record.dispatch is not None:
        record.dispatch.report = replace(known, changes=changes)
        return known.headers
    record.report = report_headers(changes)
    return record.report


def _report(record: RequestRecord) -> WrittenReport:
    """What was changed in the request, as it was sent last."""
    changes = record.exchange.changes if record.exchange is not None else ()
    if not changes:
        return NOTHING_WRITTEN
    written = record.dispatch.report if record.dispatch is not None else None
    if written is not None and written.changes is changes:
        return written
    return find_report(changes) or write_report(changes, record.report)


def _entry(record: RequestRecord, report: WrittenReport, bodies: bool) -> Entry:
    """The request in the ledger. Its fields are given in their order: by their names they take six times as long."""
    ask, exchange, dispatch, failure = record.ask, record.exchange, record.dispatch, record.failure
    if exchange is None or dispatch is None:
        return _unsent_entry(record, bodies)
    now = time.perf_counter()
    destination, request, attempts = exchange.destination, exchange.request, exchange.attempts
    spent = record.spent or exchange.spent()
    cost = record.cost or find_cost(exchange, spent)
    cache = dispatch.note_cache(spent.usage) if failure is None and not spent.estimated else NO_USE
    usage = spent.usage
    return Entry(
        record.id,
        time.time(),
        record.caller.name,
        record.dialect,
        request.dialect if request is not None else "",
        record.model[:LONGEST_NAME],
        destination.name if destination is not None else "",
        destination.target.model if destination is not None else "",
        ask.stream if ask is not None else False,
        attempts.sends,
        report.json,
        exchange.lessons,
        dispatch.known_lessons,
        _encode(attempts.tried) if attempts.failures else b"[]",
        usage.input,
        usage.output,
        usage.cached,
        usage.reasoning,
        spent.estimated,
        cost.amount if cost is not None else None,
        cost is not None and cost.reported,
        record.first_byte or None,
        now - record.started,
        int(((dispatch.asked_at or now) - record.started) * 1e6),
        record.status,
        failure.kind.value if failure is not None else None,
        failure.message[:LONGEST_ERROR] if failure is not None else None,
        ask.source if bodies and ask is not None else None,
        request.body if bodies and request is not None else None,
        _answer(record) if bodies else None,
        request.trimmed if request is not None else None,
        record.socket,
        cache.session,
        usage.cache_written,
        cache.resent,
        cache.saved,
        cache.lost,
        cache.why,
        destination.target.profile.name if destination is not None else "",
        len(ask.conversation.messages) if ask is not None else 0,
        len(request.conversation.messages) if request is not None else 0,
        _taken_route(record.routed) if record.routed is not None else None,
    )


def _taken_route(routed: RoutedRequest) -> TakenRoute:
    decision = routed.decision
    return TakenRoute(decision.chosen, decision.reason[:LONGEST_ERROR], decision.skipped, routed.session)


def _unsent_entry(record: RequestRecord, bodies: bool) -> Entry:
    """A request that was refused before it was to be sent anywhere."""
    ask, failure, taken = record.ask, record.failure, time.perf_counter() - record.started
    return Entry(
        id=record.id,
        time=time.time(),
        caller=record.caller.name,
        client_dialect=record.dialect,
        asked=record.model[:LONGEST_NAME],
        stream=ask.stream if ask is not None else False,
        attempts=0,
        ttfb=record.first_byte or None,
        duration=taken,
        overhead_us=int(taken * 1e6),
        status=record.status,
        error_kind=failure.kind.value if failure is not None else None,
        error=failure.message[:LONGEST_ERROR] if failure is not None else None,
        request=ask.source if bodies and ask is not None else None,
        answer=_answer(record) if bodies else None,
        socket=record.socket,
    )


def _exchange_line(record: RequestRecord, ask: Ask, entry: Entry, answers: bool) -> ExchangeLine:
    request = record.exchange.request if record.exchange is not None else None
    sent = request.body if request is not None else None
    return ExchangeLine(entry, ask.source, sent, _answer(record) if answers else None)


def _answer(record: RequestRecord) -> bytes | None:
    """The answer's body; of a stream, its beginning."""
    return b"".join(record.copy) if record.copy else record.answer


def _spend(store: Store, clocks: Clocks, record: RequestRecord, entries: Sequence[Entry]) -> None:
    """Tokens and cost were estimated when the request was let in. What counts in the end is what is booked."""
    cost, tokens = 0.0, 0
    for entry in entries:
        cost += entry.cost or 0.0
        tokens += entry.input_tokens + entry.output_tokens
    if record.caller.budget is not None:
        settle(store.budgets, clocks, record.caller, record.hold, cost)
    if record.reserved is not None and tokens != record.reserved:
        store.limits.settle(record.caller.name, tokens - record.reserved)


class _Line(msgspec.Struct, gc=False, omit_defaults=True, rename={"input": "in", "output": "out"}):
    """A request in the log."""

    level: LogLevel
    event: str
    id: str
    key: str
    dialect: str
    upstream: str
    asked: str
    target: str
    attempts: int
    changes: str
    lessons: tuple[str, ...]
    input: int
    output: int
    estimated: bool
    ttfb_ms: float | None
    ms: float
    overhead_us: int
    status: int
    error: str | None
    routed: Decision | None = None
    session: str | None = None
    cost: float | None = None
    queued_ms: float = 0.0
    added: str = ""
    trimmed: dict[str, float] | None = None
    socket: str = ""


def _milliseconds(seconds: float) -> float:
    """To a tenth. `round` takes ten times as long."""
    return int(seconds * 10_000 + 0.5) / 10


def _line(level: LogLevel, entry: Entry, report: WrittenReport, routed: RoutedRequest | None, queued: float) -> _Line:
    return _Line(
        level,
        "request",
        entry.id,
        entry.caller,
        entry.client_dialect,
        entry.upstream_dialect,
        entry.asked,
        entry.target,
        entry.attempts,
        report.headers.changes.decode(),
        entry.lessons,
        entry.input_tokens,
        entry.output_tokens,
        entry.estimated,
        _milliseconds(entry.ttfb) if entry.ttfb else None,
        _milliseconds(entry.duration),
        entry.overhead_us,
        entry.status,
        entry.error_kind,
        routed.decision if routed is not None else None,
        (routed.session or None) if routed is not None else None,
        round(entry.cost, 9) if entry.cost is not None else None,
        _milliseconds(queued),
        report.headers.added.decode(),
        entry.trimmed.figures() if entry.trimmed is not None else None,
        entry.socket,
    )
