"""Counting tokens: where to ask, and the request as that endpoint takes it."""

from __future__ import annotations

import msgspec

from dragoman.conversation.literals import quote
from dragoman.dialects.dialect import TokenCount


def parse_question(body: bytes) -> bytes:
    """The request that a client wants counted: bare, or wrapped in `generateContentRequest`."""
    try:
        wire = msgspec.json.decode(body, type=dict[str, msgspec.Raw])
    except msgspec.DecodeError:
        return body
    inner = wire.get("generateContentRequest")
    return bytes(inner) if inner is not None else body


def render_question(body: bytes, model: str) -> bytes:
    """A request, wrapped: without the wrapper the endpoint accepts nothing but contents."""
    fields = msgspec.json.decode(body, type=dict[str, msgspec.Raw])
    named = {"model": msgspec.Raw(quote(f"models/{model}")), **fields}
    return msgspec.json.encode({"generateContentRequest": named})


TOKEN_COUNT = TokenCount("/v1beta/models/{model}:countTokens", "totalTokens", parse_question, render_question)
