"""Endpoints that are passed on as they are: embeddings and audio transcription, to providers that have them."""

from __future__ import annotations

import re

import msgspec

from dragoman.conversation.failures import Failure, FailureKind
from dragoman.conversation.literals import quote
from dragoman.gateway import outbound
from dragoman.gateway.callers import Known, Refused, may_ask
from dragoman.gateway.inbound import Inbound, Send
from dragoman.gateway.services import Services
from dragoman.upstream.failures import transport_failure
from dragoman.upstream.transport import Outgoing, TransportFailure
from dragoman.wire.json import members, readable, refuse_duplicates, write_object

_FIELD = re.compile(
    rb'(content-disposition: form-data; name="model"\r\n(?:[^\r\n]+\r\n)*\r\n)([^\r\n]*)', re.IGNORECASE
)
LIMIT = 64 * 1024 * 1024


async def relay(services: Services, inbound: Inbound, send: Send, known: Known, path: str) -> None:
    """The same request to the provider behind the model, under its own name for it."""
    body = await inbound.body(services.config.server.max_body)
    content_type = inbound.headers.get("content-type", "application/json")
    form = content_type.startswith("multipart/")
    name = _form_model(body) if form else _json_model(body)
    name = name or services.config.default_model or ""
    may_ask(known, name)
    route = services.routes.find(name)
    if not route:
        raise Refused(Failure(FailureKind.NOT_FOUND, f'no model is called "{name}" here', 404, "model_not_found"))
    destination = route[0]
    sent = _named_form(body, destination.target.model) if form else _named(body, destination.target.model)
    headers = (("content-type", content_type), *destination.signed(0))
    try:
        incoming = await services.transport.send(
            Outgoing("POST", destination.url(path), headers, sent), destination.timeouts
        )
        answer = await incoming.read(LIMIT)
    except TransportFailure as fault:
        raise Refused(transport_failure(fault)) from None
    shown = (incoming.header("content-type") or "application/json").encode("latin-1")
    named = [(b"x-dragoman-model", destination.name.encode("latin-1", "replace"))]
    await outbound.whole(send, incoming.status, answer, named, shown)


def _json_model(body: bytes) -> str:
    source, _ = readable(body)
    found = members(source)
    refuse_duplicates(source, found)
    raw = bytes(found.get("model", b'""'))
    return msgspec.json.decode(raw, type=str) if raw[:1] == b'"' else ""


def _named(body: bytes, model: str) -> bytes:
    found: dict[str, bytes | msgspec.Raw] = dict(members(readable(body)[0]))
    return write_object(found | {"model": quote(model)})


def _form_model(body: bytes) -> str:
    match = _FIELD.search(body)
    return match[2].decode("utf-8", "replace") if match else ""


def _named_form(body: bytes, model: str) -> bytes:
    return _FIELD.sub(lambda match: match[1] + model.encode(), body, count=1)
