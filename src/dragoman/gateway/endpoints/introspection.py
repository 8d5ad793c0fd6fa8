"""The gateway itself: health, metrics, reports, and what would be sent for a request."""

from __future__ import annotations

import time
from functools import partial
from typing import Any

import msgspec

from dragoman.conversation.failures import Failure, FailureKind
from dragoman.dialects.dialect import AnswerContext
from dragoman.engine.compile.request_limits import RequestLimits, check_body
from dragoman.engine.exchange.steps import Send
from dragoman.engine.library.adapt import read
from dragoman.engine.library.report_summary import count_report, fold
from dragoman.gateway.callers.caller import Refused, Slot
from dragoman.gateway.callers.key_limits import admit
from dragoman.gateway.endpoints.dry_run_options import DryRunOptions
from dragoman.gateway.http.client_watch import watch_client
from dragoman.gateway.models.model_names import find_destinations
from dragoman.gateway.records.metrics import render_metrics
from dragoman.gateway.served_request import ServedRequest
from dragoman.store.errors import StoreUnavailable

TEXT = b"text/plain; version=0.0.4; charset=utf-8"


async def about(request: ServedRequest, body: bytes) -> None:
    """What a dialect's own server says about itself."""
    await request.outbound.whole(200, body)


async def health(request: ServedRequest) -> None:
    """Alive. An admin also sees which targets are left alone, and what refusals have taught about them."""
    services = request.services
    shown: dict[str, Any] = {"status": "ok", "uptime": round(time.time() - services.traffic.started, 1)}
    if request.caller.admin:
        shown["resting"] = services.dispatcher.health.resting(time.perf_counter())
        shown["lessons"] = await services.exchange_state.lessons()
        shown["tentative_lessons"] = await services.exchange_state.tentative_lessons()
    await request.outbound.whole(200, msgspec.json.encode(shown))


async def ready(request: ServedRequest) -> None:
    """Ready for traffic: there is somewhere to send it, and we are not on our way out.

    Shared state that is away is told and no reason to stay away: the gateway serves by what it knows. An admin sees
    why.
    """
    services = request.services
    reason = "shutting down" if services.traffic.closing else "" if services.live.config.providers else "no providers"
    store = services.store.health()
    shown: dict[str, Any] = {"ready": not reason, "reason": reason, "config": services.live.digest}
    if store.replicas:
        shown["shared_state"] = "away" if store.is_state_away else "ok"
        shown["replicas"] = store.replicas
    if any(one.is_ledger for one in store.away):
        shown["ledger"] = "away"
    if store.away and request.caller.admin:
        shown["away"] = services.records.redactor.text("; ".join(map(str, store.away)))
    await request.outbound.whole(503 if reason else 200, msgspec.json.encode(shown))


async def metrics(request: ServedRequest) -> None:
    """The metrics of all workers together."""
    text = render_metrics(await request.services.all_metrics())
    await request.outbound.whole(200, text.encode(), None, TEXT)


async def report(request: ServedRequest, id: str) -> None:
    """The whole report of one request, for its owner."""
    entry = await request.services.store.ledger.report(id, request.caller)
    if entry is None:
        message = f'there is no request "{id}" of yours'
        raise Refused(Failure(FailureKind.NOT_FOUND, message, 404, "unknown_request"))
    summary = msgspec.json.encode(fold(entry.read_changes()))
    await request.outbound.whole(200, b'{"summary":' + summary + b"," + entry.report()[1:])


async def lessons(request: ServedRequest) -> None:
    """What refusals have taught about targets, for admins."""
    await request.outbound.whole(200, msgspec.json.encode({"lessons": await request.services.exchange_state.records()}))


async def forget(request: ServedRequest) -> None:
    """Forget lessons: all, or those of `?target=` and `?name=`."""
    query = request.inbound.query
    forgotten = await request.services.exchange_state.forget(query.get("target"), query.get("name"))
    await request.outbound.whole(200, msgspec.json.encode({"forgotten": forgotten}))


async def forget_caller(request: ServedRequest) -> None:
    """Remove everything that is kept for the key `?name=`, for admins."""
    name = request.inbound.query.get("name")
    if name is None:
        raise Refused(Failure(FailureKind.BAD_REQUEST, "say whose state to forget: ?name=KEY", 400, param="name"))
    request.services.conversations.forget(name)
    try:
        forgotten = await request.services.store.forget(name)
    except StoreUnavailable as fault:
        message = f"not everything was removed; try again: {fault}"
        raise Refused(Failure(FailureKind.OVERLOADED, message, 503, retry_after=1.0)) from None
    await request.outbound.whole(200, msgspec.json.encode({"forgotten": forgotten}))


class _DryRun(DryRunOptions, kw_only=True):
    request: msgspec.Raw
    to: str


async def adapt(request: ServedRequest) -> None:
    """The exact body that would be sent, and why. `{"request": …, "from": DIALECT, "to": MODEL or TARGET}`.

    It counts as a request of the caller: it may fetch media, and compiles as much as a request that is sent.
    """
    services, inbound, caller = request.services, request.inbound, request.caller
    limits = services.live.config.limits
    with Slot(services.traffic, caller):
        body = await request.body()
        work = request.work(body)
        with watch_client(inbound, len(body)):
            wanted = await work.run(partial(_dry_run, body, limits))
        route = find_destinations(services, caller, wanted.to, wanted.source)
        if caller.limits is not None:
            await admit(services.store.limits, caller, caller.limits, 0)
        asked = bytes(wanted.request)
        parse = partial(read, asked, source=wanted.source, headers=inbound.headers, stream=wanted.stream, limits=limits)
        with watch_client(inbound, len(body)):
            ask = await work.run(parse)
        context = AnswerContext(model=wanted.to, id=request.outbound.id)
        dispatch = services.dispatcher.open(ask, route, context, caller.name, options=wanted.options(), work=work)
        with watch_client(inbound, len(body)):
            step = await dispatch.prepare()
    if not isinstance(step, Send):
        raise Refused(step.failure)
    shown = {
        "target": step.destination.name,
        "path": step.request.path,
        "headers": step.request.headers,
        "body": msgspec.Raw(step.request.body),
        "changes": step.request.changes,
        "summary": await work.run(partial(fold, step.request.changes)),
        "counts": count_report(step.request, step.destination.target.profile.name),
        "media_to_fetch": step.request.media_to_fetch,
        "trimmed": step.request.trimmed.figures() if step.request.trimmed is not None else None,
    }
    await request.outbound.whole(200, await work.run(partial(msgspec.json.encode, shown)))


def _dry_run(body: bytes, limits: RequestLimits) -> _DryRun:
    check_body(body, limits)
    try:
        return msgspec.json.decode(body, type=_DryRun)
    except (msgspec.DecodeError, RecursionError) as fault:
        hint = 'send {"request": {…}, "from": "openai-chat", "to": "MODEL"}'
        raise Refused(Failure(FailureKind.BAD_REQUEST, f"{fault} ({hint})", 400)) from None
