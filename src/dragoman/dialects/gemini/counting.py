"""Counting tokens: the path, the answer's figure, and the request as the endpoint takes it."""

from __future__ import annotations

import msgspec

from dragoman.conversation.literals import quote

PATH = "/v1beta/models/{model}:countTokens"
FIGURE = "totalTokens"


def question(body: bytes) -> bytes:
    """The request that a client wants counted: bare, or wrapped in `generateContentRequest`."""
    try:
        wire = msgspec.json.decode(body, type=dict[str, msgspec.Raw])
    except msgspec.DecodeError:
        return body
    inner = wire.get("generateContentRequest")
    return bytes(inner) if inner is not None else body


def countable(body: bytes, model: str) -> bytes:
    """A request wrapped: bare, the endpoint takes contents alone."""
    fields = msgspec.json.decode(body, type=dict[str, msgspec.Raw])
    named = {"model": msgspec.Raw(quote(f"models/{model}")), **fields}
    return msgspec.json.encode({"generateContentRequest": named})
