"""One request to a provider, directly or through the gateway, and what came back."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Mapping
from enum import StrEnum
from typing import Any
from urllib.parse import unquote

import msgspec
from msgspec.structs import replace

from dragoman.conversation.collect import collect
from dragoman.conversation.conversation import Conversation
from dragoman.conversation.failures import Failure, FailureKind
from dragoman.conversation.parts import Call, Reasoning, Text
from dragoman.conversation.replies import Reply, Usage
from dragoman.dialects.dialect import Dialect, RenderOptions
from dragoman.engine.compile.request_frames import path_template
from dragoman.gateway.app import Gateway
from dragoman.upstream.auth.authorizer import NoCredentials
from dragoman.upstream.destinations import HttpDestination
from dragoman.upstream.refusals import transport_failure
from dragoman.upstream.transport.failures import TransportFailure
from dragoman.upstream.transport.outgoing import Outgoing
from dragoman.wire.error_bodies import parse_failure

_ANSWER_LIMIT = 4 * 1024 * 1024
_LONGEST_WORDS = 300


class Way(StrEnum):
    """How a request goes to the provider."""

    DIRECTLY = "directly"
    GATEWAY = "through the gateway"


class SentRequest(msgspec.Struct, frozen=True, kw_only=True):
    """A request that was sent, and what came back. It holds no content, but for bodies that the user asked for."""

    way: Way
    turn: int
    status: int = 0
    """That of the answer; 0 if there was none."""
    says: str = ""
    """The refusal in the provider's words, or why nothing was sent."""
    stop: str = ""
    words: int = 0
    """Words of text in the answer."""
    calls: tuple[str, ...] = ()
    """The tools that it calls."""
    thoughts: bool = False
    usage: Usage | None = None
    cost: float = 0.0
    """In dollars, by the published price."""
    seconds: float = 0.0
    first_seconds: float = 0.0
    """Until the first byte of the body."""
    changes: str = ""
    """What the gateway changed: the header `x-dragoman-changes`."""
    request: str = ""
    answer: str = ""

    @property
    def answered(self) -> bool:
        return 200 <= self.status < 300 and not self.says


class WireRequest(msgspec.Struct, frozen=True):
    """A request in a dialect, ready to be sent either way."""

    dialect: Dialect
    model: str
    """As the provider calls it; for the gateway, with the provider's name before it."""
    stream: bool
    body: bytes


class RawAnswer(msgspec.Struct, frozen=True):
    """What came back, as bytes."""

    status: int
    headers: Mapping[str, str]
    body: bytes
    seconds: float
    first_seconds: float


def render(dialect: Dialect, conversation: Conversation, model: str, stream: bool, usage: bool = True) -> WireRequest:
    """A conversation as a request, without any repair. `usage`: ask a stream for it. Raises Unrepresentable."""
    body = dialect.requests.render(conversation, RenderOptions(model, stream, usage=stream and usage))
    return WireRequest(dialect, model, stream, body)


async def send_directly(gateway: Gateway, destination: HttpDestination, request: WireRequest) -> RawAnswer | Failure:
    """Send it to the provider with the provider's own key."""
    dialect, dispatcher = request.dialect, gateway.services.dispatcher
    path = dialect.request_path(
        RenderOptions(request.model, request.stream), path_template(destination.target.profile, request.stream)
    )
    headers = (*dialect.headers.items(), ("content-type", "application/json"), *destination.signed(0))
    outgoing = Outgoing("POST", destination.url(path), headers, request.body)
    started = time.perf_counter()
    try:
        if destination.scheme is not None:
            outgoing = await dispatcher.authorizers.authorize(destination.scheme, outgoing)
        incoming = await dispatcher.transports.of(destination).send(outgoing, destination.timeouts)
        async with incoming:
            body, first = await _read(incoming, started)
        return RawAnswer(incoming.status, dict(incoming.headers), body, time.perf_counter() - started, first)
    except TransportFailure as fault:
        return transport_failure(fault, destination.name)
    except NoCredentials as fault:
        return Failure(FailureKind.AUTH, str(fault), fault.status)


async def _read(pieces: AsyncIterator[bytes], started: float) -> tuple[bytes, float]:
    body, first = bytearray(), 0.0
    async for piece in pieces:
        first = first or time.perf_counter() - started
        body += piece
        if len(body) > _ANSWER_LIMIT:
            break
    return bytes(body), first


async def send_through(gateway: Gateway, request: WireRequest) -> RawAnswer:
    """Send it to the gateway in this process, without a socket: nobody else on this machine can use its keys."""
    path, _, query = request.dialect.request_path(RenderOptions(request.model, request.stream), "").partition("?")
    scope = {
        "type": "http",
        "method": "POST",
        "path": unquote(path),
        "raw_path": path.encode(),
        "query_string": query.encode(),
        "headers": [(b"content-type", b"application/json"), (b"content-length", str(len(request.body)).encode())]
        + [(key.encode(), value.encode()) for key, value in request.dialect.headers.items()],
        "client": ("127.0.0.1", 0),
    }
    received: list[dict[str, Any]] = []
    started = time.perf_counter()
    first = 0.0
    sent, over = False, asyncio.Event()

    async def receive() -> dict[str, Any]:
        nonlocal sent
        if not sent:
            sent = True
            return {"type": "http.request", "body": request.body, "more_body": False}
        await over.wait()
        return {"type": "http.disconnect"}

    async def send(message: Any) -> None:
        nonlocal first
        received.append(message)
        if message.get("body"):
            first = first or time.perf_counter() - started

    await gateway(scope, receive, send)
    over.set()
    [start, *rest] = received
    headers = {key.decode().lower(): value.decode() for key, value in start["headers"]}
    body = b"".join(message.get("body", b"") for message in rest)
    return RawAnswer(start["status"], headers, body, time.perf_counter() - started, first)


def parse_reply(request: WireRequest, answer: RawAnswer) -> Reply | Failure:
    """What was answered; or the error in its words."""
    codec = request.dialect.answers
    if answer.status >= 400 or answer.status < 200:
        return parse_failure(answer.status, answer.headers, answer.body)
    if not request.stream:
        return collect(codec.parse(answer.body))
    parser = codec.stream_parser()
    return collect([*parser.feed(answer.body), *parser.close()])


def describe(way: Way, turn: int, answer: RawAnswer | Failure, reply: Reply | Failure) -> SentRequest:
    """What the page says of an answer, without its price."""
    raw = answer if isinstance(answer, RawAnswer) else RawAnswer(0, {}, b"", 0.0, 0.0)
    sent = SentRequest(
        way=way,
        turn=turn,
        status=raw.status,
        seconds=round(raw.seconds, 3),
        first_seconds=round(raw.first_seconds, 3),
        changes=", ".join(filter(None, (raw.headers.get(name, "") for name in _REPORTS))),
    )
    if isinstance(reply, Failure):
        return replace(sent, says=reply.message[:_LONGEST_WORDS] or f"status {raw.status}")
    parts = reply.choices[0].parts if reply.choices else ()
    return replace(
        sent,
        stop=str(reply.choices[0].stop or "") if reply.choices else "",
        words=sum(len(part.text.split()) for part in parts if isinstance(part, Text)),
        calls=tuple(part.name for part in parts if isinstance(part, Call)),
        thoughts=any(isinstance(part, Reasoning) for part in parts),
        usage=None if reply.usage is None else replace(reply.usage, extras=None),
    )


_REPORTS = ("x-dragoman-changes", "x-dragoman-added")
