"""The driver of an exchange that is not sent: it stops at the first send and returns what it would be."""

from __future__ import annotations

from dragoman.engine.adapted import Adapted
from dragoman.engine.destination import D
from dragoman.engine.exchange import Exchange
from dragoman.engine.steps import Choose, FetchMedia, GaveUp, Recall, RecallCut, RecallSummary, Send, Step
from dragoman.errors import RequestError


def compile_offline(exchange: Exchange[D]) -> Adapted:
    """What would be sent first where nothing is kept and nothing can be fetched. Raises RequestError."""
    step: Step[D] = exchange.start()
    while not isinstance(step, Send):
        match step:
            case Choose(candidates):
                step = exchange.chosen(candidates[0])
            case Recall():
                step = exchange.recalled({})
            case RecallSummary():
                step = exchange.summary_recalled(None)
            case RecallCut():
                step = exchange.cut_recalled(None)
            case FetchMedia():
                step = exchange.fetched({})
            case GaveUp(failure, fault):
                raise fault or RequestError(failure.message)
            case _:
                raise AssertionError(f"{type(step).__name__} before anything was sent")
    return step.request
