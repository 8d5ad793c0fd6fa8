"""A conversation to a model, and its answer back: the hot path."""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from collections.abc import Callable, Mapping

import msgspec

from dragoman.config import Reason
from dragoman.config.schema import LogLevel
from dragoman.conversation.changes import Change, Loss
from dragoman.conversation.conversation import Ask
from dragoman.conversation.failures import Failure, FailureKind
from dragoman.conversation.replies import Usage
from dragoman.dialects.answering import Answering
from dragoman.dialects.registry import requests
from dragoman.engine.adapt import Options, loss_of
from dragoman.engine.spoken import spoken
from dragoman.engine.tokens import estimate
from dragoman.errors import DragomanError, RepairRefused, RequestError, Unrepresentable
from dragoman.gateway import outbound
from dragoman.gateway.callers import Known, Refused, Slot, admit, may_ask
from dragoman.gateway.inbound import BodyTooLarge, Inbound, Send
from dragoman.gateway.services import Services
from dragoman.store import Entry
from dragoman.upstream.destinations import Destination
from dragoman.upstream.dispatch import Answer, Wish

_encode = msgspec.json.Encoder().encode
_REASONS = {
    FailureKind.CONTEXT_LENGTH: Reason.CONTEXT_LENGTH,
    FailureKind.CONTENT_FILTER: Reason.CONTENT_FILTER,
    FailureKind.RATE_LIMIT: Reason.RATE_LIMIT,
}
_WATCH_AFTER = 0.5
"""Seconds after which a waiting request starts to look whether its client is still there."""


class Question(msgspec.Struct):
    """One request under way, and what is to be written down of it."""

    id: str
    dialect: str
    known: Known
    started: float
    asked: str = ""
    ask: Ask | None = None
    answer: Answer | None = None
    answering: Answering = Answering()
    status: int = 200
    first_byte: float = 0.0
    failure: Failure | None = None
    array: bool = False


async def generate(
    services: Services,
    inbound: Inbound,
    send: Send,
    known: Known,
    dialect: str,
    model: str | None = None,
    stream: bool | None = None,
    array: bool = False,
) -> None:
    """Answer one question, whatever happens to it."""
    question = Question(services.request_id(), dialect, known, time.perf_counter(), array=array)
    try:
        with Slot(services, known):
            await _answer(services, inbound, send, question, model, stream)
    except Refused as refused:
        await _refuse(send, question, refused.failure)
    except DragomanError as fault:
        await _refuse(send, question, _as_failure(fault))
    except BodyTooLarge as fault:
        limit = services.config.server.max_body
        await _refuse(
            send, question, Failure(FailureKind.TOO_LARGE, f"the body has {fault} bytes; at most {limit}", 413)
        )
    finally:
        _write_down(services, question)


async def _answer(
    services: Services, inbound: Inbound, send: Send, question: Question, model: str | None, stream: bool | None
) -> None:
    body = await inbound.body(services.config.server.max_body)
    ask = _read(question.dialect, body, inbound.headers, model, stream)
    question.ask = ask
    question.asked = name = ask.model or services.config.default_model or ""
    if not name:
        raise Refused(Failure(FailureKind.BAD_REQUEST, "the request names no model", 400, param="model"))
    may_ask(question.known, name)
    route = services.routes.find(name)
    if not route:
        raise Refused(_unknown_model(name))
    admit(services, question.known, estimate(ask.source) if question.known.client else 0, time.time())
    question.answering = Answering(
        model=name,
        created=int(time.time()),
        id=question.id,
        include_usage=ask.include_usage,
        request=ask.members if question.dialect == "openai-responses" else {},
        array=question.array,
    )
    wish = Wish(
        ask,
        route,
        question.answering,
        _options(services, question.known, route[0], inbound),
        _fallbacks(services, name),
    )
    watch = _Watch(inbound)
    try:
        question.answer = answer = await services.dispatch(question.known.name, question.id, ask).send(wish)
    finally:
        watch.stop()
    if answer.failure is not None:
        await _refuse(send, question, answer.failure)
        return
    question.first_byte = time.perf_counter() - question.started
    if answer.whole is not None:
        await outbound.whole(send, 200, answer.whole, _headers(question))
        return
    await _stream(services, inbound, send, question, answer)


async def _stream(services: Services, inbound: Inbound, send: Send, question: Question, answer: Answer) -> None:
    content_type = outbound.JSON if question.array else outbound.SSE
    patience = services.config.server.write_timeout
    watch = _Watch(inbound, at_once=True)
    pieces = answer.stream()
    try:
        await outbound.streamed(send, pieces, _headers(question), content_type, patience)
    except TimeoutError:
        question.failure = Failure(FailureKind.NETWORK, "the client did not read its answer", 499)
    finally:
        watch.stop()
        await pieces.aclose()  # type: ignore[attr-defined]
        question.failure = question.failure or answer.failure


class _Watch:
    """Cancels the request when its client leaves. A quick answer never pays for it."""

    __slots__ = ("_inbound", "_task", "_timer", "_waiting")

    def __init__(self, inbound: Inbound, at_once: bool = False) -> None:
        self._inbound = inbound
        self._task = asyncio.current_task()
        self._waiting: asyncio.Task[None] | None = None
        self._timer: asyncio.TimerHandle | None = None
        if at_once:
            self._start()
        else:
            self._timer = asyncio.get_running_loop().call_later(_WATCH_AFTER, self._start)

    def _start(self) -> None:
        self._waiting = asyncio.get_running_loop().create_task(self._gone())

    async def _gone(self) -> None:
        while (await self._inbound.receive())["type"] != "http.disconnect":
            pass
        if self._task is not None:
            self._task.cancel("the client has gone")

    def stop(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
        if self._waiting is not None:
            self._waiting.cancel()


def _read(dialect: str, body: bytes, headers: Mapping[str, str], model: str | None, stream: bool | None) -> Ask:
    ask = requests(dialect).parse_request(body, headers=headers)
    if model is None and stream is None:
        return ask
    return msgspec.structs.replace(ask, model=model or ask.model, stream=bool(stream))


def _options(services: Services, known: Known, destination: Destination, inbound: Inbound) -> Options:
    """The configuration's limits; an admin may tighten or loosen them for one request."""
    max_loss = destination.max_loss
    asked = inbound.headers.get("x-dragoman-max-loss")
    if asked is not None and known.caller.admin:
        max_loss = loss_of(asked)
    if max_loss is Loss.CONTENT and destination.synthetic:
        return _ANYTHING
    return Options(max_loss=max_loss, synthetic=destination.synthetic)


_ANYTHING = Options()


def _fallbacks(services: Services, name: str) -> Callable[[Failure], tuple[Destination, ...]]:
    def special(failure: Failure) -> tuple[Destination, ...]:
        reason = _REASONS.get(failure.kind)
        return services.routes.find(name, reason)[1:] if reason is not None else ()

    return special


def _unknown_model(name: str) -> Failure:
    return Failure(FailureKind.NOT_FOUND, f'no model is called "{name}" here', 404, "model_not_found", param="model")


def _as_failure(fault: DragomanError) -> Failure:
    """Our own errors: refused repairs are 422, what cannot be read or said is 400."""
    status = 422 if isinstance(fault, (RepairRefused, Unrepresentable)) else 400
    if not isinstance(fault, RequestError):
        status = 500
    code = fault.rule if isinstance(fault, RepairRefused) else ""
    kind = FailureKind.BAD_REQUEST if status < 500 else FailureKind.SERVER
    return Failure(kind, str(fault), status, code, param=fault.at)


async def _refuse(send: Send, question: Question, failure: Failure) -> None:
    """Tell the client in its own dialect; nothing has been sent before."""
    question.failure = failure
    answering = msgspec.structs.replace(question.answering, id=question.id)
    status, headers, body = spoken(question.dialect).render_error(failure, answering)
    question.status = status
    named = [(name.encode(), value.encode("latin-1", "replace")) for name, value in headers.items()]
    kept = [pair for pair in named if pair[0] not in (b"content-type", b"content-length")]
    await outbound.whole(send, status, body, [*kept, *_headers(question)])


def _headers(question: Question) -> outbound.Headers:
    """Who really answered, and what was changed."""
    headers = [(b"x-dragoman-request-id", question.id.encode())]
    answer = question.answer
    if answer is None or answer.destination is None:
        return headers
    headers.append((b"x-dragoman-model", answer.destination.name.encode("latin-1", "replace")))
    if answer.changes:
        headers.append((b"x-dragoman-changes", summary(answer.changes)))
    return headers


def summary(changes: tuple[Change, ...]) -> bytes:
    """`late-system;n=2, call-id-form;n=1`, at most a kilobyte."""
    counted = Counter(change.rule for change in changes)
    words = ", ".join(f"{rule};n={count}" for rule, count in counted.items())
    return words.encode() if len(words) <= 1024 else words[:1024].rpartition(", ")[0].encode()


def _write_down(services: Services, question: Question) -> None:
    """Ledger, counts and log; none of them waits."""
    answer = question.answer
    now = time.perf_counter()
    duration = now - question.started
    usage = (answer.translation.usage if answer is not None and answer.translation is not None else None) or Usage()
    destination = answer.destination.name if answer is not None and answer.destination is not None else ""
    changes = answer.changes if answer is not None else ()
    failure = question.failure
    entry = Entry(
        id=question.id,
        time=time.time(),
        caller=question.known.name,
        client_dialect=question.dialect,
        upstream_dialect=answer.adapted.dialect if answer is not None and answer.adapted is not None else "",
        asked=question.asked,
        target=destination,
        upstream_model=answer.destination.target.model if answer is not None and answer.destination is not None else "",
        stream=question.ask.stream if question.ask is not None else False,
        attempts=answer.attempts if answer is not None else 0,
        changes=_encode(changes) if changes else b"[]",
        lessons=tuple(answer.lessons) if answer is not None else (),
        input_tokens=usage.input,
        output_tokens=usage.output,
        cached_tokens=usage.cached,
        reasoning_tokens=usage.reasoning,
        ttfb=question.first_byte or None,
        duration=duration,
        overhead_us=_overhead(question, now),
        status=question.status,
        error_kind=failure.kind.value if failure is not None else None,
        error=failure.message if failure is not None else None,
        request=question.ask.source if services.config.store.keep_bodies and question.ask is not None else None,
        sent=answer.adapted.body
        if services.config.store.keep_bodies and answer is not None and answer.adapted is not None
        else None,
        answer=answer.whole if services.config.store.keep_bodies and answer is not None else None,
    )
    services.store.record(entry)
    if question.known.client is not None and question.known.client.key.tokens_per_minute and usage.total:
        guessed = estimate(question.ask.source) if question.ask is not None else 0
        services.store.spend(question.known.name, usage.total - guessed, entry.time)
    metrics = services.metrics
    metrics.request(question.dialect, destination, question.status)
    metrics.used(destination, usage.input, usage.output)
    metrics.seconds.add(duration)
    metrics.overhead.add(entry.overhead_us)
    if question.first_byte:
        metrics.first_byte.add(question.first_byte)
    for change in changes:
        metrics.changed(change.rule)
    services.lines.add(LogLevel.INFO if failure is None else LogLevel.WARNING, _line(entry, changes))


def _overhead(question: Question, now: float) -> int:
    """Microseconds of ours before the provider was asked."""
    answer = question.answer
    if answer is None or not answer.asked_at:
        return int((now - question.started) * 1e6)
    return int((answer.asked_at - question.started) * 1e6)


def _line(entry: Entry, changes: tuple[Change, ...]) -> dict[str, object]:
    return {
        "event": "request",
        "id": entry.id,
        "key": entry.caller,
        "dialect": entry.client_dialect,
        "upstream": entry.upstream_dialect,
        "asked": entry.asked,
        "target": entry.target,
        "attempts": entry.attempts,
        "changes": summary(changes).decode() if changes else "",
        "lessons": entry.lessons,
        "in": entry.input_tokens,
        "out": entry.output_tokens,
        "ttfb_ms": round(entry.ttfb * 1000, 1) if entry.ttfb else None,
        "ms": round(entry.duration * 1000, 1),
        "overhead_us": entry.overhead_us,
        "status": entry.status,
        "error": entry.error_kind,
    }
