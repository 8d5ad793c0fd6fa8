"""Counting tokens before a request is sent.

Where the target's own dialect is the client's, its provider counts. Otherwise we estimate, and say so in a header.
"""

from __future__ import annotations

import time

import msgspec

from dragoman.conversation.literals import quote
from dragoman.dialects.registry import requests
from dragoman.engine.adapt import compile_ask
from dragoman.engine.tokens import estimate
from dragoman.errors import RequestError
from dragoman.gateway.callers import Known, Refused, Slot, admit, may_ask
from dragoman.gateway.endpoints.generate import unknown_model
from dragoman.gateway.inbound import Inbound
from dragoman.gateway.outbound import Outbound, header
from dragoman.gateway.services import Services
from dragoman.upstream.destinations import Destination
from dragoman.upstream.transport import Outgoing, TransportFailure

_PATHS = {"anthropic": "/v1/messages/count_tokens", "gemini": "/v1beta/models/{model}:countTokens"}
_NOT_COUNTED = ("max_tokens", "stream", "metadata", "stop_sequences", "temperature", "top_p", "top_k", "service_tier")
_SHOWN = {"anthropic": "input_tokens", "gemini": "totalTokens"}


async def count(
    services: Services, inbound: Inbound, outbound: Outbound, known: Known, dialect: str, model: str | None = None
) -> None:
    with Slot(services, known):
        body = await inbound.body(services.config.server.max_body)
        ask = requests(dialect).parse_request(_unwrapped(body), headers=inbound.headers)
        name = model or ask.model or services.config.default_model or ""
        may_ask(known, name)
        route = services.routes.find(name)
        if not route:
            raise Refused(unknown_model(name))
        admit(services, known, 0, time.time())
        named = header(b"x-dragoman-model", route[0].name)
        if route[0].target.dialect == dialect and (counted := await _counted(services, route[0], body)) is not None:
            await outbound.whole(200, counted, [named])
            return
        shown = msgspec.json.encode({_SHOWN[dialect]: estimate(ask.source)})
        await outbound.whole(200, shown, [named, (b"x-dragoman-estimate", b"true")])


def _unwrapped(body: bytes) -> bytes:
    """Gemini's countTokens takes the request itself or wraps it."""
    try:
        wire = msgspec.json.decode(body, type=dict[str, msgspec.Raw])
    except msgspec.DecodeError:
        return body
    inner = wire.get("generateContentRequest")
    return bytes(inner) if inner is not None else body


async def _counted(services: Services, destination: Destination, body: bytes) -> bytes | None:
    """The provider's own figure, or None where it gives none."""
    dialect, model = destination.target.dialect, destination.target.model
    try:
        adapted = compile_ask(
            requests(dialect).parse_request(_unwrapped(body)), services.lessons.corrected(destination)
        )
        outgoing = Outgoing(
            "POST",
            destination.url(_PATHS[dialect].format(model=model)),
            (*adapted.headers.items(), *services.signed(destination)),
            _countable(dialect, model, adapted.body),
        )
        incoming = await services.transport(destination).send(outgoing, destination.timeouts)
        answer = await incoming.read(1 << 20)
    except (TransportFailure, RequestError):
        return None
    return answer if incoming.status == 200 else None


def _countable(dialect: str, model: str, body: bytes) -> bytes:
    """The request as the counting endpoint takes it."""
    fields = msgspec.json.decode(body, type=dict[str, msgspec.Raw])
    if dialect == "gemini":
        named = {"model": msgspec.Raw(quote(f"models/{model}")), **fields}
        return msgspec.json.encode({"generateContentRequest": named})
    return msgspec.json.encode({key: value for key, value in fields.items() if key not in _NOT_COUNTED})
