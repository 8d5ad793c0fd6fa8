"""Counting tokens before a request is sent.

Where the target speaks the client's dialect, its provider counts what would be sent. Otherwise we estimate.
"""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from dragoman.conversation.conversation import Ask
from dragoman.dialects import registry
from dragoman.engine.adapt import Adapted
from dragoman.engine.request_limits import DEFAULT_LIMITS, RequestLimits, check_body, parse_ask
from dragoman.engine.token_estimate import estimate_request


class CountRequest(msgspec.Struct, frozen=True):
    """What a provider's counting endpoint is asked."""

    path: str
    headers: Mapping[str, str]
    body: bytes


def parse_count_request(
    dialect: str,
    body: bytes,
    headers: Mapping[str, str],
    model: str | None = None,
    limits: RequestLimits = DEFAULT_LIMITS,
) -> Ask:
    """The request that a client wants counted. Raises RequestError."""
    check_body(body, limits)
    ask = parse_ask(dialect, registry.token_count(dialect).parse_question(body), headers, limits)
    return ask if model is None else msgspec.structs.replace(ask, model=model)


def count_request(request: Adapted) -> CountRequest | None:
    """The question for the provider, or None where it could not answer in the client's dialect."""
    if request.dialect != request.ask.dialect:
        return None
    counting, model = registry.token_count(request.dialect), request.facts.model
    return CountRequest(
        counting.path.format(model=model), request.headers, counting.render_question(request.body, model)
    )


def estimated_count(ask: Ask) -> bytes:
    """An estimate, as the client's dialect writes a count."""
    return msgspec.json.encode(
        {registry.token_count(ask.dialect).figure: estimate_request(ask.conversation, ask.model or "")}
    )
