"""Counting tokens: where to ask, and the request as that endpoint takes it."""

from __future__ import annotations

import msgspec

from dragoman.dialects.dialect import TokenCount
from dragoman.errors import MalformedRequest
from dragoman.wire.json_reader import split_members

_COUNTED = ("messages", "system", "toolConfig", "additionalModelRequestFields")


def parse_question(body: bytes) -> bytes:
    """The request that a client wants counted. Raises MalformedRequest where it is none of Converse's."""
    inner = split_members(bytes(split_members(body).get("input", b"{}")), "/input")
    if "converse" not in inner:
        raise MalformedRequest("only Converse requests are counted", at="/input", hint='send {"input":{"converse":…}}')
    return bytes(inner["converse"])


def render_question(body: bytes, model: str) -> bytes:
    """A request without what the counting endpoint does not take."""
    fields = msgspec.json.decode(body, type=dict[str, msgspec.Raw])
    counted = {key: value for key, value in fields.items() if key in _COUNTED}
    return msgspec.json.encode({"input": {"converse": counted}})


TOKEN_COUNT = TokenCount("/model/{model}/count-tokens", "inputTokens", parse_question, render_question)
