"""Paths of a dialect whose requests and answers have another form than its conversations."""

from __future__ import annotations

from functools import partial

from dragoman.dialects.dialect import RequestAdapter
from dragoman.dialects.shared.parsing import parse_model
from dragoman.errors import MalformedRequest
from dragoman.gateway.endpoints import models
from dragoman.gateway.endpoints.generate import generate
from dragoman.gateway.endpoints.relay import relay
from dragoman.gateway.served_request import ServedRequest
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


async def _adapt(request: ServedRequest, form: RequestAdapter) -> ServedRequest:
    """The request as one of the dialect's own; its answers will have the form of its path."""
    body = await request.body()
    asked = await request.work(body).run(partial(form.parse_body, body))
    request.outbound.rewriter = _FormRewriter(form)
    return request.with_body(asked)


async def prompt(request: ServedRequest, dialect: str, form: RequestAdapter) -> None:
    """One prompt, asked as a conversation."""
    await generate(await _adapt(request, form), dialect)


async def embed(request: ServedRequest, dialect: str, form: RequestAdapter) -> None:
    """Embeddings, passed on to the provider of the model in the form that providers have."""
    await relay(await _adapt(request, form), EMBEDDINGS, dialect)


async def show(request: ServedRequest) -> None:
    """The model that a body names."""
    body = await request.body()
    _, members, _ = await request.work(body).run(partial(open_object, body))
    name = parse_model(members) or parse_model({"model": members["name"]} if "name" in members else {})
    if not name:
        raise MalformedRequest("model is required", at="/model")
    await models.model(request, name)
