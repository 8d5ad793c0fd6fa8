"""Counting tokens: where to ask, and the request as that endpoint takes it."""

from __future__ import annotations

from base64 import b64decode

import msgspec

from dragoman.dialects.dialect import TokenCount
from dragoman.errors import MalformedRequest
from dragoman.wire.json_reader import split_members

_COUNTED = ("messages", "system", "toolConfig", "additionalModelRequestFields")


def parse_question(body: bytes) -> bytes:
    """The request that a client wants counted. Raises MalformedRequest where there is none."""
    inner = _inner(body)
    if "converse" not in inner:
        raise MalformedRequest("there is no request to count", at="/input", hint='send {"input":{"converse":…}}')
    return bytes(inner["converse"])


def parse_foreign(body: bytes) -> bytes | None:
    """The body of an InvokeModel request, which is the model's own. Raises MalformedRequest where it is no base64."""
    invoked = _inner(body).get("invokeModel")
    if invoked is None:
        return None
    try:
        return b64decode(msgspec.json.decode(invoked, type=_Invocation).body, validate=True)
    except (msgspec.DecodeError, ValueError):
        raise MalformedRequest("the body is not base64", at="/input/invokeModel/body") from None


class _Invocation(msgspec.Struct):
    body: str


def _inner(body: bytes) -> dict[str, msgspec.Raw]:
    return split_members(bytes(split_members(body).get("input", b"{}")), "/input")


def render_question(body: bytes, model: str) -> bytes:
    """A request without what the counting endpoint does not take."""
    fields = msgspec.json.decode(body, type=dict[str, msgspec.Raw])
    counted = {key: value for key, value in fields.items() if key in _COUNTED}
    return msgspec.json.encode({"input": {"converse": counted}})


TOKEN_COUNT = TokenCount("/model/{model}/count-tokens", "inputTokens", parse_question, render_question, parse_foreign)
