"""Everything that the gateway serves, in one list: method, path, endpoint, and who may call it.

Requests are dispatched by this list. The OpenAPI document, the page of routes in the reference and the tests of
permissions are made of it.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping
from enum import StrEnum
from functools import partial
from importlib import import_module
from typing import Any

import msgspec
from msgspec.structs import replace

from dragoman.conversation.dialect_names import DEFAULT_DIALECT
from dragoman.dialects.dialect import MODEL, TEXT, Framing, Job
from dragoman.dialects.families.openai_completions import COMPLETIONS_PATH
from dragoman.dialects.families.openai_endpoints import FORWARDED_PATHS
from dragoman.dialects.registry import ServedPath, list_served_paths
from dragoman.gateway.endpoints import (
    compact,
    completions,
    count_tokens,
    generate,
    introspection,
    ledger,
    model_health,
    models,
    other_forms,
    relay,
    turn_sockets,
)
from dragoman.gateway.served_request import ServedRequest

Endpoint = Callable[..., Awaitable[None]]
"""It gets the request, and by name what the braces in its path stand for."""

JSON_TYPE = "application/json"
SSE_TYPE = "text/event-stream"
ANY_OBJECT: Mapping[str, Any] = {"type": "object", "additionalProperties": True}


class Access(StrEnum):
    """Who may call a path. The names of keys that it takes, and their limits, are checked too."""

    OPEN = "open"
    """Everybody."""
    KEY = "key"
    """Every key. Without keys: everybody who can reach the gateway, but no page of another site."""
    ADMIN = "admin"
    """Admin keys, and keys that are made for this path: it stands in `allowed_endpoints`. Without keys: as `key`."""


class ServedRoute(msgspec.Struct, frozen=True):
    """One method of one path."""

    method: str
    """`GET` answers `HEAD` too."""
    path: str
    """A word in braces stands for one step of the path; `{model}` may be several."""
    endpoint: Endpoint
    access: Access
    says: str = ""
    """What it does, for the reference. Another spelling of a path says nothing."""
    dialect: str = ""
    """Errors are told in it. Empty: in the one that the caller seems to speak."""
    is_console: bool = False
    """It belongs to the console: a browser may change something there from the console's own page only."""
    is_public: bool = True
    """It is in the OpenAPI document. The others are for the console's page, or are described by their vendors."""
    query: tuple[str, ...] = ()
    required: Mapping[str, Any] | None = None
    """The members without which a body is no request, each with its JSON Schema. None: there is no body."""
    answers: tuple[str, ...] = (JSON_TYPE,)
    """Content types of its answers."""
    is_array: bool = False
    """Its JSON is an array."""

    @property
    def is_for_own_page(self) -> bool:
        return self.is_console and self.method != "GET"


def load(place: str) -> Endpoint:
    """The endpoint at `module:function`, which is imported with the first request for it."""
    module, _, name = place.partition(":")

    async def call(request: ServedRequest, **given: str) -> None:
        endpoint: Endpoint = getattr(import_module(f"dragoman.gateway.{module}"), name)
        await endpoint(request, **given)

    return call


def _console(method: str, path: str, name: str, access: Access, says: str, **more: Any) -> ServedRoute:
    """A route of the console, by the name of its endpoint. It is for the page alone, unless it says otherwise."""
    endpoint = load(f"console.endpoints:{name}")
    return ServedRoute(method, path, endpoint, access, says, **{"is_public": False, **more, "is_console": True})


_page = partial(ServedRoute, access=Access.OPEN, is_public=False)
_OPEN, _KEY, _ADMIN = Access
_FILTERS = ("key_name", "model", "rule", "after", "target", "status", "since", "limit")
_FORGET = introspection.forget
_DRY_RUN = {"request": ANY_OBJECT, "to": TEXT}
_DRY_RUNS = {"request": TEXT, "targets": {"type": "array", "items": TEXT}}

OWN_ROUTES = (
    ServedRoute("GET", "/health", introspection.health, _OPEN, "Alive; admins see resting targets and lessons"),
    ServedRoute("GET", "/ready", introspection.ready, _OPEN, "Ready for traffic; admins see why not"),
    ServedRoute("GET", "/openapi.json", load("http.openapi:document"), _OPEN, "This list, as an OpenAPI document"),
    ServedRoute("GET", "/metrics", introspection.metrics, _ADMIN, "Counts for Prometheus", answers=("text/plain",)),
    ServedRoute("GET", "/v1/health-status", model_health.status, _ADMIN, "What health checks found"),
    ServedRoute("GET", "/v1/health-check", model_health.status, _ADMIN, "What health checks found"),
    ServedRoute("POST", "/v1/health-check", model_health.check, _ADMIN, "Check the models of all routes now"),
    ServedRoute("POST", "/dragoman/adapt", introspection.adapt, _KEY, "Compile without sending", required=_DRY_RUN),
    ServedRoute("POST", "/v1/dragoman/adapt", introspection.adapt, _KEY, is_public=False),
    ServedRoute("GET", "/dragoman/requests", ledger.requests, _KEY, "Own requests, newest first", query=_FILTERS),
    ServedRoute("GET", "/dragoman/requests/{id}", introspection.report, _KEY, "The report of an own request"),
    ServedRoute("GET", "/dragoman/usage", ledger.usage, _ADMIN, "Tokens and costs", query=("by", "since")),
    ServedRoute("GET", "/dragoman/cache", ledger.cache, _ADMIN, "What prompt caches saved and lost", query=("since",)),
    ServedRoute("GET", "/dragoman/lessons", introspection.lessons, _ADMIN, "What refusals have taught"),
    ServedRoute("DELETE", "/dragoman/lessons", _FORGET, _ADMIN, "Forget lessons", query=("target", "name")),
    ServedRoute("DELETE", "/dragoman/callers", introspection.forget_caller, _ADMIN, "Forget a key", query=("name",)),
    _page("GET", "/", load("console.static_files:hello"), says="The console, to a browser"),
    _page("GET", "/api/hello", load("console.static_files:hello")),
    _page("GET", "/dragoman", load("console.static_files:open_page"), says="Leads to the console"),
    _page("GET", "/admin/config", load("console.static_files:open_page"), says="Leads to the configuration there"),
    _page("GET", "/dragoman/console/{file}", load("console.static_files:show_file"), says="A file of the console"),
    _console("GET", "/dragoman/session", "show_session", _OPEN, "Who is signed in"),
    _console("POST", "/dragoman/session", "sign_in", _OPEN, "Sign in with an admin key"),
    _console("DELETE", "/dragoman/session", "sign_out", _OPEN, "Sign out"),
    _console("GET", "/dragoman/live", "watch_requests", _ADMIN, "New requests, as they come"),
    _console(
        "GET", "/dragoman/requests/{id}/view", "show_request", _ADMIN, "A request with all its bodies", is_public=True
    ),
    _console(
        "POST",
        "/dragoman/dry-runs",
        "try_targets",
        _ADMIN,
        "Compile for several targets",
        is_public=True,
        required=_DRY_RUNS,
    ),
    _console(
        "GET",
        "/dragoman/compatibility",
        "show_compatibility",
        _ADMIN,
        "Patterns and targets",
        is_public=True,
        query=("targets",),
    ),
    _console("GET", "/dragoman/models", "show_models", _ADMIN, "Models and their health", is_public=True),
    _console("GET", "/dragoman/keys", "show_keys", _ADMIN, "Keys, their limits and budgets", is_public=True),
    _console("POST", "/dragoman/keys", "create_key", _ADMIN, "Make a key"),
    _console("PUT", "/dragoman/keys", "change_key", _ADMIN, "Change a key"),
    _console("DELETE", "/dragoman/keys", "revoke_key", _ADMIN, "Revoke a key"),
    _console("GET", "/dragoman/config", "show_config", _ADMIN, "The configuration, without secrets", is_public=True),
    _console("PUT", "/dragoman/config", "save_config", _ADMIN, "Save the configuration"),
    _console("POST", "/dragoman/config/check", "check_config", _ADMIN, "Check a configuration"),
    _console("POST", "/dragoman/config/undo", "undo_config", _ADMIN, "Undo the last save"),
)
"""The gateway's own. Those of the dialects follow."""


# What is passed on


def _list_relayed() -> Iterator[ServedRoute]:
    """Paths of OpenAI's that are no conversations."""
    bodies = {"/embeddings": {"model": TEXT, "input": TEXT}}
    for path in FORWARDED_PATHS:
        passed = ServedRoute(
            "POST",
            f"/v1{path}",
            partial(relay.relay, path=path),
            _KEY,
            "Passed on to the provider of the model",
            DEFAULT_DIALECT,
            is_public=path in bodies,
            required=bodies.get(path),
        )
        yield from (passed, _spell(passed, path))
    completion = ServedRoute(
        "POST",
        f"/v1{COMPLETIONS_PATH}",
        completions.complete,
        _KEY,
        "OpenAI's legacy completions",
        DEFAULT_DIALECT,
        required={"model": TEXT, "prompt": TEXT},
        answers=(JSON_TYPE, SSE_TYPE),
    )
    yield from (completion, _spell(completion, COMPLETIONS_PATH))


def _spell(route: ServedRoute, path: str) -> ServedRoute:
    return replace(route, path=path, says="", is_public=False)


# Dialects


async def _in_other_form(request: ServedRequest, served: ServedPath) -> None:
    """The form is loaded with the first request that has it."""
    endpoint, call = served.endpoint, {Job.PROMPT: other_forms.prompt, Job.EMBED: other_forms.embed}
    assert endpoint.load_form is not None
    form = endpoint.load_form()
    await call[endpoint.job](request, dialect=served.dialect.name, form=form)


def _endpoint(served: ServedPath) -> Endpoint:
    """What answers at a path of a dialect."""
    job, dialect = served.endpoint.job, served.dialect.name
    match job:
        case Job.GENERATE:
            return partial(generate.generate, dialect=dialect)
        case Job.COMPACT:
            return partial(compact.compact, dialect=dialect, path=served.endpoint.path)
        case Job.COUNT_TOKENS:
            return partial(count_tokens.count, dialect=dialect)
        case Job.LIST_MODELS:
            return models.models
        case Job.SHOW_MODEL:
            return models.model if served.endpoint.method == "GET" else other_forms.show
        case Job.ABOUT:
            return partial(introspection.about, body=served.endpoint.answer)
        case Job.SOCKET:
            return partial(turn_sockets.open_socket, dialect=dialect)
        case Job.PROMPT | Job.EMBED:
            return partial(_in_other_form, served=served)


def _of_dialects() -> Iterator[ServedRoute]:
    for served in list_served_paths(*Job):
        endpoint = served.endpoint
        streams = endpoint.job in (Job.GENERATE, Job.PROMPT) and endpoint.stream is not False
        framing = endpoint.framing or served.dialect.framing
        yield ServedRoute(
            endpoint.method,
            served.path,
            _endpoint(served),
            _KEY,
            endpoint.summary if served.is_usual else "",
            served.dialect.name if endpoint.method == "POST" else "",
            is_public=served.is_usual,
            required=endpoint.required or None,
            answers=(JSON_TYPE, framing.content_type.partition(";")[0]) if streams else (JSON_TYPE,),
            is_array=bool(endpoint.stream) and served.dialect.client_framing({}) is Framing.JSON_ARRAY,
        )


ROUTES = (*OWN_ROUTES, *_list_relayed(), *_of_dialects())


def _by_path(routes: Iterable[ServedRoute]) -> dict[str, dict[str, ServedRoute]]:
    found: dict[str, dict[str, ServedRoute]] = {}
    for route in routes:
        if "{" not in route.path:
            found.setdefault(route.method, {}).setdefault(route.path, route)
    return found


EXACT = _by_path(ROUTES)
"""By method and path: those without braces, so that the hot ones are found at once."""
POSTS = EXACT["POST"]
OWN_PATTERNS = tuple(route for route in OWN_ROUTES if "{" in route.path)
assert not any(MODEL in route.path for route in OWN_PATTERNS)
