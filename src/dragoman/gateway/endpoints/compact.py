"""A summary in place of a conversation, at a path of its own: by the provider if it has that path, else by a model."""

from __future__ import annotations

from functools import partial

from dragoman.dialects import registry
from dragoman.dialects.contracts.compaction import CompactionWay
from dragoman.gateway.callers.callers import Caller, begin_work
from dragoman.gateway.endpoints.generate import generate
from dragoman.gateway.endpoints.relay import relay
from dragoman.gateway.http.inbound import Inbound, ReadInbound
from dragoman.gateway.http.outbound import Outbound
from dragoman.gateway.services import Services
from dragoman.gateway.state.carried_summaries import read_compaction
from dragoman.gateway.state.stored_answers import replace_ids


async def compact(
    services: Services, inbound: Inbound, outbound: Outbound, caller: Caller, dialect: str, path: str
) -> None:
    body = await inbound.body(services.config.server.max_body, services.config.limits.encodings)
    way = CompactionWay.ENDPOINT
    vendor = registry.dialect(dialect)
    form, stored = vendor.compactions, vendor.stored_answers
    assert form is not None  # the path is one of its dialect
    if stored is not None:
        question = await begin_work(services, caller.name, body).run(partial(stored.parse_question, body, None))
        if question is not None:
            body = await replace_ids(services, caller.name, dialect, body, (stored, question))
    opened, compaction = await read_compaction(services, caller, dialect, body, form, way=way)
    if compaction is None:
        await relay(services, ReadInbound(inbound, opened), outbound, caller, path, client=dialect, form=dialect)
    else:
        await generate(services, ReadInbound(inbound, body), outbound, caller, dialect, way=way)
