"""Looking at the gateway itself: health, metrics, reports, and compiling without sending."""

from __future__ import annotations

import time
from typing import Any

import msgspec

from dragoman.conversation.failures import Failure, FailureKind
from dragoman.engine.adapt import Options, compile_ask, loss_of, read
from dragoman.errors import DragomanError
from dragoman.gateway.callers import Known, Refused, may_ask, may_look
from dragoman.gateway.endpoints.generate import unknown_model
from dragoman.gateway.inbound import Inbound
from dragoman.gateway.outbound import Outbound
from dragoman.gateway.services import Services
from dragoman.upstream.configured_options import configured

TEXT = b"text/plain; version=0.0.4; charset=utf-8"


async def hello(services: Services, inbound: Inbound, outbound: Outbound, known: Known) -> None:
    await outbound.whole(200, b'{"name":"dragoman","status":"ok"}')


async def health(services: Services, inbound: Inbound, outbound: Outbound, known: Known) -> None:
    """Alive. An admin also sees which targets are left alone, and what refusals have taught."""
    shown: dict[str, Any] = {"status": "ok", "uptime": round(time.time() - services.started, 1)}
    if known.admin:
        shown["resting"] = services.health.resting(time.perf_counter())
        shown["lessons"] = services.lessons.patches()
    await outbound.whole(200, msgspec.json.encode(shown))


async def ready(services: Services, inbound: Inbound, outbound: Outbound, known: Known) -> None:
    """Ready for traffic: there is somewhere to send it, and we are not on our way out."""
    reason = "shutting down" if services.closing else "" if services.config.providers else "no providers"
    body = msgspec.json.encode({"ready": not reason, "reason": reason})
    await outbound.whole(503 if reason else 200, body)


async def metrics(services: Services, inbound: Inbound, outbound: Outbound, known: Known) -> None:
    may_look(known, "/metrics")
    stats = [transport.stats for transport in services.transports.values()]
    store = services.store.health()
    gauges = {
        "dragoman_active_requests": services.metrics.active,
        "dragoman_upstream_connections": sum(one.open for one in stats),
        "dragoman_upstream_idle": sum(one.idle for one in stats),
        "dragoman_upstream_queued": sum(one.queued for one in stats),
        "dragoman_ledger_waiting": store.waiting,
        "dragoman_ledger_dropped": store.dropped,
    }
    await outbound.whole(200, services.metrics.text(gauges).encode(), None, TEXT)


async def report(services: Services, inbound: Inbound, outbound: Outbound, known: Known, request_id: str) -> None:
    """The whole report of one request, for its owner."""
    entry = services.store.report(request_id, known.caller)
    if entry is None:
        message = f'there is no request "{request_id}" of yours'
        raise Refused(Failure(FailureKind.NOT_FOUND, message, 404, "unknown_request"))
    await outbound.whole(200, entry.report())


class _DryRun(msgspec.Struct, forbid_unknown_fields=True):
    request: msgspec.Raw
    to: str
    source: str = msgspec.field(name="from", default="auto")
    stream: bool | None = None
    max_loss: str | None = None


async def adapt(services: Services, inbound: Inbound, outbound: Outbound, known: Known) -> None:
    """The exact body that would be sent, and why. `{"request": …, "from": DIALECT, "to": MODEL or TARGET}`."""
    body = await inbound.body(services.config.server.max_body)
    try:
        wanted = msgspec.json.decode(body, type=_DryRun)
    except msgspec.DecodeError as fault:
        hint = 'send {"request": {…}, "from": "openai-chat", "to": "MODEL"}'
        raise Refused(Failure(FailureKind.BAD_REQUEST, f"{fault} ({hint})", 400)) from None
    may_ask(known, wanted.to)
    route = services.routes.find(wanted.to)
    if not route:
        raise Refused(unknown_model(wanted.to))
    destination = route[0]
    try:
        ask = read(bytes(wanted.request), source=wanted.source, stream=wanted.stream)
        limit = destination.max_loss if wanted.max_loss is None else loss_of(wanted.max_loss)
        options = Options(max_loss=limit, synthetic=destination.synthetic, stream=wanted.stream)
        adapted = compile_ask(ask, services.lessons.corrected(destination), options)
    except DragomanError as fault:
        raise Refused(Failure(FailureKind.BAD_REQUEST, str(fault), 422, param=fault.at)) from None
    if destination.options or destination.omit:
        adapted = configured(adapted, destination)
    shown = {
        "target": destination.name,
        "path": adapted.path,
        "headers": adapted.headers,
        "body": msgspec.Raw(adapted.body),
        "changes": adapted.changes,
        "wants": adapted.wants,
    }
    await outbound.whole(200, msgspec.json.encode(shown))
