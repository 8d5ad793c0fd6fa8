"""A conversation to a model, and its answer back: the hot path."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Mapping

import msgspec

from dragoman.conversation.changes import Loss
from dragoman.conversation.conversation import Ask
from dragoman.conversation.failures import Failure, FailureKind
from dragoman.dialects import registry
from dragoman.dialects.dialect import AnswerContext, Framing
from dragoman.engine.adapt import loss_of
from dragoman.engine.summary import summary
from dragoman.engine.token_estimate import estimate
from dragoman.errors import DragomanError
from dragoman.gateway.callers import Known, Refused, Slot, admit, may_ask
from dragoman.gateway.client_errors import Unread, as_failure
from dragoman.gateway.client_watch import ClientWatch
from dragoman.gateway.inbound import ClientGone, Inbound
from dragoman.gateway.outbound import Headers, Outbound, header
from dragoman.gateway.request_record import GONE, Question, held, write_down
from dragoman.gateway.services import Services
from dragoman.gateway.shutdown import GOING_AWAY, is_ending
from dragoman.upstream.dispatch import Answer, Wish

MAX_LOSS = "x-dragoman-max-loss"


async def generate(
    services: Services,
    inbound: Inbound,
    outbound: Outbound,
    known: Known,
    dialect: str,
    model: str | None = None,
    stream: bool | None = None,
    framing: Framing = Framing.SSE,
) -> None:
    """Answer one question, whatever happens to it."""
    question = Question(outbound.id, dialect, known, time.perf_counter(), framing=framing)
    question.answering = AnswerContext(id=outbound.id, framing=framing)
    try:
        with Slot(services, known):
            await _asked(services, inbound, outbound, question, model, stream)
    except (Refused, DragomanError, *Unread) as fault:
        await _refuse(outbound, question, as_failure(fault))
    except ClientGone:
        question.status = GONE
        question.failure = question.failure or Failure(FailureKind.NETWORK, "the client has gone", GONE)
        raise
    except BaseException:
        question.status = 500
        raise
    finally:
        write_down(services, question)


async def _asked(
    services: Services,
    inbound: Inbound,
    outbound: Outbound,
    question: Question,
    model: str | None,
    stream: bool | None,
) -> None:
    body = await inbound.body(services.config.server.max_body)
    question.ask = ask = _read(question.dialect, body, inbound.headers, model, stream)
    question.asked = name = ask.model or services.config.default_model or ""
    wish = _wish(services, inbound, question, ask, name)
    presence = ClientWatch(inbound)
    try:
        await _answer(services, outbound, question, wish)
    except asyncio.CancelledError:
        if presence.gone:
            raise ClientGone from None
        if not is_ending(services):
            raise
        await _end(outbound, question)
    finally:
        presence.stop()


def _wish(services: Services, inbound: Inbound, question: Question, ask: Ask, name: str) -> Wish:
    """What is to be sent, once it is known that it may be."""
    known = question.known
    if not name:
        message = "the request names no model, and there is no default; GET /v1/models lists what there is"
        raise Refused(Failure(FailureKind.BAD_REQUEST, message, 400, param="model"))
    may_ask(known, name)
    route = services.routes.find(name)
    if not route:
        raise Refused(unknown_model(name))
    now = time.time()
    if known.client is not None:
        admit(services, known, estimate(ask.source), now)
    question.answering = AnswerContext(
        model=name,
        created=int(now),
        id=question.id,
        include_usage=ask.include_usage,
        request=ask.members,
        framing=question.framing,
    )
    return Wish(ask, route, question.answering, known.name, _max_loss(known, inbound))


async def _answer(services: Services, outbound: Outbound, question: Question, wish: Wish) -> None:
    question.answer = answer = await services.dispatch.send(wish)
    if answer.failure is not None:
        await _refuse(outbound, question, _sized(answer.failure, answer, wish.ask))
        return
    question.first_byte = time.perf_counter() - question.started
    if answer.whole is not None:
        await outbound.whole(200, answer.whole, _headers(question))
        return
    await _stream(services, outbound, question, answer)


async def _stream(services: Services, outbound: Outbound, question: Question, answer: Answer) -> None:
    pieces = answer.stream()
    if services.config.store.keep_bodies:
        pieces = held(pieces, question)
    patience = services.config.server.write_timeout
    try:
        await outbound.streamed(pieces, _headers(question), question.framing.content_type.encode(), patience)
    except TimeoutError:
        question.failure = Failure(FailureKind.NETWORK, "the client did not read its answer", GONE)
        raise ClientGone from None
    finally:
        await pieces.aclose()
        question.pieces = outbound.pieces
        question.failure = question.failure or answer.failure


async def _end(outbound: Outbound, question: Question) -> None:
    """The gateway goes down under a request: its client is told, in the middle of a stream too."""
    if not outbound.started or question.answer is None:
        await _refuse(outbound, question, GOING_AWAY)
        return
    question.failure = GOING_AWAY
    await outbound.end(question.answer.cut(GOING_AWAY))


def _read(dialect: str, body: bytes, headers: Mapping[str, str], model: str | None, stream: bool | None) -> Ask:
    ask = registry.dialect(dialect).requests.parse(body, headers=headers)
    if model is None and stream is None:
        return ask
    return msgspec.structs.replace(ask, model=model or ask.model, stream=bool(stream))


def _max_loss(known: Known, inbound: Inbound) -> Loss | None:
    """The configuration's limit; an admin may set another for one request."""
    asked = inbound.headers.get(MAX_LOSS)
    return loss_of(asked) if asked is not None and known.admin else None


def unknown_model(name: str) -> Failure:
    message = f'no model is called "{name[:200]}" here; GET /v1/models lists those that are'
    return Failure(FailureKind.NOT_FOUND, message, 404, "model_not_found", param="model")


def _sized(failure: Failure, answer: Answer, ask: Ask) -> Failure:
    """Agents compact by the numbers of a conversation that is too long: ours where the provider gave none, so told."""
    if failure.kind is not FailureKind.CONTEXT_LENGTH or (failure.tokens and failure.limit):
        return failure
    limit = failure.limit or (answer.destination.target.facts.context_window if answer.destination is not None else 0)
    if not limit:
        return failure
    tokens = failure.tokens or max(estimate(ask.source), limit + 1)
    message = f"{failure.message} [dragoman: the number of tokens is an estimate]"
    return msgspec.structs.replace(failure, message=message, tokens=tokens, limit=limit)


async def _refuse(outbound: Outbound, question: Question, failure: Failure) -> None:
    """Tell the client in its own dialect; nothing has been sent before."""
    question.failure = failure
    await outbound.refusal(question.dialect, failure, _headers(question), question.answering)
    question.status = outbound.status


def _headers(question: Question) -> Headers:
    """Who really answered, and what was changed."""
    answer = question.answer
    if answer is None or answer.destination is None:
        return []
    headers = [header(b"x-dragoman-model", answer.destination.name)]
    if answer.changes:
        headers.append((b"x-dragoman-changes", summary(answer.changes)))
    return headers
