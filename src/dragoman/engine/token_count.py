"""Counting tokens before a request is sent.

Where the target speaks the client's dialect, its provider counts what would be sent. Otherwise we estimate.
"""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from dragoman.conversation.conversation import Ask
from dragoman.dialects.registry import counting, requests
from dragoman.engine.adapt import Adapted
from dragoman.engine.token_estimate import estimate


class CountRequest(msgspec.Struct, frozen=True):
    """What a provider's counting endpoint is asked."""

    path: str
    headers: Mapping[str, str]
    body: bytes


def parse_count_request(dialect: str, body: bytes, headers: Mapping[str, str], model: str | None = None) -> Ask:
    """The request that a client wants counted. Raises RequestError."""
    ask = requests(dialect).parse_request(counting(dialect).question(body), headers=headers)
    return ask if model is None else msgspec.structs.replace(ask, model=model)


def count_request(request: Adapted) -> CountRequest | None:
    """The question for the provider, or None where it could not answer in the client's dialect."""
    if request.dialect != request.ask.dialect:
        return None
    how, model = counting(request.dialect), request.facts.model
    return CountRequest(how.PATH.format(model=model), request.headers, how.countable(request.body, model))


def estimated_count(ask: Ask) -> bytes:
    """An estimate, as the client's dialect writes a count."""
    return msgspec.json.encode({counting(ask.dialect).FIGURE: estimate(ask.source)})
