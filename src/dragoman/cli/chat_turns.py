"""A conversation that is held inside this process: turns go through the same exchange and dispatch as a client's.

`dragoman chat` drives it. Requests are in Chat's form, without tools. State stays in memory.
"""

from __future__ import annotations

import time
from collections.abc import AsyncGenerator, Callable, Iterator
from typing import Any

import msgspec

from dragoman.conversation.conversation import Ask
from dragoman.conversation.dialect_names import DEFAULT_DIALECT
from dragoman.conversation.failures import Failure, FailureKind
from dragoman.dialects.dialect import AnswerContext
from dragoman.engine.exchange.destination import TargetRoute
from dragoman.engine.exchange.exchange import Exchange
from dragoman.engine.exchange.steps import Answered, AttemptFailed, GaveUp, Streaming, StreamingAll
from dragoman.engine.library.adapt import read
from dragoman.engine.library.report_summary import FoldedChange, fold
from dragoman.engine.tokens.answer_tally import Cost, Spent
from dragoman.errors import DragomanError
from dragoman.gateway.callers.caller import OWNER, Refused
from dragoman.gateway.http.client_errors import as_failure
from dragoman.gateway.models.model_names import find_lead
from dragoman.gateway.models.model_routing import choose_model
from dragoman.gateway.records.recording import find_cost
from dragoman.gateway.services import Services
from dragoman.upstream.destinations import HttpDestination
from dragoman.upstream.dispatch import Dispatch, Dispatcher
from dragoman.wire.sse import SseDecoder


class AttemptNote(msgspec.Struct, frozen=True):
    """A target that was asked without success."""

    target: str
    status: int
    """0 if it did not answer at all."""
    message: str

    def __str__(self) -> str:
        did = f"answered {self.status}" if self.status else "did not answer"
        return f"{self.target} {did}: {self.message}"


class ChangesMade(msgspec.Struct, frozen=True):
    """What became of a request before it was answered."""

    target: str
    """Who answers it."""
    emulated: bool
    """That is an emulator."""
    changes: tuple[FoldedChange, ...]
    """What was changed in it."""
    lessons: tuple[str, ...]
    """What made it acceptable."""


class AnswerPiece(msgspec.Struct, frozen=True):
    """Some text of the answer, or of the reasoning before it."""

    text: str
    reasoning: bool = False


class TurnFailed(msgspec.Struct, frozen=True):
    """No answer, or the end of one that broke off."""

    failure: Failure


class TurnEnded(msgspec.Struct, frozen=True):
    """The answer is complete."""

    spent: Spent
    cost: Cost | None
    seconds: float


TurnEvent = ChangesMade | AnswerPiece | TurnFailed | TurnEnded


class _TurnDelta(msgspec.Struct):
    content: str | None = None
    reasoning_content: str | None = None
    reasoning: str | None = None
    refusal: str | None = None


class _TurnChoice(msgspec.Struct):
    delta: _TurnDelta | None = None
    message: _TurnDelta | None = None


class _TurnChunk(msgspec.Struct):
    choices: list[_TurnChoice] = []


_decode = msgspec.json.Decoder(_TurnChunk).decode


_SILENT = frozenset({FailureKind.NETWORK, FailureKind.TIMEOUT})


def tell_failures(dispatcher: Dispatcher, tell: Callable[[AttemptNote], None]) -> None:
    """Have attempts that fail told at once, besides being written down."""
    note = dispatcher.note_failure

    def note_and_tell(exchange: Exchange[HttpDestination], failed: AttemptFailed[HttpDestination]) -> None:
        note(exchange, failed)
        failure = failed.failure
        status = 0 if failure.kind in _SILENT else failure.status
        tell(AttemptNote(failed.destination.name, status, failure.message))

    dispatcher.note_failure = note_and_tell


async def take_turn(services: Services, model: str, messages: list[dict[str, Any]]) -> AsyncGenerator[TurnEvent]:
    """Ask a model for the next turn. The events of it: what was changed comes before the first text."""
    started = time.perf_counter()
    try:
        ask = read({"model": model, "messages": messages, "stream": True}, source=DEFAULT_DIALECT)
        context = AnswerContext(model=model, id=next(services.traffic.ids), created=int(time.time()))
        route = await find_target(services, model, ask, context.id)
        dispatch = services.dispatcher.open(ask, route, context, OWNER.name)
        exchange = dispatch.exchange
        end = await dispatch.run()
    except (Refused, DragomanError) as fault:
        yield TurnFailed(as_failure(fault))
        return
    if isinstance(end, GaveUp):
        yield TurnFailed(end.failure)
        return
    yield _changes_made(exchange)
    async for piece in _answer_pieces(dispatch, end):
        yield piece
    if exchange.failure is not None:
        yield TurnFailed(exchange.failure)
        return
    spent = exchange.spent()
    yield TurnEnded(spent, find_cost(exchange, spent), time.perf_counter() - started)


async def _answer_pieces(dispatch: Dispatch, end: Answered | Streaming | StreamingAll) -> AsyncGenerator[AnswerPiece]:
    if isinstance(end, Answered):
        for piece in _pieces(end.body):
            yield piece
        return
    decoder, received = SseDecoder(), dispatch.pieces(end)
    try:
        async for data in received:
            for piece in [piece for frame in decoder.feed(data) for piece in _pieces(frame.data)]:
                yield piece
    finally:
        await received.aclose()


async def find_target(services: Services, model: str, ask: Ask, request_id: str) -> TargetRoute[HttpDestination]:
    """Where a name leads; for a route, what it chooses. Raises Refused and DragomanError."""
    lead = find_lead(services, OWNER, model, DEFAULT_DIALECT)
    if lead.candidates is None and lead.route is not None:
        return lead.route
    return (await choose_model(services, OWNER, ask, model, request_id)).route


def _changes_made(exchange: Exchange[HttpDestination]) -> ChangesMade:
    destination = exchange.destination
    assert destination is not None
    lessons = tuple(dict.fromkeys(exchange.lessons))
    return ChangesMade(destination.name, destination.emulated, fold(exchange.changes), lessons)


def _pieces(body: bytes) -> Iterator[AnswerPiece]:
    """The texts of a chunk or of a whole answer. What is none, such as the end marker or an error, has no text."""
    try:
        chunk = _decode(body)
    except msgspec.DecodeError:
        return
    for choice in chunk.choices[:1]:
        delta = choice.delta or choice.message or _TurnDelta()
        if thought := delta.reasoning_content or delta.reasoning:
            yield AnswerPiece(thought, reasoning=True)
        if text := delta.content or delta.refusal:
            yield AnswerPiece(text)
