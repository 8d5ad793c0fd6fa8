"""Paths of a dialect whose requests and answers have another form than its conversations."""

from __future__ import annotations

from functools import partial

from dragoman.dialects.dialect import RequestAdapter
from dragoman.dialects.shared.parsing import parse_model
from dragoman.errors import MalformedRequest
from dragoman.gateway.callers.callers import Caller, begin_work
from dragoman.gateway.endpoints import models
from dragoman.gateway.endpoints.generate import generate
from dragoman.gateway.endpoints.relay import relay
from dragoman.gateway.http.inbound import Inbound, ReadInbound
from dragoman.gateway.http.outbound import Outbound
from dragoman.gateway.services import Services
from dragoman.wire.json_reader import open_object

EMBEDDINGS = "/embeddings"


class _FormRewriter:
    """The answers to one request, in the form of its path."""

    def __init__(self, form: RequestAdapter) -> None:
        answers = form.answers()
        self.whole, self.piece, self.close = answers.whole, answers.piece, answers.close

    async def settle(self, made: bytes) -> bytes:
        """There is nothing to wait for."""
        return made


async def _body(services: Services, inbound: Inbound) -> bytes:
    return await inbound.body(services.config.server.max_body, services.config.limits.encodings)


async def _adapted(services: Services, inbound: Inbound, caller: Caller, form: RequestAdapter) -> bytes:
    body = await _body(services, inbound)
    return await begin_work(services, caller.name, body).run(partial(form.parse_body, body))


async def prompt(
    services: Services, inbound: Inbound, outbound: Outbound, caller: Caller, dialect: str, form: RequestAdapter
) -> None:
    """One prompt, asked as a conversation."""
    body = await _adapted(services, inbound, caller, form)
    outbound.rewriter = _FormRewriter(form)
    await generate(services, ReadInbound(inbound, body), outbound, caller, dialect)


async def embed(
    services: Services, inbound: Inbound, outbound: Outbound, caller: Caller, dialect: str, form: RequestAdapter
) -> None:
    """Embeddings, passed on to the provider of the model in the form that providers have."""
    body = await _adapted(services, inbound, caller, form)
    outbound.rewriter = _FormRewriter(form)
    await relay(services, ReadInbound(inbound, body), outbound, caller, EMBEDDINGS, dialect)


async def show(services: Services, inbound: Inbound, outbound: Outbound, caller: Caller) -> None:
    """The model that a body names."""
    body = await _body(services, inbound)
    _, members, _ = await begin_work(services, caller.name, body).run(partial(open_object, body))
    name = parse_model(members) or parse_model({"model": members["name"]} if "name" in members else {})
    if not name:
        raise MalformedRequest("model is required", at="/model")
    await models.model(services, inbound, outbound, caller, name)
