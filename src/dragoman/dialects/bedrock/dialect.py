"""The dialect `bedrock`: Converse and ConverseStream. The path names the model and asks for a stream."""

from __future__ import annotations

from base64 import b64decode
from collections.abc import Mapping
from functools import lru_cache
from typing import Any
from urllib.parse import quote as escape

import msgspec

from dragoman.conversation.conversation import Conversation
from dragoman.dialects import dialect
from dragoman.dialects.bedrock import NAME
from dragoman.dialects.request_glance import RequestGlance
from dragoman.errors import MalformedRequest
from dragoman.wire.json_reader import split_members

_COUNTED_MEMBERS = ("messages", "system", "toolConfig", "additionalModelRequestFields")


def parse_question(body: bytes) -> bytes:
    """The request that a client wants counted. Raises MalformedRequest if there is none."""
    inner = _inner(body)
    if "converse" not in inner:
        raise MalformedRequest("there is no request to count", at="/input", hint='send {"input":{"converse":…}}')
    return bytes(inner["converse"])


def parse_foreign(body: bytes) -> bytes | None:
    """The body of an InvokeModel request, which is the model's own. Raises MalformedRequest if it is no base64."""
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
    counted = {key: value for key, value in fields.items() if key in _COUNTED_MEMBERS}
    return msgspec.json.encode({"input": {"converse": counted}})


TOKEN_COUNT = dialect.TokenCount(
    "/model/{model}/count-tokens", "inputTokens", render_question, parse_question, parse_foreign
)


_MEMBERS = frozenset(
    {"inferenceConfig", "additionalModelRequestFields", "guardrailConfig", "additionalModelResponseFieldPaths"}
)
_BLOCKS = frozenset({"toolUse", "toolResult", "reasoningContent", "cachePoint", "guardContent", "citationsContent"})


def _recognise(seen: RequestGlance) -> dialect.Likeness:
    """By members that no other dialect has, by a list of tools in `toolConfig`, or by blocks without a type."""
    if seen.has(_MEMBERS) or _has_tools(seen):
        return dialect.Likeness.CERTAIN
    if not seen.blocks or not all(_is_block(block) for block in seen.blocks):
        return dialect.Likeness.NONE
    return dialect.Likeness.HINTED if "model" in seen.members else dialect.Likeness.CERTAIN


def _has_tools(seen: RequestGlance) -> bool:
    settings = seen.decoded("toolConfig")
    return isinstance(settings, dict) and "tools" in settings


def _is_block(block: Any) -> bool:
    """Whether a block has one key: a text alone, or a kind that only Converse has."""
    return isinstance(block, dict) and len(block) == 1 and ("text" in block or not _BLOCKS.isdisjoint(block))


def request_path(options: dialect.RenderOptions, template: str = "") -> str:
    """Where a request is sent. The model's name is one step of the path, whatever letters it has."""
    if template:
        return template.format(model=_escape(options.model))
    return f"/model/{_escape(options.model)}/{'converse-stream' if options.stream else 'converse'}"


@lru_cache(maxsize=256)
def _escape(model: str) -> str:
    return escape(model, safe="")


def _asks_for_reasoning(conversation: Conversation) -> bool:
    thinking = conversation.settings.thinking
    return thinking is not None and thinking.on is not False and thinking.visible is not False


def _event_stream(query: Mapping[str, str]) -> dialect.Framing:
    return dialect.Framing.EVENT_STREAM


_CONTENT = {
    "type": "array",
    "minItems": 1,
    "items": {"type": "object", "properties": {"text": dialect.TEXT}, "required": ["text"]},
}
_TURN = {
    "type": "object",
    "properties": {"role": {"enum": ["user", "assistant"]}, "content": _CONTENT},
    "required": ["role", "content"],
}
_REQUIRED = {"messages": {"type": "array", "minItems": 1, "items": _TURN}}
_COUNTED = {"input": {"type": "object", "properties": {"converse": {"type": "object"}}, "required": ["converse"]}}
_ASYNC = "send the requests one by one, or ask AWS at its own address"

DIALECT = dialect.Dialect(
    name=NAME,
    call_id_prefix="tooluse_",
    title="Bedrock Converse",
    endpoints=(
        *dialect.both_ways(
            "/model/{model}/converse",
            "/model/{model}/converse-stream",
            "Bedrock Converse",
            "streamed in binary frames",
            required=_REQUIRED,
        ),
        dialect.Endpoint(
            dialect.Job.COUNT_TOKENS, "/model/{model}/count-tokens", "Tokens of a Bedrock request", required=_COUNTED
        ),
    ),
    unserved=(dialect.UnservedPath("/async-invoke", _ASYNC, ("GET", "POST")),),
    prefixes=("",),
    request_path=request_path,
    model_in_path=True,
    framing=dialect.Framing.EVENT_STREAM,
    id_header=b"x-amzn-requestid",
    client_framing=_event_stream,
    recognise=_recognise,
    asks_for_reasoning=_asks_for_reasoning,
    hides_unasked=True,
    token_count=TOKEN_COUNT,
    runs_first=True,
    parts=("provider_tools",),
)
