"""Endpoints that are passed on as they are: embeddings and audio transcription, to providers that have them."""

from __future__ import annotations

import re
import time

import msgspec

from dragoman.config.schema import Config, LogLevel
from dragoman.conversation.dialect_names import DEFAULT_DIALECT
from dragoman.conversation.failures import Failure
from dragoman.conversation.literals import quote
from dragoman.engine.token_estimate import estimate
from dragoman.gateway.callers import Known, Refused, Slot, admit, may_ask
from dragoman.gateway.endpoints.generate import unknown_model
from dragoman.gateway.inbound import Inbound
from dragoman.gateway.outbound import JSON, Outbound, header
from dragoman.gateway.request_record import LONGEST_NAME
from dragoman.gateway.services import Services
from dragoman.store import Entry
from dragoman.upstream.destinations import HttpDestination
from dragoman.upstream.refusals import error_body, transport_failure
from dragoman.upstream.transport import Incoming, Outgoing, TransportFailure
from dragoman.wire.error_bodies import parse_failure
from dragoman.wire.json_reader import readable, refuse_duplicates, render_object, split_members

_FIELD = re.compile(
    rb'(content-disposition: form-data; name="model"\r\n(?:[^\r\n]{1,1000}\r\n){0,4}\r\n)([^\r\n]*)', re.IGNORECASE
)
LIMIT = 64 * 1024 * 1024


async def relay(services: Services, inbound: Inbound, outbound: Outbound, known: Known, path: str) -> None:
    """The same request to the provider behind the model, under its own name for it."""
    started = time.perf_counter()
    with Slot(services, known):
        body = await inbound.body(services.config.server.max_body)
        content_type = inbound.headers.get("content-type", "application/json")
        form = content_type.startswith("multipart/")
        name = (_form_model(body) if form else _json_model(body)) or _default_model(services.config, path)
        may_ask(known, name)
        route = services.routes.find(name)
        if route is None:
            raise Refused(unknown_model(name))
        if known.limits is not None:
            await admit(services, known, known.limits, 0 if form else estimate(body))
        destination = route.first
        model = destination.target.model
        sent = _named_form(body, model) if form else _named(body, model)
        failure = await _passed(services, outbound, destination, path, (content_type, sent))
    _write_down(services, outbound, known, (name, destination), started, failure)


def _default_model(config: Config, path: str) -> str:
    """The model for a request that names none. A model that chats can rarely listen."""
    audio = config.default_audio_model if path.startswith("/audio/") else None
    return audio or config.default_model or ""


async def _passed(
    services: Services, outbound: Outbound, destination: HttpDestination, path: str, sent: tuple[str, bytes]
) -> Failure | None:
    """The provider's answer as it is, or its refusal without our secrets."""
    named = [header(b"x-dragoman-model", destination.name)]
    headers = (("content-type", sent[0]), *services.signed(destination))
    outgoing = Outgoing("POST", destination.url(path), headers, sent[1])
    try:
        incoming: Incoming = await services.transport(destination).send(outgoing, destination.timeouts)
        if incoming.status < 300:
            answer = await incoming.read(LIMIT)
            shown = (incoming.header("content-type") or "").encode("latin-1", "replace")
            await outbound.whole(200, answer, named, shown or JSON)
            return None
        refused = await error_body(incoming)
        failure = parse_failure(incoming.status, dict(incoming.headers), refused, destination.provider)
    except TransportFailure as fault:
        failure = transport_failure(fault)
    failure = services.redaction.failure(failure)
    await outbound.refusal(DEFAULT_DIALECT, failure, named)
    return failure


def _write_down(
    services: Services,
    outbound: Outbound,
    known: Known,
    asked: tuple[str, HttpDestination],
    started: float,
    failure: Failure | None,
) -> None:
    name, destination = asked
    entry = Entry(
        id=outbound.id,
        time=time.time(),
        caller=known.name,
        client_dialect=DEFAULT_DIALECT,
        upstream_dialect=DEFAULT_DIALECT,
        asked=name[:LONGEST_NAME],
        target=destination.name,
        upstream_model=destination.target.model,
        duration=time.perf_counter() - started,
        status=outbound.status,
        error_kind=failure.kind.value if failure is not None else None,
        error=failure.message if failure is not None else None,
    )
    services.store.ledger.record(entry)
    services.metrics.request("relay", entry.target, entry.status)
    line = {"event": "relay", "id": entry.id, "key": entry.caller, "target": entry.target, "status": entry.status}
    services.lines.add(LogLevel.INFO if failure is None else LogLevel.WARNING, line)


def _json_model(body: bytes) -> str:
    source, _ = readable(body)
    found = split_members(source)
    refuse_duplicates(source, found)
    raw = bytes(found.get("model", b'""'))
    return msgspec.json.decode(raw, type=str) if raw[:1] == b'"' else ""


def _named(body: bytes, model: str) -> bytes:
    found: dict[str, bytes | msgspec.Raw] = dict(split_members(readable(body)[0]))
    return render_object(found | {"model": quote(model)})


def _form_model(body: bytes) -> str:
    match = _FIELD.search(body)
    return match[2].decode("utf-8", "replace") if match else ""


def _named_form(body: bytes, model: str) -> bytes:
    """The form with the provider's name for the model; a form without one gets it as its first field."""
    if not _FIELD.search(body):
        boundary, _, _ = body.partition(b"\r\n")
        head = b'\r\ncontent-disposition: form-data; name="model"\r\n\r\n'
        return boundary + head + model.encode() + b"\r\n" + body
    return _FIELD.sub(lambda match: match[1] + model.encode(), body, count=1)
