"""Counting tokens before a request is sent.

Where the target's own dialect is the client's, its provider counts. Otherwise we estimate, and say so in a header.
"""

from __future__ import annotations

import msgspec

from dragoman.conversation.failures import Failure, FailureKind
from dragoman.dialects.registry import requests
from dragoman.engine.adapt import compile_ask
from dragoman.engine.tokens import estimate
from dragoman.errors import DragomanError
from dragoman.gateway import outbound
from dragoman.gateway.callers import Known, Refused, may_ask
from dragoman.gateway.inbound import Inbound, Send
from dragoman.gateway.services import Services
from dragoman.upstream.destinations import Destination
from dragoman.upstream.transport import Outgoing, TransportFailure

_PATHS = {"anthropic": "/v1/messages/count_tokens", "gemini": "/v1beta/models/{model}:countTokens"}
_NOT_COUNTED = ("max_tokens", "stream", "metadata", "stop_sequences", "temperature", "top_p", "top_k", "service_tier")
_SHOWN = {"anthropic": "input_tokens", "gemini": "totalTokens"}


async def count(
    services: Services, inbound: Inbound, send: Send, known: Known, dialect: str, model: str | None = None
) -> None:
    body = await inbound.body(services.config.server.max_body)
    try:
        ask = requests(dialect).parse_request(_unwrapped(body), headers=inbound.headers)
    except DragomanError as fault:
        raise Refused(Failure(FailureKind.BAD_REQUEST, str(fault), 400)) from None
    name = model or ask.model or services.config.default_model or ""
    may_ask(known, name)
    route = services.routes.find(name)
    if not route:
        raise Refused(Failure(FailureKind.NOT_FOUND, f'no model is called "{name}" here', 404))
    if route[0].target.dialect == dialect:
        counted = await _counted(services, route[0], dialect, compile_ask(ask, route[0].target).body)
        if counted is not None:
            await outbound.whole(send, 200, counted, [])
            return
    shown = msgspec.json.encode({_SHOWN[dialect]: estimate(ask.source)})
    await outbound.whole(send, 200, shown, [(b"x-dragoman-estimate", b"true")])


def _unwrapped(body: bytes) -> bytes:
    """Gemini's countTokens takes the request itself or wraps it."""
    try:
        wire = msgspec.json.decode(body, type=dict[str, msgspec.Raw])
    except msgspec.DecodeError:
        return body
    inner = wire.get("generateContentRequest")
    return bytes(inner) if inner is not None else body


async def _counted(services: Services, destination: Destination, dialect: str, body: bytes) -> bytes | None:
    """The provider's own figure, or None where it gives none."""
    path = _PATHS[dialect].format(model=destination.target.model)
    if dialect == "anthropic":
        fields = msgspec.json.decode(body, type=dict[str, msgspec.Raw])
        body = msgspec.json.encode({key: value for key, value in fields.items() if key not in _NOT_COUNTED})
    else:
        fields = msgspec.json.decode(body, type=dict[str, msgspec.Raw])
        body = msgspec.json.encode({"contents": fields["contents"]})
    version = (("anthropic-version", "2023-06-01"),) if dialect == "anthropic" else ()
    headers = (("content-type", "application/json"), *version, *destination.signed(0))
    try:
        incoming = await services.transport.send(
            Outgoing("POST", destination.url(path), headers, body), destination.timeouts
        )
        answer = await incoming.read(1 << 20)
    except TransportFailure:
        return None
    return answer if incoming.status == 200 else None
