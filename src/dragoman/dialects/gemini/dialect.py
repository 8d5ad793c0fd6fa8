"""The dialect `gemini`. The path names the model and asks for a stream; the query chooses the stream's framing."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any
from urllib.parse import quote as escape

import msgspec

from dragoman.conversation.conversation import Conversation
from dragoman.conversation.literals import quote
from dragoman.dialects import dialect
from dragoman.dialects.gemini import NAME
from dragoman.dialects.request_glance import RequestGlance
from dragoman.dialects.shared.raw_json import encode

_METHODS = ("generateContent", "streamGenerateContent", "countTokens")


def _show_model(model: dialect.ListedModel) -> dict[str, Any]:
    shown = {
        "name": f"models/{model.name}",
        "displayName": model.description or model.name,
        "supportedGenerationMethods": _METHODS,
    }
    limits = {"inputTokenLimit": model.context_window, "outputTokenLimit": model.output_limit}
    return shown | {name: limit for name, limit in limits.items() if limit}


def _render_models(models: Sequence[dialect.ListedModel], more: bool | None) -> bytes:
    token = {"nextPageToken": models[-1].name} if more and models else {}
    return encode({"models": [_show_model(model) for model in models], **token})


GEMINI_MODELS = dialect.ModelListing(_show_model, _render_models, shows_abilities=True)


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


TOKEN_COUNT = dialect.TokenCount("/v1beta/models/{model}:countTokens", "totalTokens", render_question, parse_question)


_PATH = "/v1beta/models/"


def _recognise(seen: RequestGlance) -> dialect.Likeness:
    return dialect.Likeness.CERTAIN if "contents" in seen.members else dialect.Likeness.NONE


def request_path(options: dialect.RenderOptions, template: str = "") -> str:
    """Where a request is sent. The path names the model and asks for a stream."""
    method = "streamGenerateContent?alt=sse" if options.stream else "generateContent"
    if template:
        return template.format(model=options.model, method=method)
    return f"{_PATH}{_escape(options.model)}:{method}"


@lru_cache(maxsize=256)
def _escape(model: str) -> str:
    return escape(model.removeprefix("models/"), safe="/@:._-")


def _asks_for_reasoning(conversation: Conversation) -> bool:
    thinking = conversation.settings.thinking
    return thinking is not None and thinking.visible is True


def _choose_framing(query: Mapping[str, str]) -> dialect.Framing:
    return dialect.Framing.SSE if query.get("alt") == "sse" else dialect.Framing.JSON_ARRAY


_PARTS = {
    "type": "array",
    "minItems": 1,
    "items": {"type": "object", "properties": {"text": dialect.TEXT}, "required": ["text"]},
}
_CONTENT = {
    "type": "object",
    "properties": {"role": {"enum": ["user", "model"]}, "parts": _PARTS},
    "required": ["parts"],
}
_REQUIRED = {"contents": {"type": "array", "minItems": 1, "items": _CONTENT}}

_INLINE = "put the file into the request as `inlineData`, or ask the provider at its own address"
_UNCACHED = "send the whole content with every request; providers cache a prompt that begins the same by themselves"
_GENERATE = "use generateContent (`client.models.generate_content`, `client.chats`), which every model here answers"
_EMBED = "POST /v1/embeddings with `model` and `input` is passed on to the provider of the model"
_UNSERVED = (
    dialect.UnservedPath("/models/{model}:batchGenerateContent", dialect.SEND_NOW, ("POST",)),
    dialect.UnservedPath("/models/{model}:embedContent", _EMBED, ("POST",)),
    dialect.UnservedPath("/models/{model}:batchEmbedContents", _EMBED, ("POST",)),
    dialect.UnservedPath("/cachedContents", _UNCACHED, ("GET", "POST")),
    dialect.UnservedPath("/cachedContents/{id}", _UNCACHED, ("GET", "PATCH", "DELETE")),
    dialect.UnservedPath("/batches", dialect.SEND_NOW, ("GET",)),
    dialect.UnservedPath("/batches/{id}", dialect.SEND_NOW, ("GET", "POST", "DELETE")),
    dialect.UnservedPath("/files", _INLINE, ("GET", "POST")),
    dialect.UnservedPath("/files/{id}", _INLINE, ("GET", "DELETE")),
    dialect.UnservedPath("/upload/{id}/files", _INLINE, ("POST",)),
    dialect.UnservedPath("/fileSearchStores", dialect.AT_PROVIDER, ("GET", "POST")),
    dialect.UnservedPath("/fileSearchStores/{id}", dialect.AT_PROVIDER, ("GET", "DELETE")),
    dialect.UnservedPath("/interactions", _GENERATE, ("POST",)),
    dialect.UnservedPath("/interactions/{id}", _GENERATE, ("GET", "DELETE")),
    dialect.UnservedPath("/interactions/{id}/cancel", _GENERATE, ("POST",)),
)

_VERTEX = "/publishers/google/models/{model}"
_ON_VERTEX = (
    *dialect.both_ways(
        f"{_VERTEX}:generateContent",
        f"{_VERTEX}:streamGenerateContent",
        "Gemini, as on Vertex AI",
        required=_REQUIRED,
    ),
    dialect.Endpoint(dialect.Job.COUNT_TOKENS, f"{_VERTEX}:countTokens", "Tokens, as on Vertex AI", required=_REQUIRED),
)

DIALECT = dialect.Dialect(
    name=NAME,
    title="Gemini generateContent",
    list_name="contents",
    endpoints=(
        *dialect.both_ways(
            "/models/{model}:generateContent",
            "/models/{model}:streamGenerateContent",
            "Gemini",
            "streamed; a JSON array without `alt=sse`",
            required=_REQUIRED,
        ),
        dialect.Endpoint(
            dialect.Job.COUNT_TOKENS, "/models/{model}:countTokens", "Tokens of a Gemini request", required=_REQUIRED
        ),
        *_ON_VERTEX,
        *dialect.MODEL_ENDPOINTS,
    ),
    unserved=_UNSERVED,
    prefixes=("/v1beta", "/v1alpha", "/v1", "/v1beta1", ""),
    prefix_pattern="/v1(?:beta1)?/projects/[^/]+/locations/[^/]+",
    caller_prefixes=("/v1beta/", "/v1alpha/"),
    caller_headers=("x-goog-api-key",),
    request_path=request_path,
    model_in_path=True,
    client_framing=_choose_framing,
    recognise=_recognise,
    optional_ids=True,
    asks_for_reasoning=_asks_for_reasoning,
    hides_unasked=True,
    token_count=TOKEN_COUNT,
    model_listing=GEMINI_MODELS,
    models_path="/v1beta/models?pageSize=1000",
    frame_form=dialect.FrameForm.DATA_ALONE,
    runs_last=True,
    parts=("provider_tools", "stored_prompts"),
)
