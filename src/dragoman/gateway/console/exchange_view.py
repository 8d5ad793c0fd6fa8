"""One request as the console shows it: both bodies, what was changed and why, every send, and the answer."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec
from msgspec.structs import replace

from dragoman.dialects.registry import dialect
from dragoman.engine.compile.compiled_request import CompiledRequest
from dragoman.engine.exchange.exchange import Exchange
from dragoman.engine.exchange.offline_driver import compile_offline
from dragoman.engine.exchange.steps import AttemptFailed
from dragoman.engine.library.adapt import read
from dragoman.engine.routing.candidates import Decision
from dragoman.engine.tool_runs.tool_rounds import TOOL_RUN
from dragoman.errors import DragomanError
from dragoman.gateway.console.code_samples import CodeSamples, ResendForm, code_samples, resend_form
from dragoman.gateway.console.explained_changes import ShownReport, show_compiled, show_report
from dragoman.gateway.records.recent_exchanges import MOST, RecentExchange
from dragoman.gateway.services import Services
from dragoman.store.journals.redaction import Redactor
from dragoman.store.ledger_entry import Entry
from dragoman.upstream.destinations import HttpDestination

LONGEST_BODY = 8 * 1024 * 1024
"""Characters of a body that the page gets."""
NOT_KEPT = (
    "Bodies of requests are not kept here. Set `store.keep_bodies: true` to keep them in the store, without secrets. "
    f"On a gateway without keys that only this machine can reach, the last {MOST} are in memory."
)
GONE = (
    f"The bodies of this request are no longer in memory: the last {MOST} requests are, as long as they are small "
    "enough. `store.keep_bodies: true` keeps all of them."
)


class ShownBody(msgspec.Struct, frozen=True, kw_only=True):
    """A body as it was, and the dialect that it is in."""

    dialect: str
    title: str
    text: str | None
    cut: int = 0
    """How many characters are missing at its end."""
    path: str = ""


class ShownSend(msgspec.Struct, frozen=True, kw_only=True):
    """One send. Times are seconds since the request came."""

    target: str
    begins: float
    ends: float
    waited: float = 0.0
    status: int = 200
    kind: str = ""
    message: str = ""
    lesson: str = ""
    body: str | None = None
    """None if it is the body that was sent last."""


class ShownRun(msgspec.Struct, frozen=True, kw_only=True):
    """A tool that the gateway ran after this round."""

    did: str
    """What the report says of it."""
    name: str = ""
    """The tool, and its server if it has one; empty: the ledger knows no more than the sentence."""
    seconds: float | None = None
    size: int = 0
    """The bytes that the model reads of it."""
    cost: float = 0.0
    """In dollars."""
    error: str = ""


class ExchangeView(msgspec.Struct, frozen=True, kw_only=True):
    """One request as the console shows it."""

    id: str
    entry: msgspec.Raw
    kept: str
    """Where the bodies come from, `memory` or `store`; empty if there are none."""
    note: str
    """Why there are none."""
    client: ShownBody
    upstream: ShownBody
    report: ShownReport
    sends: tuple[ShownSend, ...]
    runs: tuple[ShownRun, ...]
    overhead: float
    first_byte: float | None
    duration: float
    answer: ShownBody
    samples: CodeSamples | None
    resend: ResendForm
    decision: Decision | None


def exchange_view(services: Services, entry: Entry, root: str) -> ExchangeView:
    """The view of a request of the ledger. `root` is the address of the gateway, for the samples.

    It takes compiling the request once for each rule that changed something, so a thread does it.
    """
    recent = services.records.recent.find(entry.id)
    if recent is not None:
        return _of_memory(services, recent, root)
    return _of_ledger(services, entry, root)


def _of_memory(services: Services, recent: RecentExchange, root: str) -> ExchangeView:
    record = recent.record
    exchange, ask = record.exchange, record.ask
    sent = exchange.request if exchange is not None else None
    destination = exchange.destination if exchange is not None else None
    report = (
        show_compiled(exchange, sent, services.live.profiles)
        if exchange is not None and sent is not None
        else show_report((), None, services.live.profiles)
    )
    samples = (
        code_samples(recent.entry, ask.source, destination, root)
        if ask is not None and destination is not None
        else None
    )
    answer = b"".join(record.copy) if record.copy else record.answer
    return _view(
        services,
        recent.entry,
        kept="memory",
        bodies=(ask.source if ask is not None else None, sent.body if sent is not None else None, answer),
        path=sent.path if sent is not None else "",
        report=report,
        sends=_sends(services, recent),
        runs=_runs(recent),
        samples=samples,
        decision=record.routed.decision if record.routed is not None else None,
    )


def _of_ledger(services: Services, entry: Entry, root: str) -> ExchangeView:
    again = _compile_again(services, entry)
    route = services.live.routes.find(entry.target)
    destination = route.first if route is not None else None
    if again is not None:
        report = show_compiled(*again, services.live.profiles)
    else:
        report = show_report(
            entry.read_changes(), destination.target if destination is not None else None, services.live.profiles
        )
    kept = entry.request is not None
    samples = (
        code_samples(entry, entry.request, destination, root)
        if entry.request is not None and destination is not None
        else None
    )
    return _view(
        services,
        entry,
        kept="store" if kept else "",
        note="" if kept else _why_not(services),
        bodies=(entry.request, entry.sent, entry.answer),
        path=again[1].path if again is not None else "",
        report=report,
        sends=_ledger_sends(entry),
        runs=_ledger_runs(entry),
        samples=samples,
    )


def _why_not(services: Services) -> str:
    """Why there are no bodies."""
    config = services.live.config
    if not services.records.recent.keeps and not config.store.keep_bodies:
        return NOT_KEPT
    return GONE if config.server.workers == 1 else f"{GONE} Each worker has its own, and another one answered this."


class _LedgerSend(msgspec.Struct):
    target: str
    failed: str
    status: int


def _compile_again(services: Services, entry: Entry) -> tuple[Exchange[HttpDestination], CompiledRequest] | None:
    """The request of the ledger, if it still compiles to the body that was sent."""
    route = services.live.routes.find(entry.target)
    if entry.request is None or entry.sent is None or route is None:
        return None
    try:
        ask = read(entry.request, source=entry.client_dialect, stream=entry.stream)
        exchange, sent = compile_offline(ask, route.first)
    except DragomanError:
        return None
    return (exchange, sent) if sent.json == msgspec.json.decode(entry.sent) else None


def _view(
    services: Services,
    entry: Entry,
    *,
    kept: str,
    bodies: tuple[bytes | None, bytes | None, bytes | None],
    path: str,
    report: ShownReport,
    sends: tuple[ShownSend, ...],
    runs: tuple[ShownRun, ...],
    samples: CodeSamples | None,
    note: str = "",
    decision: Decision | None = None,
) -> ExchangeView:
    client, sent, answer = bodies
    redactor = services.records.redactor
    return ExchangeView(
        id=entry.id,
        entry=msgspec.Raw(replace(entry, request=None, sent=None, answer=None).report()),
        kept=kept,
        note=note,
        client=_show(redactor, entry.client_dialect, client),
        upstream=_show(redactor, entry.upstream_dialect, sent, path),
        report=report,
        sends=sends,
        runs=runs,
        overhead=entry.overhead_us / 1e6,
        first_byte=entry.ttfb,
        duration=entry.duration,
        answer=_show(redactor, entry.client_dialect, answer),
        samples=samples,
        resend=resend_form(entry.client_dialect, entry.stream),
        decision=decision,
    )


def _show(redactor: Redactor, name: str, body: bytes | None, path: str = "") -> ShownBody:
    title = dialect(name).title if name else ""
    if body is None:
        return ShownBody(dialect=name, title=title, text=None, path=path)
    text = redactor.known(body).decode("utf-8", "replace")
    cut = max(len(text) - LONGEST_BODY, 0)
    return ShownBody(dialect=name, title=title, text=text[:LONGEST_BODY], cut=cut, path=path)


def _sends(services: Services, recent: RecentExchange) -> tuple[ShownSend, ...]:
    """Every send with its times. Connections that were opened again count as one."""
    exchange, dispatch = recent.record.exchange, recent.record.dispatch
    if exchange is None or dispatch is None or exchange.destination is None:
        return ()
    found: list[ShownSend] = []
    began, lessons = recent.since_start(dispatch.asked_at), list(exchange.lessons)
    for number, refused in enumerate(exchange.attempts.failures):
        at = recent.since_start(refused.at) if refused.at else recent.entry.duration
        times = min(began, at), at  # a wait may end a little early
        failed = _show_failed_send(services.records.redactor, exchange, refused, times)
        lesson = _lesson(lessons, exchange, number)
        found.append(replace(failed, waited=refused.waited, lesson=lesson))
        began = at + refused.waited
    if exchange.failure is None:
        ends = recent.entry.ttfb or began
        found.append(ShownSend(target=exchange.destination.name, begins=min(began, ends), ends=ends))
    return tuple(found)


def _runs(recent: RecentExchange) -> tuple[ShownRun, ...]:
    exchange = recent.record.exchange
    if exchange is None:
        return ()
    return tuple(
        [
            ShownRun(
                did=run.change(exchange.ask).did,
                name=run.name,
                seconds=run.seconds,
                size=run.size,
                cost=run.cost,
                error=run.error,
            )
            for run in exchange.runs
        ]
    )


def _ledger_runs(entry: Entry) -> tuple[ShownRun, ...]:
    return tuple([ShownRun(did=one.did) for one in entry.read_changes() if one.rule == TOOL_RUN])


def _lesson(lessons: list[str], exchange: Exchange[HttpDestination], number: int) -> str:
    """The correction that a refusal led to: the next send had another body for the same target."""
    refusals: Sequence[AttemptFailed[HttpDestination]] = exchange.attempts.failures
    refused = refusals[number]
    following = refusals[number + 1] if number + 1 < len(refusals) else None
    same = exchange.destination if following is None else following.destination
    body = exchange.request if following is None else following.request
    if not lessons or same is not refused.destination or body is refused.request:
        return ""
    return lessons.pop(0)


def _show_failed_send(
    redactor: Redactor,
    exchange: Exchange[HttpDestination],
    refused: AttemptFailed[HttpDestination],
    times: tuple[float, float],
) -> ShownSend:
    same = refused.request is exchange.request
    body = None if same else redactor.known(refused.request.body).decode("utf-8", "replace")[:LONGEST_BODY]
    return ShownSend(
        target=refused.destination.name,
        begins=times[0],
        ends=times[1],
        status=refused.failure.status,
        kind=refused.failure.kind.value,
        message=refused.failure.message,
        body=body,
    )


def _ledger_sends(entry: Entry) -> tuple[ShownSend, ...]:
    """What the ledger knows of the sends: not when they were."""
    tried = msgspec.json.decode(entry.tried, type=list[_LedgerSend])
    found = [
        ShownSend(target=one.target, begins=0.0, ends=0.0, status=one.status, kind=one.failed, lesson="")
        for one in tried
    ]
    if entry.target and not entry.failed:
        found.append(ShownSend(target=entry.target, begins=entry.overhead_us / 1e6, ends=entry.ttfb or entry.duration))
    return tuple(found)
