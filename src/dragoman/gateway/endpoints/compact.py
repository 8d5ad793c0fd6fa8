"""A summary in place of a conversation, at a path of its own: by the provider if it has that path, else by a model."""

from __future__ import annotations

from functools import partial

from dragoman.dialects import registry
from dragoman.dialects.contracts.compaction import CompactionWay
from dragoman.gateway.endpoints.generate import generate
from dragoman.gateway.endpoints.relay import relay
from dragoman.gateway.served_request import ServedRequest
from dragoman.gateway.state.carried_summaries import read_compaction
from dragoman.gateway.state.stored_answers import replace_ids


async def compact(request: ServedRequest, dialect: str, path: str) -> None:
    services, caller, body = request.services, request.caller, await request.body()
    way = CompactionWay.ENDPOINT
    vendor = registry.dialect(dialect)
    form, stored = vendor.compactions, vendor.stored_answers
    assert form is not None  # the path is one of its dialect
    if stored is not None:
        question = await request.work(body).run(partial(stored.parse_question, body, None))
        if question is not None:
            body = await replace_ids(services, caller.name, dialect, body, question)
    opened, compaction = await read_compaction(services, caller, dialect, body, form, way=way)
    if compaction is None:
        await relay(request.with_body(opened), path, client=dialect, form=dialect)
    else:
        await generate(request.with_body(body), dialect, way=way)
