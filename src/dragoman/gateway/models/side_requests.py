"""Requests of the gateway's own to a model: for a decision, or for a summary. They are in the ledger like any other."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence
from functools import partial
from typing import Any

import msgspec

from dragoman.conversation.dialect_names import DEFAULT_DIALECT
from dragoman.conversation.failures import Failure, FailureKind
from dragoman.conversation.replies import Stop, Usage
from dragoman.dialects.dialect import AnswerContext
from dragoman.engine.exchange.destination import TargetRoute
from dragoman.engine.exchange.steps import Answered
from dragoman.engine.history.sizes import estimate_reserve
from dragoman.engine.library.adapt import read
from dragoman.gateway.callers.budgets import estimate_cost, hold
from dragoman.gateway.callers.caller import Caller
from dragoman.gateway.records.recording import record_request
from dragoman.gateway.records.request_record import RequestRecord
from dragoman.gateway.services import Services
from dragoman.upstream.auth.caller_credential import CallerCredential
from dragoman.upstream.destinations import HttpDestination, Routes

LONGEST_WORDS = 65_536
"""Characters of an answer that are looked at: a decision or a summary is shorter, and a model may say anything."""


class SideAnswer(msgspec.Struct, frozen=True):
    """What a model answers, why it ended, and the tokens that it took."""

    text: str
    stop: Stop | None
    usage: Usage


class SideRequest(msgspec.Struct, frozen=True):
    """What the gateway asks a model."""

    id: str
    caller: Caller
    """Who pays for it."""
    body: dict[str, Any]
    """A Chat request without its model."""
    seconds: float
    """How long it may take."""
    credential: CallerCredential | None = None
    """The caller's own, for the provider that the caller named."""


async def ask_model(services: Services, models: Sequence[str], asked: SideRequest) -> str | Failure:
    """The text that the first of these models answers, or why all fail. Raises Refused if the caller's budget has no
    room for it."""
    route = _route(services.live.routes, models)
    if route is None:
        return Failure(FailureKind.NOT_FOUND, f"no model is called {models[0]}", 404)
    answer = await ask_route(services, route, models[0], asked)
    return answer.text if isinstance(answer, SideAnswer) else answer


async def ask_route(
    services: Services, route: TargetRoute[HttpDestination], model: str, asked: SideRequest
) -> SideAnswer | Failure:
    """What the first destination that can answers, or why none does. See `ask_model`."""
    ask = read({"model": model, **asked.body}, source=DEFAULT_DIALECT)
    caller, budget = asked.caller, asked.caller.budget
    held = None
    if budget is not None:
        cost = estimate_cost(caller, estimate_reserve(ask.conversation), route)
        held = await hold(services.store.budgets, services.clocks, caller, budget, cost)
    context = AnswerContext(model=model, id=asked.id, created=int(time.time()))
    dispatch = services.dispatcher.open(ask, route, context, caller.name, credential=asked.credential)
    exchange = dispatch.exchange
    record = RequestRecord(asked.id, DEFAULT_DIALECT, caller, time.perf_counter(), context, model, hold=held)
    record.ask, record.exchange, record.dispatch = ask, exchange, dispatch
    try:
        async with asyncio.timeout(asked.seconds):
            end = await dispatch.run()
    except TimeoutError:
        late = Failure(FailureKind.TIMEOUT, f"no answer within {asked.seconds:g} s", 504)
        record.failure = exchange.failure or late
        return record.failure
    finally:
        record.failure = record.failure or exchange.failure
        record.status = (record.failure.status or 502) if record.failure is not None else 200
        record_request(services.records, services.store, services.clocks, record)
    if not isinstance(end, Answered):
        return exchange.failure or Failure(FailureKind.SERVER, "the model did not answer", 502)
    text = await dispatch.work.run(partial(_words, end.body))
    return SideAnswer(text or "", exchange.stop, exchange.spent().usage)


def _route(routes: Routes, models: Sequence[str]) -> TargetRoute[HttpDestination] | None:
    found = [route for name in models if (route := routes.find(name)) is not None]
    return TargetRoute(tuple(dict.fromkeys(route.first for route in found))) if found else None


def _words(body: bytes) -> str | None:
    try:
        text = msgspec.json.decode(body)["choices"][0]["message"]["content"]
    except (msgspec.DecodeError, KeyError, IndexError, TypeError):
        return None
    return text[:LONGEST_WORDS] if isinstance(text, str) else ""
