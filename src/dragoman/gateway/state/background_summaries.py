"""Summaries of long conversations, made beside the answers, for the turns that follow. No request waits for one."""

from __future__ import annotations

from functools import partial

import msgspec

from dragoman.config.schema.log import LogLevel
from dragoman.conversation.failures import Failure
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
from dragoman.gateway.callers.caller import Caller, Refused
from dragoman.gateway.models.side_requests import SideRequest, ask_model
from dragoman.gateway.services import Services
from dragoman.upstream.auth.caller_credential import CallerCredential
from dragoman.upstream.destinations import HttpDestination
from dragoman.upstream.dispatch import Dispatch

_CHARACTERS_PER_TOKEN = 8
"""A summary that is longer was not asked for, and would be sent with every turn that follows."""


class _SummaryJob(msgspec.Struct, frozen=True):
    """A summary that is to be made: of what, how, and for whom."""

    task: CompactTask
    policy: CompactPolicy
    caller: Caller
    credential: CallerCredential | None
    """With which the provider is asked, if the caller brought one."""
    request_id: str
    """Of the request beside which it is made."""


async def begin_summary(services: Services, caller: Caller, dispatch: Dispatch, policy: CompactPolicy) -> None:
    """Begin a summary, if this conversation has become long enough for one."""
    exchange = dispatch.exchange
    if (
        forbids_cuts(exchange.ask.conversation)
        or len(exchange.ask.source) <= policy.above_tokens
        or services.conversations.summaries.breaker.is_open(policy.model)
    ):
        return
    task = await dispatch.work.run(partial(task_for, exchange.ask.conversation, policy, exchange.visit.summary))
    if task is not None and await dispatch.work.run(partial(_pays, services, exchange, task, policy.model)):
        job = _SummaryJob(task, policy, caller, dispatch.credential, exchange.context.id)
        services.conversations.summaries.start(task.key, lambda: _summarise(services, job))


def _pays(services: Services, exchange: Exchange[HttpDestination], task: CompactTask, writer: str) -> bool:
    destination, route = exchange.destination, services.live.routes.find(writer)
    price = destination.price if destination is not None else None
    return pays(task, exchange.ask.conversation, price, route.first.price if route is not None else None)


async def _summarise(services: Services, job: _SummaryJob) -> None:
    task, policy, caller = job.task, job.policy, job.caller
    for shrink in range(policy.retries + 1):
        try:
            text = await _summary(services, job, shrink)
        except Refused as refused:  # one caller's empty budget says nothing about the model
            skipped = {"event": "summary", "id": job.request_id, "key": caller.name, "skipped": str(refused)}
            services.records.lines.add(LogLevel.INFO, skipped)
            return
        if text:
            services.conversations.summaries.breaker.succeeded(policy.model)
            await services.exchange_state.keep_summary(caller.name, task.key, PrefixSummary(text, task.count))
            return
    services.conversations.summaries.breaker.failed(policy.model)
    warning = "no summary was made; the history stays whole"
    line = {"event": "summary", "id": job.request_id, "key": caller.name, "model": policy.model}
    services.records.lines.add(LogLevel.WARNING, {**line, "failed": True, "warning": warning})


async def _summary(services: Services, job: _SummaryJob, shrink: int) -> str | None:
    """One summary of all parts, each with the summary of those before it."""
    policy, text = job.policy, job.task.earlier
    for part in parts_of(job.task.messages, policy, shrink):
        body = question(part, text or "", policy)
        id = f"{next(services.traffic.ids)}-summary"
        asked = SideRequest(id, job.caller, body, policy.timeout, job.credential)
        written = await ask_model(services, [policy.model], asked)
        if isinstance(written, Failure) or not written or written.isspace():
            return None
        text = written[: policy.max_summary_tokens * _CHARACTERS_PER_TOKEN]
    return text
