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
from dragoman.engine.history.sizes import reserved_tokens
from dragoman.engine.library.adapt import read
from dragoman.gateway.callers.budgets import hold_request
from dragoman.gateway.callers.callers import Caller
from dragoman.gateway.records.request_record import RequestRecord, record_request
from dragoman.gateway.services import Services
from dragoman.upstream.auth.caller_credential import CallerCredential
from dragoman.upstream.destinations import HttpDestination

LONGEST_WORDS = 65_536
"""Characters of an answer that are looked at: a decision or a summary is shorter, and a model may say anything."""


class SideAnswer(msgspec.Struct, frozen=True):
    """What a model answer, why it ended, and the tokens that it took."""

    text: str
    stop: Stop | None
    usage: Usage


async def ask_model(
    services: Services,
    caller: Caller,
    models: Sequence[str],
    body: dict[str, Any],
    seconds: float,
    request_id: str,
    *,
    credential: CallerCredential | None = None,
) -> str | None:
    """The text that the first of these models answers; None where all fail, or it takes too long.

    `body` is a Chat request without its model. The caller pays for it: raises Refused where its budget has no room.
    `credential`: the caller's own, for the provider that the caller named.
    """
    route = _route(services, models)
    if route is None:
        return None
    answer = await ask_route(services, caller, route, models[0], body, seconds, request_id, credential=credential)
    return answer.text if isinstance(answer, SideAnswer) else None


async def ask_route(
    services: Services,
    caller: Caller,
    route: TargetRoute[HttpDestination],
    model: str,
    body: dict[str, Any],
    seconds: float,
    request_id: str,
    *,
    credential: CallerCredential | None = None,
) -> SideAnswer | Failure:
    """What the first destination that can answers, or why none does. See `ask_model`."""
    ask = read({"model": model, **body}, source=DEFAULT_DIALECT)
    budget = caller.budget
    held = (
        await hold_request(
            services.store.budgets, services.clocks, caller, budget, reserved_tokens(ask.conversation), route
        )
        if budget is not None
        else None
    )
    context = AnswerContext(model=model, id=request_id, created=int(time.time()))
    dispatch = services.dispatcher.open(ask, route, context, caller.name, credential=credential)
    exchange = dispatch.exchange
    record = RequestRecord(request_id, DEFAULT_DIALECT, caller, time.perf_counter(), context, model, hold=held)
    record.ask, record.exchange, record.dispatch = ask, exchange, dispatch
    try:
        async with asyncio.timeout(seconds):
            end = await dispatch.run()
    except TimeoutError:
        record.failure = Failure(FailureKind.TIMEOUT, f"no answer within {seconds:g} s", 504)
        return record.failure
    finally:
        record.failure = record.failure or exchange.failure
        record.status = (record.failure.status or 502) if record.failure is not None else 200
        record_request(services.records, services.store, services.clocks, record)
    if not isinstance(end, Answered):
        return exchange.failure or Failure(FailureKind.SERVER, "the model did not answer", 502)
    text = await dispatch.work.run(partial(_words, end.body))
    return SideAnswer(text or "", exchange.stop, exchange.spent().usage)


def _route(services: Services, models: Sequence[str]) -> TargetRoute[HttpDestination] | None:
    found = [route for name in models if (route := services.routes.find(name)) is not None]
    return TargetRoute(tuple(dict.fromkeys(route.first for route in found))) if found else None


def _words(body: bytes) -> str | None:
    try:
        text = msgspec.json.decode(body)["choices"][0]["message"]["content"]
    except (msgspec.DecodeError, KeyError, IndexError, TypeError):
        return None
    return text[:LONGEST_WORDS] if isinstance(text, str) else ""
