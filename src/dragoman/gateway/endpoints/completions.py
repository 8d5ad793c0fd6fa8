"""OpenAI's legacy `/completions`: passed on to providers that have it for the model, else asked as a conversation."""

from __future__ import annotations

from fnmatch import fnmatchcase
from functools import partial

import msgspec

from dragoman.conversation.dialect_names import DEFAULT_DIALECT
from dragoman.dialects.families.openai_completions import COMPLETIONS_PATH, CompletionAnswers, parse_completion
from dragoman.gateway.callers.caller import Caller
from dragoman.gateway.endpoints.generate import generate
from dragoman.gateway.endpoints.relay import relay
from dragoman.gateway.models.model_names import find_lead
from dragoman.gateway.served_request import ServedRequest
from dragoman.gateway.services import Services
from dragoman.wire.json_reader import split_members


async def complete(request: ServedRequest) -> None:
    body = await request.body()
    work = request.work(body)
    if _is_passed_on(request.services, request.caller, await work.run(partial(_parse_model, body))):
        await relay(request.with_body(body), COMPLETIONS_PATH)
        return
    asked = await work.run(partial(parse_completion, body))
    request.outbound.rewriter = CompletionAnswers(asked.prompt)
    await generate(request.with_body(asked.chat), DEFAULT_DIALECT)


def _parse_model(body: bytes) -> str:
    raw = bytes(split_members(body).get("model", b'""'))
    return msgspec.json.decode(raw, type=str) if raw[:1] == b'"' else ""


def _is_passed_on(services: Services, caller: Caller, name: str) -> bool:
    """Whether the provider of the model has this endpoint for it."""
    lead = find_lead(services, caller, name or services.live.config.default_model or "", DEFAULT_DIALECT)
    if lead.candidates is not None or lead.route is None:
        return False
    target = lead.route.first.target
    return any(fnmatchcase(target.model.lower(), glob) for glob in target.profile.completions)
