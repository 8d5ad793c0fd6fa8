"""What the gateway serves, as an OpenAPI document for tools that read one.

Each dialect's requests are described by the members that they must have. The rest is for the vendors to document, and
unknown members are welcome.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import msgspec

from dragoman.conversation.failures import Failure, FailureKind
from dragoman.dialects.dialect import MODEL, PLACEHOLDER, TEXT, AnswerContext, Dialect
from dragoman.dialects.registry import list_dialects
from dragoman.engine.library.report_summary import ADDED_HEADER, CHANGES_HEADER, ID_HEADER, MODEL_HEADER
from dragoman.gateway.routes import ANY_OBJECT, JSON_TYPE, ROUTES, SSE_TYPE, Access, ServedRoute
from dragoman.gateway.served_request import ServedRequest
from dragoman.store.contracts.ledger import LARGEST_PAGE
from dragoman.store.ledger_views import GROUPS, STATES

_ARRAY: dict[str, Any] = {"type": "array", "items": ANY_OBJECT}
_ERROR = {"description": "An error in the words of the client's dialect."}
_HEADERS = {
    name.decode(): {"description": what, "schema": {"type": "string"}}
    for name, what in (
        (ID_HEADER, "The request's id, for its report."),
        (MODEL_HEADER, "Who really answered."),
        (CHANGES_HEADER, "Rules that changed something, with counts."),
        (ADDED_HEADER, "What Dragoman added of its own, with counts."),
    )
}


_KEPT = {"200": {"description": "The answer."}, "4XX": _ERROR, "5XX": _ERROR}


def _request(required: dict[str, Any]) -> dict[str, Any]:
    schema = {"type": "object", "properties": required, "required": list(required), "additionalProperties": True}
    return {"required": True, "content": {JSON_TYPE: {"schema": schema}}}


_MODEL = {"name": "model", "in": "path", "required": True, "schema": {"type": "string", "pattern": "^[A-Za-z0-9._-]+$"}}
_ID = {"name": "id", "in": "path", "required": True, "schema": {"type": "string", "pattern": "^req_[0-9a-f]+$"}}
_CHOICES: dict[str, Any] = {
    "by": {"type": "string", "enum": list(GROUPS)},
    "status": {"type": "string", "enum": list(STATES)},
    "limit": {"type": "integer", "minimum": 1, "maximum": LARGEST_PAGE},
}
"""The schemas of parameters in the query that are not any text."""


def _operation(route: ServedRoute) -> dict[str, Any]:
    """The description of a route. Checkers hold the schema of a stream against each event; the form of an event is its
    dialect's."""
    shape = _ARRAY if route.is_array else ANY_OBJECT
    schemas = {JSON_TYPE: shape, SSE_TYPE: ANY_OBJECT}
    answer = {
        "description": "The answer.",
        "headers": _HEADERS,
        "content": {one: {"schema": schemas.get(one, TEXT)} for one in route.answers},
    }
    error = {**_ERROR, "content": {JSON_TYPE: {"schema": shape}}}
    operation: dict[str, Any] = {"summary": route.says, "responses": {"200": answer, "4XX": error, "5XX": error}}
    if parameters := [*_in_path(route.path), *map(_in_query, route.query)]:
        operation["parameters"] = parameters
    if route.required is not None:
        operation["requestBody"] = _request(dict(route.required))
    return operation | ({"security": []} if route.access is Access.OPEN else {})


def _in_path(path: str) -> list[dict[str, Any]]:
    return [_MODEL] * (MODEL in path) + [_ID] * (PLACEHOLDER in path)


def _in_query(name: str) -> dict[str, Any]:
    return {"name": name, "in": "query", "schema": _CHOICES.get(name, TEXT)}


def _paths() -> dict[str, Any]:
    """Every path once. Those of a dialect are served below its other prefixes too."""
    paths: dict[str, Any] = {}
    for route in ROUTES:
        if route.is_public:
            paths.setdefault(route.path, {}).setdefault(route.method.lower(), _operation(route))
    return {**describe_unserved(), **paths}


def describe_unserved() -> dict[str, Any]:
    """Paths of the vendors' APIs that get a refusal which says what to do; some of them only while `state` is off."""
    paths: dict[str, Any] = {}
    for one in list_dialects():
        kept = _find_kept(one)
        for unserved in one.unserved:
            path, ids = _number_ids(one.prefixes[0] + unserved.path)
            more = {"parameters": ids} if ids else {}
            says, answers = f"Not served: {unserved.instead}", {_find_refusal(one): _ERROR}
            if unserved.path in kept:
                says, answers = "Of what is kept here; not served while `state` is off", _KEPT
            operation = {"summary": says, "responses": answers, **more}
            paths.setdefault(path, {method.lower(): operation for method in unserved.methods})
    return paths


def _find_kept(one: Dialect) -> set[str]:
    """The paths of a vendor's API for answers and conversations that are kept here."""
    stored, background, form = one.stored_answers, one.background, one.conversations
    paths = {stored.path, stored.items_path} if stored is not None else set()
    paths |= {background.cancel_path} if background is not None else set()
    return paths | ({form.new_path, form.path, form.items_path, form.item_path} if form is not None else set())


def _find_refusal(one: Dialect) -> str:
    """The status by which a vendor says that it does not serve a path."""
    failure = Failure(FailureKind.NOT_SERVED, "", 501)
    return str(one.answers.render_error(failure, AnswerContext())[0])


def _number_ids(path: str) -> tuple[str, list[dict[str, Any]]]:
    """The path with a name of its own for each id, as OpenAPI wants it."""
    names: list[str] = []
    while PLACEHOLDER in path:
        names.append(f"id{len(names) + 1}")
        path = path.replace(PLACEHOLDER, "{" + names[-1] + "}", 1)
    ids = [{"name": name, "in": "path", "required": True, "schema": {"type": "string"}} for name in names]
    return path, [*ids, *([_MODEL] if MODEL in path else [])]


@cache
def write_document() -> bytes:
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


async def document(request: ServedRequest) -> None:
    await request.outbound.whole(200, write_document())
