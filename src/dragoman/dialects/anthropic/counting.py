"""Counting tokens: the path, the answer's figure, and the request as the endpoint takes it."""

from __future__ import annotations

import msgspec

PATH = "/v1/messages/count_tokens"
FIGURE = "input_tokens"
_NOT_COUNTED = ("max_tokens", "stream", "metadata", "stop_sequences", "temperature", "top_p", "top_k", "service_tier")


def question(body: bytes) -> bytes:
    """The request that a client wants counted."""
    return body


def countable(body: bytes, model: str) -> bytes:
    """A request without what the counting endpoint does not take."""
    fields = msgspec.json.decode(body, type=dict[str, msgspec.Raw])
    return msgspec.json.encode({key: value for key, value in fields.items() if key not in _NOT_COUNTED})
