"""What the gateway serves, as an OpenAPI document for tools that read one.

Requests of the four dialects are described by what every one of them must have; the rest is the vendors' own to
document, and unknown members are welcome.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import msgspec

from dragoman.gateway.callers import Known
from dragoman.gateway.inbound import Inbound
from dragoman.gateway.outbound import Outbound
from dragoman.gateway.services import Services

_ANY: dict[str, Any] = {"type": "object", "additionalProperties": True}
_TEXT = {"type": "string", "minLength": 1}
_ARRAY: dict[str, Any] = {"type": "array", "items": _ANY}
_ERROR = {"description": "An error in the words of the client's dialect."}
_HEADERS = {
    "x-dragoman-request-id": {"description": "The request's id, for its report.", "schema": {"type": "string"}},
    "x-dragoman-model": {"description": "Who really answered.", "schema": {"type": "string"}},
    "x-dragoman-changes": {"description": "Rules that changed something, with counts.", "schema": {"type": "string"}},
}


def _request(required: dict[str, Any]) -> dict[str, Any]:
    schema = {"type": "object", "properties": required, "required": list(required), "additionalProperties": True}
    return {"required": True, "content": {"application/json": {"schema": schema}}}


def _turns(*roles: str) -> dict[str, Any]:
    turn = {"type": "object", "properties": {"role": {"enum": list(roles)}}, "required": ["role"]}
    return {"type": "array", "minItems": 1, "items": turn}


_PARTS = {
    "type": "array",
    "minItems": 1,
    "items": {"type": "object", "properties": {"text": _TEXT}, "required": ["text"]},
}
_CONTENTS = {
    "type": "array",
    "minItems": 1,
    "items": {
        "type": "object",
        "properties": {"role": {"enum": ["user", "model"]}, "parts": _PARTS},
        "required": ["parts"],
    },
}
_MODEL = {"name": "model", "in": "path", "required": True, "schema": {"type": "string", "pattern": "^[A-Za-z0-9._-]+$"}}
_ID = {"name": "id", "in": "path", "required": True, "schema": {"type": "string", "pattern": "^req_[0-9a-f]+$"}}
_CHAT = _request({"model": _TEXT, "messages": _turns("system", "developer", "user", "assistant", "tool")})
_RESPONSES = _request({"model": _TEXT, "input": _TEXT})
_MESSAGES = _request(
    {"model": _TEXT, "max_tokens": {"type": "integer", "minimum": 1}, "messages": _turns("user", "assistant")}
)
_COUNT = _request({"model": _TEXT, "messages": _turns("user", "assistant")})
_GENERATE = _request({"contents": _CONTENTS})
_DRY_RUN = _request({"request": _ANY, "to": _TEXT})
_EMBEDDINGS = _request({"model": _TEXT, "input": _TEXT})


def _operation(
    says: str,
    *,
    body: dict[str, Any] | None = None,
    sorts: tuple[str, ...] = ("application/json",),
    shape: dict[str, Any] = _ANY,
    **more: Any,
) -> dict[str, Any]:
    answer = {
        "description": "The answer.",
        "headers": _HEADERS,
        "content": {sort: {"schema": shape if sort == "application/json" else {"type": "string"}} for sort in sorts},
    }
    error = {**_ERROR, "content": {"application/json": {"schema": shape}}}
    operation: dict[str, Any] = {"summary": says, "responses": {"200": answer, "4XX": error, "5XX": error}, **more}
    return operation | ({"requestBody": body} if body is not None else {})


_BOTH = ("application/json", "text/event-stream")
_OPEN: dict[str, Any] = {"security": []}


def _paths() -> dict[str, Any]:
    """Every path once; those under `/v1` are served without it too."""
    gemini: dict[str, Any] = {"parameters": [_MODEL], "body": _GENERATE}
    return {
        "/v1/chat/completions": {"post": _operation("OpenAI Chat Completions", body=_CHAT, sorts=_BOTH)},
        "/v1/responses": {"post": _operation("OpenAI Responses", body=_RESPONSES, sorts=_BOTH)},
        "/v1/messages": {"post": _operation("Anthropic Messages", body=_MESSAGES, sorts=_BOTH)},
        "/v1/messages/count_tokens": {"post": _operation("Tokens of Anthropic Messages", body=_COUNT)},
        "/v1beta/models/{model}:generateContent": {"post": _operation("Gemini", **gemini)},
        "/v1beta/models/{model}:streamGenerateContent": {
            "post": _operation("Gemini, streamed; a JSON array without `alt=sse`", sorts=_BOTH, shape=_ARRAY, **gemini)
        },
        "/v1beta/models/{model}:countTokens": {"post": _operation("Tokens of a Gemini request", **gemini)},
        "/v1/embeddings": {"post": _operation("Embeddings, passed on", body=_EMBEDDINGS)},
        "/v1/models": {"get": _operation("Models, in the dialect of who asks")},
        "/v1beta/models": {"get": _operation("Models, in Gemini's dialect")},
        "/dragoman/adapt": {"post": _operation("Compile without sending", body=_DRY_RUN)},
        "/dragoman/requests/{id}": {"get": _operation("The report of a request", parameters=[_ID])},
        "/metrics": {"get": _operation("Counts for Prometheus", sorts=("text/plain",))},
        "/health": {"get": _operation("Alive", **_OPEN)},
        "/ready": {"get": _operation("Ready for traffic", **_OPEN)},
        "/openapi.json": {"get": _operation("This document", **_OPEN)},
    }


@cache
def written() -> bytes:
    """The document."""
    from dragoman import __version__

    keys = {
        "bearer": {"type": "http", "scheme": "bearer"},
        "anthropic": {"type": "apiKey", "in": "header", "name": "x-api-key"},
        "google": {"type": "apiKey", "in": "header", "name": "x-goog-api-key"},
        "query": {"type": "apiKey", "in": "query", "name": "key"},
    }
    return msgspec.json.encode(
        {
            "openapi": "3.1.0",
            "info": {"title": "Dragoman", "version": __version__, "license": {"name": "Apache-2.0"}},
            "paths": _paths(),
            "components": {"securitySchemes": keys},
            "security": [{}, *({name: []} for name in keys)],
        }
    )


async def document(services: Services, inbound: Inbound, outbound: Outbound, known: Known) -> None:
    await outbound.whole(200, written())
