"""The driver of an exchange that is not sent: it stops at the first send and returns what it would be."""

from __future__ import annotations

from dragoman.conversation.conversation import Ask
from dragoman.dialects.dialect import AnswerContext
from dragoman.engine.compile.compiled_request import CompiledRequest
from dragoman.engine.exchange.caller_options import NOTHING_SET, CallerOptions
from dragoman.engine.exchange.destination import D, TargetRoute
from dragoman.engine.exchange.exchange import Exchange
from dragoman.engine.exchange.steps import NOTHING_RECALLED, Choose, FetchMedia, GaveUp, Recall, Send, Step
from dragoman.errors import RequestError

_NO_CONTEXT = AnswerContext()


def compile_offline(
    ask: Ask, destination: D, context: AnswerContext = _NO_CONTEXT, options: CallerOptions = NOTHING_SET
) -> tuple[Exchange[D], CompiledRequest]:
    """An exchange with one destination as far as its first send, and what would be sent. Raises RequestError."""
    exchange = Exchange(ask, TargetRoute((destination,)), context, options)
    return exchange, first_send(exchange)


def first_send(exchange: Exchange[D]) -> CompiledRequest:
    """What would be sent first if nothing is kept and nothing can be fetched. Raises RequestError."""
    step: Step[D] = exchange.start()
    while not isinstance(step, Send):
        match step:
            case Choose(candidates):
                step = exchange.chosen(candidates[0])
            case Recall():
                step = exchange.recalled(NOTHING_RECALLED)
            case FetchMedia():
                step = exchange.fetched({})
            case GaveUp(failure, fault):
                raise fault or RequestError(failure.message)
            case _:
                raise AssertionError(f"{type(step).__name__} before anything was sent")
    return step.request
