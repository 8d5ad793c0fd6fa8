"""The dialect `anthropic`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec

from dragoman.conversation.conversation import Conversation
from dragoman.dialects import dialect
from dragoman.dialects.anthropic import ID_PREFIX, NAME
from dragoman.dialects.request_glance import RequestGlance
from dragoman.dialects.shared.raw_json import encode

_CREATED = "2025-01-01T00:00:00Z"
"""The SDK wants a date, and a configured model has none."""


def _show_model(model: dialect.ListedModel) -> dict[str, Any]:
    return {
        "type": "model",
        "id": model.name,
        "display_name": model.description or model.name,
        "created_at": _CREATED,
        "lifecycle": "active",
        "max_input_tokens": model.context_window,
        "max_tokens": model.output_limit,
    }


def _render_models(models: Sequence[dialect.ListedModel], more: bool | None) -> bytes:
    first, last = (models[0].name, models[-1].name) if models else (None, None)
    shown = [_show_model(model) for model in models]
    return encode({"data": shown, "has_more": bool(more), "first_id": first, "last_id": last})


ANTHROPIC_MODELS = dialect.ModelListing(
    _show_model,
    _render_models,
    shows_abilities=True,
    known_words=("claude", "anthropic"),
    alias_prefix="anthropic/via/",
    timeout=0.15,
)


_NOT_COUNTED = ("max_tokens", "stream", "metadata", "stop_sequences", "temperature", "top_p", "top_k", "service_tier")


def render_question(body: bytes, model: str) -> bytes:
    """A request without what the counting endpoint does not take."""
    fields = msgspec.json.decode(body, type=dict[str, msgspec.Raw])
    return msgspec.json.encode({key: value for key, value in fields.items() if key not in _NOT_COUNTED})


TOKEN_COUNT = dialect.TokenCount("/v1/messages/count_tokens", "input_tokens", render_question)


_MEMBERS = frozenset({"system", "anthropic_version", "stop_sequences"})
_BLOCKS = frozenset(
    {"tool_use", "tool_result", "thinking", "redacted_thinking", "image", "document", "server_tool_use"}
)


def _recognise(seen: RequestGlance) -> dialect.Likeness:
    """By members, tools or blocks that Chat does not have. The list of messages has the same name in both."""
    hinted = seen.has(_MEMBERS) or _has_tools(seen) or any(_is_block(block) for block in seen.blocks)
    return dialect.Likeness.HINTED if hinted else dialect.Likeness.NONE


def _asks_for_reasoning(conversation: Conversation) -> bool:
    thinking = conversation.settings.thinking
    return thinking is not None and (thinking.on is True or thinking.adaptive) and thinking.visible is not False


def _has_tools(seen: RequestGlance) -> bool:
    tools = seen.decoded("tools") if seen.mentions("tools", b'"input_schema"') else None
    return isinstance(tools, list) and any(isinstance(tool, dict) and "input_schema" in tool for tool in tools)


def _is_block(block: Any) -> bool:
    return isinstance(block, dict) and isinstance(block.get("type"), str) and block["type"] in _BLOCKS


_COUNTED = {"model": dialect.TEXT, "messages": dialect.turns("user", "assistant")}
_REQUIRED = {
    "model": dialect.TEXT,
    "max_tokens": {"type": "integer", "minimum": 1},
    "messages": dialect.turns("user", "assistant"),
}

_INLINE = "put the file into the request as base64, or ask the provider at its own address"
_UNSERVED = (
    dialect.UnservedPath("/messages/batches", dialect.SEND_NOW, ("GET", "POST")),
    dialect.UnservedPath("/messages/batches/{id}", dialect.SEND_NOW, ("GET", "DELETE")),
    dialect.UnservedPath("/messages/batches/{id}/cancel", dialect.SEND_NOW, ("POST",)),
    dialect.UnservedPath("/messages/batches/{id}/results", dialect.SEND_NOW, ("GET",)),
    dialect.UnservedPath("/files", _INLINE, ("GET", "POST")),
    dialect.UnservedPath("/files/{id}", _INLINE, ("GET", "DELETE")),
    dialect.UnservedPath("/files/{id}/content", _INLINE, ("GET",)),
)

_VERSION = "anthropic_version"
_OF_VERTEX = dialect.CloudMembers(others=(_VERSION,))
_OF_BEDROCK = dialect.CloudMembers(headers={"anthropic_beta": "anthropic-beta"}, others=(_VERSION,))
_VERTEX = "/publishers/anthropic/models/"
_ASKED = {name: schema for name, schema in _REQUIRED.items() if name != "model"}
_ON_VERTEX = (
    dialect.Endpoint(
        dialect.Job.COUNT_TOKENS, f"{_VERTEX}count-tokens:rawPredict", "Tokens, as on Vertex AI", required=_COUNTED
    ),
    *dialect.both_ways(
        _VERTEX + "{model}:rawPredict",
        _VERTEX + "{model}:streamRawPredict",
        "Claude, as on Vertex AI",
        required=_ASKED,
        cloud=_OF_VERTEX,
    ),
)


def _aws_errors() -> dialect.RenderError:
    from dragoman.dialects.families.aws_errors import render_error

    return render_error


_ON_BEDROCK = dialect.both_ways(
    "/model/{model}/invoke",
    "/model/{model}/invoke-with-response-stream",
    "Claude, as on Amazon Bedrock",
    "streamed in binary frames",
    dialect.Framing.EVENT_STREAM,
    required=_ASKED,
    cloud=_OF_BEDROCK,
    load_errors=_aws_errors,
)

DIALECT = dialect.Dialect(
    name=NAME,
    id_prefix=ID_PREFIX,
    call_id_prefix="toolu_",
    title="Anthropic Messages",
    endpoints=(
        dialect.Endpoint(dialect.Job.GENERATE, "/messages", "Anthropic Messages", required=_REQUIRED),
        dialect.Endpoint(
            dialect.Job.COUNT_TOKENS, "/messages/count_tokens", "Tokens of Anthropic Messages", required=_COUNTED
        ),
        *_ON_VERTEX,
        *_ON_BEDROCK,
        *dialect.MODEL_ENDPOINTS,
    ),
    unserved=_UNSERVED,
    prefix_pattern="/anthropic/v1|/v1(?:beta1)?/projects/[^/]+/locations/[^/]+",
    caller_headers=("anthropic-version",),
    request_path=dialect.fixed_path("/v1/messages"),
    headers={"anthropic-version": "2023-06-01"},
    passed_headers=("anthropic-beta", "anthropic-version", "anthropic-user-profile-id"),
    limit_prefixes=("anthropic-ratelimit-",),
    id_header=b"request-id",
    ping=b'event: ping\ndata: {"type": "ping"}\n\n',
    account_headers=("anthropic-workspace-id",),
    asks_for_reasoning=_asks_for_reasoning,
    hides_unasked=True,
    recognise=_recognise,
    token_count=TOKEN_COUNT,
    model_listing=ANTHROPIC_MODELS,
    models_path="/v1/models?limit=1000",
    frame_form=dialect.FrameForm.NAMED,
    runs_first=True,
    pauses=True,
    parts=("compactions", "provider_tools", "stored_answers"),
)
