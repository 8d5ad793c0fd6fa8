"""A conversation to a model, and its answer back: the hot path."""

from __future__ import annotations

import asyncio
import time
from functools import partial

import msgspec
from msgspec.structs import replace

from dragoman.config.schema.log import LogLevel
from dragoman.conversation.conversation import Ask
from dragoman.conversation.failures import Failure, FailureKind
from dragoman.dialects import registry
from dragoman.dialects.contracts.compaction import CompactionWay
from dragoman.dialects.dialect import AnswerContext, Framing, Route
from dragoman.dialects.shared.parsing import parse_model
from dragoman.engine.answer.client_failures import render_failed_stream
from dragoman.engine.compile.cloud_requests import parse_routed
from dragoman.engine.compile.request_limits import parse_ask
from dragoman.engine.exchange.caller_options import NOTHING_SET, USAGE_ASKED, caller_options
from dragoman.engine.exchange.destination import TargetRoute
from dragoman.engine.exchange.exchange import Exchange
from dragoman.engine.exchange.steps import Answered, GaveUp, Streaming, StreamingAll
from dragoman.engine.history.sizes import estimate_reserve
from dragoman.engine.library.report_summary import MODEL_HEADER
from dragoman.engine.memory.continued_requests import SHORTEST, KnownBody, NotContinued, recognise
from dragoman.errors import DragomanError, RequestError
from dragoman.gateway.callers.budgets import estimate_cost, hold
from dragoman.gateway.callers.caller import Refused, Slot, Traffic, begin_work
from dragoman.gateway.callers.credentials import find_credential
from dragoman.gateway.callers.key_limits import admit, limit_headers
from dragoman.gateway.http.client_errors import BODY_ERRORS, as_failure
from dragoman.gateway.http.client_watch import ClientWatch
from dragoman.gateway.http.inbound import ClientGone
from dragoman.gateway.http.outbound import EMULATED, ESTIMATED, Headers, Outbound, header
from dragoman.gateway.models.model_names import find_lead
from dragoman.gateway.models.model_routing import choose_model, keep_choice, route_header
from dragoman.gateway.records.recording import find_cost, headers_of_report, record_request
from dragoman.gateway.records.request_record import COPIED, GONE, RequestRecord
from dragoman.gateway.served_request import ServedRequest
from dragoman.gateway.services import Services
from dragoman.gateway.state.background_answers import begin_job, queue_job
from dragoman.gateway.state.background_job import BackgroundJob
from dragoman.gateway.state.background_summaries import begin_summary
from dragoman.gateway.state.carried_summaries import answer_with_summary, read_compaction
from dragoman.gateway.state.stored_answers import with_stored_turns
from dragoman.upstream.destinations import HttpDestination
from dragoman.upstream.dispatch import Dispatch
from dragoman.upstream.heavy_work import RequestWork
from dragoman.wire.json_reader import open_object


async def generate(
    request: ServedRequest,
    dialect: str,
    route: Route | None = None,
    way: CompactionWay | None = None,
) -> None:
    """Answer one request, whatever becomes of it, and write it down. `route`: what its path says, if anything.
    `way`: the path asks for a summary in place of the conversation."""
    inbound, outbound = request.inbound, request.outbound
    framing = route.framing if route is not None else None
    context = AnswerContext(id=outbound.id, framing=framing, errors=outbound.errors, headers=inbound.headers)
    record = RequestRecord(outbound.id, dialect, request.caller, time.perf_counter(), context, socket=inbound.turn)
    job = None
    try:
        record.slot = slot = Slot(request.services.traffic, request.caller)
        slot.take(1)
        try:
            job = await _generate(request, record, route, way)
        finally:
            slot.give_back()
        if job is not None:
            await begin_job(request, dialect, job, generate)
    except (Refused, DragomanError, *BODY_ERRORS) as fault:
        if isinstance(fault, Refused):
            record.notices += fault.headers
        await _refuse(outbound, record, as_failure(fault))
    except ClientGone:
        _note_gone(outbound, record)
        raise
    except BaseException:
        record.status = 500
        raise
    finally:
        if job is None:  # else it is written down when it is over, under the same id
            record_request(request.services.records, request.services.store, request.services.clocks, record)


async def _generate(
    request: ServedRequest, record: RequestRecord, at: Route | None, way: CompactionWay | None
) -> BackgroundJob | None:
    """Answer the request, or give the job if it is to be answered in the background."""
    services = request.services
    body = await request.inbound.body(services.live.config.server.max_body, services.live.config.limits.encodings)
    watch = ClientWatch(request.inbound, len(body))
    try:
        vendor, compaction, caller = registry.dialect(record.dialect), None, record.caller
        known = _recognise(services, record, body)
        if vendor.background is not None and way is None and known.holds(b'"background"'):
            job = await queue_job(services, record.caller, record.dialect, body)
            if job is not None:
                return job
        if (stored := vendor.stored_answers) is not None and known.holds(stored.mark):
            body = await with_stored_turns(request, record, known, stored)
            known = known if body is known.body else _recognise(services, record, body)
        if (form := vendor.compactions) is not None and (way is not None or known.holds(form.mark)):
            named = at.model if at is not None else None
            body, compaction = await read_compaction(services, caller, record.dialect, body, form, model=named, way=way)
            known = _recognise(services, record, body)
        parse = partial(_parse, request, record.dialect, known, at)
        new = known.new if known.kept is not None else body
        work = begin_work(services.dispatcher.heavy, caller.name, new)
        try:
            ask, record.estimate = await work.run(parse) if work.is_large else parse(new is not body)
        except NotContinued:
            work = begin_work(services.dispatcher.heavy, caller.name, body)
            ask, record.estimate = await work.run(parse)
        record.ask = ask
        record.model = name = ask.model or services.live.config.default_model or ""
        lead = find_lead(services, caller, name, record.dialect)
        route = lead.route if lead.candidates is None else None
        if caller.limits is not None:
            counted = record.estimate if caller.counts_tokens else 0
            allowed = await admit(services.store.limits, caller, caller.limits, counted, record.dialect)
            record.notices += limit_headers(record.dialect, caller.limits, allowed)
            record.reserved = record.estimate if caller.counts_tokens else None
        if compaction is None or not await answer_with_summary(request, record, compaction, ask, work):
            await _dispatch(request, record, ask, route, work)
    except (Refused, RequestError):
        record.model = record.model or await _find_model(services, record, body, at)
        raise
    except asyncio.CancelledError:
        if watch.gone:
            raise ClientGone from None
        if not is_ending(services.traffic):
            raise
        await _go_away(request.outbound, record)
    finally:
        watch.stop()
    return None


async def _dispatch(
    request: ServedRequest,
    record: RequestRecord,
    ask: Ask,
    route: TargetRoute[HttpDestination] | None,
    work: RequestWork,
) -> None:
    """Send the request. `route` is None if one has to be chosen first."""
    services = request.services
    if route is None:
        if (budget := record.caller.budget) is not None:
            await hold(services.store.budgets, services.clocks, record.caller, budget)  # a router model costs too
        record.routed = await choose_model(services, record.caller, ask, record.model, record.id)
        route = record.routed.route
    first = route.destinations[0]
    credential = find_credential(request, record.dialect, first) if first.as_caller else None
    if (budget := record.caller.budget) is not None:
        cost = estimate_cost(record.caller, record.estimate, route)
        record.hold = await hold(services.store.budgets, services.clocks, record.caller, budget, cost)
        record.notices += record.hold.headers
    if first.target.profile.probed and not first.as_caller:
        services.models.probes.note_use(first)
    record.context = _context(record, ask)
    options = caller_options(request.inbound.headers, loosen=record.caller.admin)
    if record.caller.counts_tokens or record.caller.budget is not None:
        options = USAGE_ASKED if options is NOTHING_SET else replace(options, ask_usage=True)
    record.dispatch = dispatch = services.dispatcher.open(
        ask, route, record.context, record.caller.name, options=options, work=work, credential=credential
    )
    dispatch.line = request.inbound.line
    record.exchange = exchange = dispatch.exchange
    if record.carried is not None:
        exchange.given_summary = record.carried.summary
    if ask.conversation.settings.n is not None:
        dispatch.reserve = partial(_reserve_more, services, record)
    if record.hold is not None:
        dispatch.afford = partial(_hold_round, services, record, exchange)
    figure = services.models.figures.begin(first.name)
    try:
        await _answer(request, record, dispatch)
    finally:
        figure.end(record.first_byte if exchange.attempts.sends == 1 else 0.0)


async def _reserve_more(services: Services, record: RequestRecord, count: int) -> None:
    """Count so many more requests like this one: one for each further answer. Raises Refused."""
    caller = record.caller
    most = caller.limits.requests_per_minute if caller.limits is not None else None
    if most is not None and count >= most:  # it would use up the minute of the key, and still not be sent
        what = f"the key's limit of {most} requests per minute has no room for {count + 1} answers"
        raise Refused(Failure(FailureKind.RATE_LIMIT, what, 429))
    if record.slot is not None:
        record.slot.take(count)
    if caller.limits is not None:
        counted = record.estimate * count if caller.counts_tokens else 0
        await admit(services.store.limits, caller, caller.limits, counted, record.dialect, count=count)
        record.reserved = record.reserved + counted if record.reserved is not None else None
    if caller.budget is not None and record.hold is not None:
        more = await hold(services.store.budgets, services.clocks, caller, caller.budget, record.hold.amount * count)
        record.hold = replace(more, amount=record.hold.amount + more.amount)


async def _hold_round(services: Services, record: RequestRecord, exchange: Exchange[HttpDestination]) -> str:
    """Book what the rounds so far cost, and for the next one as much as the last did. Why the key's budget has no room
    for it; empty if it has."""
    caller, held = record.caller, record.hold
    assert caller.budget is not None
    assert held is not None
    rounds = [cost.amount for part in exchange.parts if (cost := find_cost(part, part.spent())) is not None]
    amount = max(sum(rounds) + (rounds[-1] if rounds else 0.0) - held.amount, 0.0)
    try:
        more = await hold(services.store.budgets, services.clocks, caller, caller.budget, amount)
    except Refused as refused:
        return f"No further tools were run: {refused.failure.message}"
    record.hold = replace(more, amount=held.amount + amount)
    return ""


def _context(record: RequestRecord, ask: Ask) -> AnswerContext:
    """What the answer needs to know of the request, now that it may go."""
    now = time.time()
    return AnswerContext(
        model=record.model,
        created=int(now),
        clock=time.time,
        began=now,
        input_tokens=partial(estimate_reserve, ask.conversation, ask.known),
        id=record.id,
        include_usage=ask.include_usage,
        request=ask.members,
        framing=record.context.framing,
        errors=record.context.errors,
        headers=record.context.headers,
        opening=record.carried.block if record.carried is not None else None,
    )


async def _answer(request: ServedRequest, record: RequestRecord, dispatch: Dispatch) -> None:
    end, exchange = await dispatch.run(), dispatch.exchange
    services, outbound = request.services, request.outbound
    if isinstance(end, GaveUp):
        await _refuse(outbound, record, end.failure)
        return
    if record.routed is not None:
        await keep_choice(services, record.caller, record.routed, exchange)
    record.first_byte = time.perf_counter() - record.started
    outbound.work = dispatch.work
    if services.live.config.store.durable_ledger:
        outbound.before_end = partial(_write_down, services, record)
    if isinstance(end, Answered):
        record.answer = end.body
        record.spent = await dispatch.work.run(exchange.spent) if dispatch.work.is_large else exchange.spent()
        record.cost = find_cost(exchange, record.spent)
        await outbound.whole(200, end.body, _answer_headers(record))
    else:
        await _stream(request, record, dispatch, end)
    if exchange.destination is not None and exchange.destination.compact is not None:
        await begin_summary(services, record.caller, dispatch, exchange.destination.compact)


async def _write_down(services: Services, record: RequestRecord) -> None:
    """Have an answered request in the ledger before the client sees the end of its answer."""
    if record.exchange is not None:
        record.failure = record.failure or record.exchange.failure
    record_request(services.records, services.store, services.clocks, record)
    if not await services.store.ledger.flushed(WRITTEN_SECONDS):
        services.records.lines.add(LogLevel.WARNING, {"event": "ledger-late", "id": record.id})


async def _stream(
    request: ServedRequest, record: RequestRecord, dispatch: Dispatch, opened: Streaming | StreamingAll
) -> None:
    pieces, outbound = dispatch.pieces(opened), request.outbound
    records, server = request.services.records, request.services.live.config.server
    if records.recent.keeps or records.keeps_bodies or records.keeps_answers or records.logs_content:
        outbound.copied, record.copy = COPIED, outbound.copy
    client = registry.dialect(record.dialect)
    framing = record.context.framing or client.framing
    content_type = framing.content_type.encode()
    ping = client.ping if framing is Framing.SSE else b""
    try:
        await outbound.streamed(pieces, _answer_headers(record), content_type, server.write_timeout, ping)
    except TimeoutError:
        record.failure = Failure(FailureKind.NETWORK, "the client did not read its answer", GONE)
        raise ClientGone from None
    finally:
        await pieces.aclose()
        record.failure = record.failure or dispatch.exchange.failure


def _note_gone(outbound: Outbound, record: RequestRecord) -> None:
    """The client has gone. If it had the whole of a stream by then, nothing went wrong: SDKs stop at the last event."""
    gone, exchange = Failure(FailureKind.NETWORK, "the client has gone", GONE), record.exchange
    if record.failure is None and exchange is not None and outbound.started:
        exchange.cut(gone)
        record.failure = exchange.failure
    else:
        record.failure = record.failure or gone
    record.status = record.status if record.failure is None else GONE


async def _go_away(outbound: Outbound, record: RequestRecord) -> None:
    """The gateway shuts down under a request: its client gets an error, in the middle of a stream too."""
    exchange = record.exchange
    if exchange is None or not outbound.started:
        await _refuse(outbound, record, GOING_AWAY)
        return
    last = exchange.cut(GOING_AWAY)
    record.failure = exchange.failure
    await outbound.end(last)


def _recognise(services: Services, record: RequestRecord, body: bytes) -> KnownBody:
    """What is remembered of a body's conversation, if it is long enough."""
    if len(body) < SHORTEST:
        return KnownBody(body)
    return recognise(record.dialect, body, services.conversations.memory_of(record.caller.name))


def _parse(
    request: ServedRequest, dialect: str, known: KnownBody, at: Route | None, continues: bool = False
) -> tuple[Ask, int]:
    """What is asked, and the tokens that it reserves if its caller has a limit or a budget. `continues`: raise
    NotContinued rather than read what was read before."""
    caller, headers, limits = request.caller, request.inbound.headers, request.services.live.config.limits
    if at is None:
        ask = parse_ask(dialect, known.body, headers, limits, known=known, continues=continues)
    else:
        ask = parse_routed(at, known.body, headers, limits, known=known, continues=continues)
    return ask, estimate_reserve(
        ask.conversation, ask.known
    ) if caller.counts_tokens or caller.budget is not None else 0


async def _find_model(services: Services, record: RequestRecord, body: bytes, at: Route | None) -> str:
    """The model of a request that was refused before it was read, for the ledger; empty if it cannot be read."""
    if at is not None and at.model is not None:
        return at.model
    try:
        work = begin_work(services.dispatcher.heavy, record.caller.name, body)
    except Refused:
        return ""
    read = partial(_read_model, body)
    return await work.run(read) if work.is_large else read()


def _read_model(body: bytes) -> str:
    try:
        return parse_model(open_object(body)[1]) or ""
    except (RequestError, msgspec.DecodeError):
        return ""


async def _refuse(outbound: Outbound, record: RequestRecord, failure: Failure) -> None:
    """Tell the client in its own dialect; nothing has been sent before."""
    record.failure = failure
    streams = record.ask is None or record.ask.stream
    failed = render_failed_stream(record.dialect, failure, record.context) if streams else None
    if failed is None:
        await outbound.refusal(record.dialect, failure, _headers(record), record.context)
    else:
        await outbound.failed_stream(failed, _headers(record))
    record.status = outbound.status


def _answer_headers(record: RequestRecord) -> Headers:
    """The headers of an answer that is no error: those have the id by themselves."""
    name = registry.dialect(record.dialect).id_header
    return [(name, record.id.encode()), *_headers(record)] if name else _headers(record)


def _headers(record: RequestRecord) -> Headers:
    """Who really answered, and what was changed."""
    exchange = record.exchange
    if exchange is None or exchange.destination is None:
        return list(record.notices)
    headers = [header(MODEL_HEADER, exchange.destination.name), *record.notices]
    if record.routed is not None:
        headers.append(header(b"x-dragoman-route", route_header(record.model, record.routed)))
    if exchange.changes:
        headers += headers_of_report(record)
    if record.dispatch is not None and record.dispatch.account_limits:
        named = {name for name, _ in headers}
        limits = [header(name.lower().encode("latin-1"), value) for name, value in record.dispatch.account_limits]
        headers += [one for one in limits if one[0] not in named]
    if exchange.destination.emulated:
        headers.append(EMULATED)
    if record.spent is not None and record.spent.estimated:
        headers.append(ESTIMATED)
    if record.cost is not None:
        headers.append(header(b"x-dragoman-cost", record.cost.header()))
    return headers


WRITTEN_SECONDS = 10.0
"""So long an answer waits for a ledger that is to outlive the process."""
GOING_AWAY = Failure(FailureKind.OVERLOADED, "the gateway is shutting down", 503, retry_after=1.0)


def is_ending(traffic: Traffic) -> bool:
    """Whether a cancellation just caught comes from the shutdown, and not from a client that disconnected.

    Then the task continues, so that it can send a last error.
    """
    if not traffic.ending:
        return False
    task = asyncio.current_task()
    if task is not None:
        task.uncancel()
    return True
