"""What the gateway serves, as an OpenAPI document for tools that read one.

Each dialect's requests are described by the members that they must have. The rest is for the vendors to document, and
unknown members are welcome.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import msgspec

from dragoman.conversation.failures import Failure, FailureKind
from dragoman.dialects.dialect import MODEL, PLACEHOLDER, AnswerContext, Dialect, Framing, Job
from dragoman.dialects.registry import ServedPath, all_dialects, served_paths
from dragoman.dialects.request_schema import TEXT
from dragoman.gateway.callers import Known
from dragoman.gateway.inbound import Inbound
from dragoman.gateway.outbound import Outbound
from dragoman.gateway.services import Services
from dragoman.store.ledger import LARGEST_PAGE
from dragoman.store.ledger_views import GROUPS, STATES

_ANY: dict[str, Any] = {"type": "object", "additionalProperties": True}
_ARRAY: dict[str, Any] = {"type": "array", "items": _ANY}
_JSON = "application/json"
_SSE = "text/event-stream"
"""Checkers hold its schema against each event. The form of an event is its dialect's."""
_ERROR = {"description": "An error in the words of the client's dialect."}
_HEADERS = {
    "x-dragoman-request-id": {"description": "The request's id, for its report.", "schema": {"type": "string"}},
    "x-dragoman-model": {"description": "Who really answered.", "schema": {"type": "string"}},
    "x-dragoman-changes": {"description": "Rules that changed something, with counts.", "schema": {"type": "string"}},
}


def _request(required: dict[str, Any]) -> dict[str, Any]:
    schema = {"type": "object", "properties": required, "required": list(required), "additionalProperties": True}
    return {"required": True, "content": {_JSON: {"schema": schema}}}


_MODEL = {"name": "model", "in": "path", "required": True, "schema": {"type": "string", "pattern": "^[A-Za-z0-9._-]+$"}}
_ID = {"name": "id", "in": "path", "required": True, "schema": {"type": "string", "pattern": "^req_[0-9a-f]+$"}}
_TARGET = {"name": "target", "in": "query", "schema": TEXT}
_NAME = {"name": "name", "in": "query", "schema": TEXT}
_BY = {"name": "by", "in": "query", "schema": {"type": "string", "enum": list(GROUPS)}}
_SINCE = {"name": "since", "in": "query", "schema": TEXT}
_FILTERS = [{"name": name, "in": "query", "schema": TEXT} for name in ("key_name", "model", "rule", "after")]
_STATUS = {"name": "status", "in": "query", "schema": {"type": "string", "enum": list(STATES)}}
_LIMIT = {"name": "limit", "in": "query", "schema": {"type": "integer", "minimum": 1, "maximum": LARGEST_PAGE}}
_DRY_RUN = _request({"request": _ANY, "to": TEXT})
_DRY_RUNS = _request({"request": TEXT, "targets": {"type": "array", "items": TEXT}})
_EMBEDDINGS = _request({"model": TEXT, "input": TEXT})
_COMPLETIONS = _request({"model": TEXT, "prompt": TEXT})


def _operation(
    says: str,
    *,
    body: dict[str, Any] | None = None,
    sorts: tuple[str, ...] = (_JSON,),
    shape: dict[str, Any] = _ANY,
    **more: Any,
) -> dict[str, Any]:
    answer = {
        "description": "The answer.",
        "headers": _HEADERS,
        "content": {sort: {"schema": {_JSON: shape, _SSE: _ANY}.get(sort, TEXT)} for sort in sorts},
    }
    error = {**_ERROR, "content": {_JSON: {"schema": shape}}}
    operation: dict[str, Any] = {"summary": says, "responses": {"200": answer, "4XX": error, "5XX": error}, **more}
    return operation | ({"requestBody": body} if body is not None else {})


_BOTH = (_JSON, _SSE)
_OPEN: dict[str, Any] = {"security": []}


def _paths() -> dict[str, Any]:
    """Every path once. Those of a dialect are served below its other prefixes too."""
    return {
        **{served.path: _served(served) for served in served_paths(*Job) if served.is_usual},
        **_unserved(),
        "/v1/embeddings": {"post": _operation("Embeddings, passed on", body=_EMBEDDINGS)},
        "/v1/completions": {"post": _operation("OpenAI's legacy completions", body=_COMPLETIONS, sorts=_BOTH)},
        "/dragoman/adapt": {"post": _operation("Compile without sending", body=_DRY_RUN)},
        "/dragoman/usage": {"get": _operation("What was used and what it cost", parameters=[_BY, _SINCE])},
        "/dragoman/requests": {
            "get": _operation("Requests, newest first", parameters=[*_FILTERS, _TARGET, _STATUS, _SINCE, _LIMIT])
        },
        "/dragoman/requests/{id}": {"get": _operation("The report of a request", parameters=[_ID])},
        "/dragoman/lessons": {
            "get": _operation("What refusals have taught"),
            "delete": _operation("Forget lessons", parameters=[_TARGET, _NAME]),
        },
        "/dragoman/requests/{id}/view": {
            "get": _operation("A request with its bodies, changes, reasons and sends", parameters=[_ID])
        },
        "/dragoman/dry-runs": {"post": _operation("Compile for several targets without sending", body=_DRY_RUNS)},
        "/dragoman/compatibility": {
            "get": _operation(
                "Message patterns and targets", parameters=[{"name": "targets", "in": "query", "schema": TEXT}]
            )
        },
        "/dragoman/models": {"get": _operation("Models and their health")},
        "/dragoman/keys": {"get": _operation("Keys, their limits and budgets")},
        "/dragoman/config": {"get": _operation("The configuration")},
        "/dragoman/callers": {"delete": _operation("Remove everything that is kept for a key", parameters=[_NAME])},
        "/metrics": {"get": _operation("Counts for Prometheus", sorts=("text/plain",))},
        "/health": {"get": _operation("Alive", **_OPEN)},
        "/ready": {"get": _operation("Ready for traffic", **_OPEN)},
        "/openapi.json": {"get": _operation("This document", **_OPEN)},
    }


def _unserved() -> dict[str, Any]:
    """Paths of the vendors' APIs that get a refusal which says what to do."""
    paths: dict[str, Any] = {}
    for one in all_dialects():
        for unserved in one.unserved:
            path, ids = _numbered(one.prefixes[0] + unserved.path)
            more = {"parameters": ids} if ids else {}
            operation = {"summary": f"Not served: {unserved.instead}", "responses": {_refused(one): _ERROR}, **more}
            paths.setdefault(path, {method.lower(): operation for method in unserved.methods})
    return paths


def _refused(one: Dialect) -> str:
    """The status by which a vendor says that it does not serve a path."""
    failure = Failure(FailureKind.NOT_SERVED, "", 501)
    return str(one.answers.render_error(failure, AnswerContext())[0])


def _numbered(path: str) -> tuple[str, list[dict[str, Any]]]:
    """The path with a name of its own for each id, as OpenAPI wants it."""
    names: list[str] = []
    while PLACEHOLDER in path:
        names.append(f"id{len(names) + 1}")
        path = path.replace(PLACEHOLDER, "{" + names[-1] + "}", 1)
    ids = [{"name": name, "in": "path", "required": True, "schema": {"type": "string"}} for name in names]
    return path, [*ids, *([_MODEL] if MODEL in path else [])]


def _served(served: ServedPath) -> dict[str, Any]:
    """A path of a dialect."""
    endpoint = served.endpoint
    more: dict[str, Any] = {"parameters": [_MODEL]} if MODEL in endpoint.path else {}
    if endpoint.required:
        more["body"] = _request(dict(endpoint.required))
    if endpoint.job in (Job.GENERATE, Job.PROMPT) and endpoint.stream is not False:
        more["sorts"] = (_JSON, served.dialect.framing.content_type.partition(";")[0])
    if endpoint.stream and served.dialect.client_framing({}) is Framing.JSON_ARRAY:
        more["shape"] = _ARRAY
    return {endpoint.method.lower(): _operation(endpoint.summary, **more)}


@cache
def written() -> bytes:
    """The document."""
    from dragoman import __version__

    keys = {
        "bearer": {"type": "http", "scheme": "bearer"},
        "x-api-key": {"type": "apiKey", "in": "header", "name": "x-api-key"},
        "x-goog-api-key": {"type": "apiKey", "in": "header", "name": "x-goog-api-key"},
        "api-key": {"type": "apiKey", "in": "header", "name": "api-key"},
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
