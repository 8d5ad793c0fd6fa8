"""The server that is asked: its address, its headers, one request and the answer to it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from dragoman.conversation.failures import Failure, FailureKind
from dragoman.probe.asked_dialects import AskedDialect, find_asked_dialect
from dragoman.upstream.refusals import transport_failure
from dragoman.upstream.transport.failures import TooLarge, TransportFailure
from dragoman.upstream.transport.incoming import Incoming
from dragoman.upstream.transport.limits import Timeouts
from dragoman.upstream.transport.outgoing import Outgoing
from dragoman.upstream.transport.transport import Transport
from dragoman.wire.error_bodies import parse_failure

ANSWER_LIMIT = 256 * 1024
"""Bytes of an answer that are read. One token of output needs a few hundred."""
_DATA = b"data:"
_STREAMS = (b"data:", b"event:", b":")
"""How a stream begins. Some servers stream whatever they are asked for."""
_CUT_SHORT = "model output limit was reached"
"""OpenAI's models that think say so with 400 if the limit leaves no room for an answer: they took the request."""


class ProbedServer(msgspec.Struct, frozen=True):
    """Where to send requests, and in which dialect."""

    url: str
    model: str
    headers: tuple[tuple[str, str], ...] = ()
    """With the key."""
    asked: AskedDialect = msgspec.field(default_factory=find_asked_dialect)

    def outgoing(self, body: Mapping[str, Any]) -> Outgoing:
        wire = self.asked.dialect
        content = msgspec.json.encode(body if wire.model_in_path else {"model": self.model, **body})
        own = {name.lower() for name, _ in self.headers}
        usual = [(name, value) for name, value in wire.headers.items() if name not in own]
        return Outgoing("POST", self.url, (*self.headers, *usual, ("content-type", "application/json")), content)


class Redirected(Exception):
    """The server sends us elsewhere. Keys do not follow."""


async def send_question(
    server: ProbedServer, transport: Transport, body: Mapping[str, Any], streamed: bool, seconds: float
) -> Failure | None:
    """Send one request. None if the server answers it as its dialect does; else what is wrong."""
    timeouts = Timeouts(connect=min(10.0, seconds), first_byte=seconds, idle=seconds, total=seconds, queue=seconds)
    try:
        incoming = await transport.send(server.outgoing(body), timeouts)
        async with incoming:
            return await _judge(incoming, streamed, server.asked.form.answer)
    except TooLarge as fault:
        return Failure(FailureKind.BROKEN_STREAM, str(fault), 200)
    except TransportFailure as fault:
        return transport_failure(fault, fault.where)


async def _judge(incoming: Incoming, streamed: bool, member: str) -> Failure | None:
    if 300 <= incoming.status < 400:
        raise Redirected(incoming.header("location") or "an address that it does not name")
    content = await incoming.read(ANSWER_LIMIT)
    if incoming.status >= 400:
        failure = parse_failure(incoming.status, dict(incoming.headers), content)
        return None if _CUT_SHORT in failure.message else failure
    if streamed or content.lstrip().startswith(_STREAMS):
        return _stream_failure(content)
    return _answer_failure(content, member, dict(incoming.headers))


def _answer_failure(content: bytes, member: str, headers: Mapping[str, str]) -> Failure | None:
    """What is wrong with the body of a 200. Some servers put their errors there."""
    try:
        answer = msgspec.json.decode(content)
    except (msgspec.DecodeError, RecursionError):
        return _no_answer(content)
    if not isinstance(answer, dict):
        return _no_answer(content)
    if answer.get("error"):
        return parse_failure(200, headers, content)
    return None if answer.get(member) is not None else _no_answer(content)


def _stream_failure(content: bytes) -> Failure | None:
    """What is wrong with a stream: an error in it, or no event at all."""
    events = [line[len(_DATA) :].strip() for line in content.splitlines() if line.startswith(_DATA)]
    if not events:
        return _no_answer(content)
    failed = next((event for event in events if event.startswith(b'{"error"')), None)
    return None if failed is None else parse_failure(200, {}, failed)


def _no_answer(content: bytes) -> Failure:
    shown = content[:80].decode("utf-8", "replace")
    return Failure(FailureKind.BROKEN_STREAM, f"this is no answer: {shown!r}", 200)
