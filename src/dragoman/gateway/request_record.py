"""What is written down of a request: ledger, counts and log. None of them makes it wait."""

from __future__ import annotations

import time
from collections.abc import AsyncGenerator

import msgspec

from dragoman.config.schema import LogLevel
from dragoman.conversation.changes import Change
from dragoman.conversation.conversation import Ask
from dragoman.conversation.failures import Failure
from dragoman.conversation.replies import Usage
from dragoman.dialects.dialect import AnswerContext, Framing
from dragoman.engine.summary import summary
from dragoman.engine.token_estimate import estimate
from dragoman.gateway.callers import Known
from dragoman.gateway.services import Services
from dragoman.store import Entry
from dragoman.upstream.dispatch import Answer

_encode = msgspec.json.Encoder().encode
_NO_USAGE = Usage()
KEPT = 1 << 20
"""Bytes of a streamed answer that the ledger keeps where it keeps bodies."""
LONGEST_NAME = 200
"""Of a model that a client made up, this much is written down."""
GONE = 499
"""What is noted where the client did not wait for its answer."""


class Question(msgspec.Struct):
    """One request under way, and what is to be written down of it."""

    id: str
    dialect: str
    known: Known
    started: float
    asked: str = ""
    ask: Ask | None = None
    answer: Answer | None = None
    answering: AnswerContext = AnswerContext()
    status: int = 200
    first_byte: float = 0.0
    failure: Failure | None = None
    framing: Framing = Framing.SSE
    said: list[bytes] | None = None
    pieces: int = 0


async def held(pieces: AsyncGenerator[bytes], question: Question) -> AsyncGenerator[bytes]:
    """The pieces of a streamed answer as they pass, the first of them held for the ledger."""
    said = question.said = []
    left = KEPT
    try:
        async for piece in pieces:
            if left > 0:
                said.append(piece[:left])
                left -= len(piece)
            yield piece
    finally:
        await pieces.aclose()


def write_down(services: Services, question: Question) -> None:
    """The request in the ledger, the counts and the log."""
    entry = _entry(services, question)
    services.store.record(entry)
    if services.spans is not None:
        services.spans.add(entry, question.ask.headers if question.ask is not None else {})
    _spend(services, question, entry)
    changes = question.answer.changes if question.answer is not None else ()
    _measure(services, entry, changes)
    level = LogLevel.INFO if question.failure is None else LogLevel.WARNING
    if services.lines.takes(level):
        services.lines.put(_line(level, entry, changes))


def _entry(services: Services, question: Question) -> Entry:
    ask, answer, failure = question.ask, question.answer, question.failure
    now = time.perf_counter()
    destination = answer.destination if answer is not None else None
    adapted = answer.adapted if answer is not None else None
    usage, estimated = _usage(question)
    bodies = services.config.store.keep_bodies
    return Entry(
        id=question.id,
        time=time.time(),
        caller=question.known.name,
        client_dialect=question.dialect,
        upstream_dialect=adapted.dialect if adapted is not None else "",
        asked=question.asked[:LONGEST_NAME],
        target=destination.name if destination is not None else "",
        upstream_model=destination.target.model if destination is not None else "",
        stream=ask.stream if ask is not None else False,
        attempts=answer.attempts if answer is not None else 0,
        changes=_encode(adapted.changes) if adapted is not None and adapted.changes else b"[]",
        lessons=tuple(answer.lessons) if answer is not None else (),
        input_tokens=usage.input,
        output_tokens=usage.output,
        cached_tokens=usage.cached,
        reasoning_tokens=usage.reasoning,
        estimated=estimated,
        ttfb=question.first_byte or None,
        duration=now - question.started,
        overhead_us=_overhead(question, now),
        status=question.status,
        error_kind=failure.kind.value if failure is not None else None,
        error=failure.message if failure is not None else None,
        request=ask.source if bodies and ask is not None else None,
        sent=adapted.body if bodies and adapted is not None else None,
        answer=_said(question) if bodies else None,
    )


def _usage(question: Question) -> tuple[Usage, bool]:
    """What the provider counted, or an estimate where it was not asked to, or not let finish.

    A piece of a stream is a token at least: nobody escapes a limit by leaving before the count is told.
    """
    answer, ask = question.answer, question.ask
    told = answer.translation.usage if answer is not None and answer.translation is not None else None
    if not question.pieces or ask is None or (told is not None and question.failure is None):
        return told or _NO_USAGE, False
    told = told or _NO_USAGE
    counted = {"input": told.input or estimate(ask.source), "output": max(told.output, question.pieces)}
    return msgspec.structs.replace(told, **counted), True


def _said(question: Question) -> bytes | None:
    """The answer's body, of a stream its beginning."""
    if question.said:
        return b"".join(question.said)
    return question.answer.whole if question.answer is not None else None


def _overhead(question: Question, now: float) -> int:
    """Microseconds of ours before the provider was asked."""
    asked_at = question.answer.asked_at if question.answer is not None else 0.0
    return int(((asked_at or now) - question.started) * 1e6)


def _spend(services: Services, question: Question, entry: Entry) -> None:
    """Tokens were estimated when the request was let in; now they are known."""
    client, ask = question.known.client, question.ask
    used = entry.input_tokens + entry.output_tokens
    if client is not None and client.key.tokens_per_minute and used and ask is not None:
        services.store.spend(client.name, used - estimate(ask.source), entry.time)


def _measure(services: Services, entry: Entry, changes: tuple[Change, ...]) -> None:
    metrics = services.metrics
    metrics.request(entry.client_dialect, entry.target, entry.status)
    metrics.used(entry.target, entry.input_tokens, entry.output_tokens)
    metrics.seconds.add(entry.duration)
    metrics.overhead.add(entry.overhead_us)
    if entry.ttfb is not None:
        metrics.first_byte.add(entry.ttfb)
    for change in changes:
        metrics.changed(change.rule)


class _Line(msgspec.Struct, gc=False, rename={"input": "in", "output": "out"}):
    """A request in the log."""

    level: LogLevel
    event: str
    id: str
    key: str
    dialect: str
    upstream: str
    asked: str
    target: str
    attempts: int
    changes: str
    lessons: tuple[str, ...]
    input: int
    output: int
    ttfb_ms: float | None
    ms: float
    overhead_us: int
    status: int
    error: str | None


def _line(level: LogLevel, entry: Entry, changes: tuple[Change, ...]) -> _Line:
    return _Line(
        level,
        "request",
        entry.id,
        entry.caller,
        entry.client_dialect,
        entry.upstream_dialect,
        entry.asked,
        entry.target,
        entry.attempts,
        summary(changes).decode() if changes else "",
        entry.lessons,
        entry.input_tokens,
        entry.output_tokens,
        round(entry.ttfb * 1000, 1) if entry.ttfb else None,
        round(entry.duration * 1000, 1),
        entry.overhead_us,
        entry.status,
        entry.error_kind,
    )
