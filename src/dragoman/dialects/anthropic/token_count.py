"""Counting tokens: where to ask, and the request as that endpoint takes it."""

from __future__ import annotations

import msgspec

from dragoman.dialects.dialect import TokenCount

_NOT_COUNTED = ("max_tokens", "stream", "metadata", "stop_sequences", "temperature", "top_p", "top_k", "service_tier")


def parse_question(body: bytes) -> bytes:
    """The request that a client wants counted, which is the question itself."""
    return body


def render_question(body: bytes, model: str) -> bytes:
    """A request without what the counting endpoint does not take."""
    fields = msgspec.json.decode(body, type=dict[str, msgspec.Raw])
    return msgspec.json.encode({key: value for key, value in fields.items() if key not in _NOT_COUNTED})


TOKEN_COUNT = TokenCount("/v1/messages/count_tokens", "input_tokens", parse_question, render_question)
