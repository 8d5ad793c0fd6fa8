"""Summaries of long conversations, made beside the answers, for the turns that follow. No request waits for one."""

from __future__ import annotations

from functools import partial

from dragoman.config.schema import LogLevel
from dragoman.engine.exchange.exchange import Exchange
from dragoman.engine.history.client_choice import forbids_cuts
from dragoman.engine.history.compaction import (
    CompactPolicy,
    CompactTask,
    PrefixSummary,
    parts_of,
    pays,
    question,
    task_for,
)
from dragoman.gateway.callers.callers import Caller, Refused
from dragoman.gateway.models.side_requests import SideRequest, ask_model
from dragoman.gateway.services import Services
from dragoman.upstream.auth.caller_credential import CallerCredential
from dragoman.upstream.destinations import HttpDestination
from dragoman.upstream.dispatch import Dispatch

_CHARACTERS_PER_TOKEN = 8
"""A summary that is longer was not asked for, and would be sent with every turn that follows."""


async def begin_summary(services: Services, caller: Caller, dispatch: Dispatch, policy: CompactPolicy) -> None:
    """Begin a summary, if this conversation has become long enough for one."""
    exchange, credential = dispatch.exchange, dispatch.credential
    if (
        forbids_cuts(exchange.ask.conversation)
        or len(exchange.ask.source) <= policy.above_tokens
        or services.conversations.summaries.breaker.is_open(policy.model)
    ):
        return
    task = await dispatch.work.run(partial(task_for, exchange.ask.conversation, policy, exchange.summary))
    if task is not None and await dispatch.work.run(partial(_pays, services, exchange, task, policy.model)):
        services.conversations.summaries.start(task.key, lambda: _summarise(services, caller, policy, task, credential))


def _pays(services: Services, exchange: Exchange[HttpDestination], task: CompactTask, writer: str) -> bool:
    destination, route = exchange.destination, services.live.routes.find(writer)
    price = destination.price if destination is not None else None
    return pays(task, exchange.ask.conversation, price, route.first.price if route is not None else None)


async def _summarise(
    services: Services, caller: Caller, policy: CompactPolicy, task: CompactTask, credential: CallerCredential | None
) -> None:
    for shrink in range(policy.retries + 1):
        try:
            text = await _summary(services, caller, policy, task, shrink, credential)
        except Refused as refused:  # one caller's empty budget says nothing about the model
            services.records.lines.add(LogLevel.INFO, {"event": "summary", "key": caller.name, "skipped": str(refused)})
            return
        if text:
            services.conversations.summaries.breaker.succeeded(policy.model)
            await services.exchange_state.keep_summary(caller.name, task.key, PrefixSummary(text, task.count))
            return
    services.conversations.summaries.breaker.failed(policy.model)
    line = {"event": "summary", "model": policy.model, "warning": "no summary was made; the history stays whole"}
    services.records.lines.add(LogLevel.WARNING, line)


async def _summary(
    services: Services,
    caller: Caller,
    policy: CompactPolicy,
    task: CompactTask,
    shrink: int,
    credential: CallerCredential | None,
) -> str | None:
    """One summary of all parts, each with the summary of those before it."""
    text: str | None = task.earlier
    for part in parts_of(task.messages, policy, shrink):
        body = question(part, text or "", policy)
        id = f"{next(services.traffic.ids)}-summary"
        text = await ask_model(services, [policy.model], SideRequest(id, caller, body, policy.timeout, credential))
        if not text or text.isspace():
            return None
        text = text[: policy.max_summary_tokens * _CHARACTERS_PER_TOKEN]
    return text
