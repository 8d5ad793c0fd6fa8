"""The gateway as a bare ASGI application: a path in, an endpoint called. No framework stands on the hot path."""

from __future__ import annotations

import asyncio
import traceback
from collections.abc import Awaitable, Callable
from functools import partial
from pathlib import Path

from dragoman.config.schema import LogLevel
from dragoman.conversation.dialect_names import DEFAULT_DIALECT
from dragoman.conversation.failures import Failure, FailureKind
from dragoman.dialects.dialect import MODEL, Job, Route
from dragoman.dialects.openai_completions import COMPLETIONS_PATH
from dragoman.dialects.openai_paths import FORWARDED_PATHS
from dragoman.dialects.registry import (
    ServedPath,
    Unserved,
    caller_dialect,
    not_served,
    route,
    served_paths,
    unserved_path,
)
from dragoman.errors import DragomanError
from dragoman.gateway import openapi
from dragoman.gateway.callers import Known, Refused, identify, recognise
from dragoman.gateway.client_errors import BODY_ERRORS, as_failure
from dragoman.gateway.endpoints import (
    completions,
    count_tokens,
    generate,
    introspection,
    ledger,
    model_health,
    models,
    other_forms,
    relay,
    stored_answers,
)
from dragoman.gateway.inbound import ClientGone, Inbound, Receive, Scope, Send
from dragoman.gateway.outbound import Outbound
from dragoman.gateway.services import Services, open_services

Endpoint = Callable[[Services, Inbound, Outbound, Known], Awaitable[None]]

_OURS: dict[str, Endpoint] = {
    **{path: partial(relay.relay, path=path) for path in FORWARDED_PATHS},
    COMPLETIONS_PATH: completions.complete,
    "/dragoman/adapt": introspection.adapt,
    "/health-check": model_health.check,
}
"""Posted to, and of no dialect: errors are rendered in the default one."""
_CALLED: dict[Job, Callable[..., Awaitable[None]]] = {
    Job.GENERATE: generate.generate,
    Job.COUNT_TOKENS: count_tokens.count,
}
_OTHER_FORMS = {Job.PROMPT: other_forms.prompt, Job.EMBED: other_forms.embed}


async def _in_other_form(
    services: Services, inbound: Inbound, outbound: Outbound, known: Known, served: ServedPath
) -> None:
    """The form is loaded with the first request that has it."""
    endpoint = served.endpoint
    assert endpoint.load_form is not None
    await _OTHER_FORMS[endpoint.job](
        services, inbound, outbound, known, dialect=served.dialect.name, form=endpoint.load_form()
    )


POSTS: dict[str, tuple[Endpoint, str]] = {
    **{prefix + path: (endpoint, DEFAULT_DIALECT) for path, endpoint in _OURS.items() for prefix in ("", "/v1")},
    **{
        served.path: (partial(_CALLED[served.endpoint.job], dialect=served.dialect.name), served.dialect.name)
        for served in served_paths(*_CALLED)
        if MODEL not in served.path
    },
    **{
        served.path: (partial(_in_other_form, served=served), served.dialect.name)
        for served in served_paths(Job.PROMPT, Job.EMBED)
    },
    **{
        served.path: (other_forms.show, served.dialect.name)
        for served in served_paths(Job.SHOW_MODEL)
        if served.endpoint.method == "POST"
    },
}
"""Paths that say all there is to know, so that the hot ones are found at once."""
OPEN = {
    "/": introspection.hello,
    "/api/hello": introspection.hello,
    "/health": introspection.health,
    "/ready": introspection.ready,
    "/openapi.json": openapi.document,
}
"""What everybody may ask."""
GETS: dict[str, Endpoint] = {
    "/metrics": introspection.metrics,
    "/dragoman/lessons": introspection.lessons,
    "/dragoman/usage": ledger.usage,
    "/dragoman/requests": ledger.requests,
    "/v1/health-status": model_health.status,
    "/v1/health-check": model_health.status,
    **{served.path: models.models for served in served_paths(Job.LIST_MODELS)},
    **{served.path: partial(introspection.about, body=served.endpoint.answer) for served in served_paths(Job.ABOUT)},
}
DELETES: dict[str, Endpoint] = {
    "/dragoman/lessons": introspection.forget,
    "/dragoman/callers": introspection.forget_caller,
}
_REPORTS = "/dragoman/requests/"
_CONSOLE = "/dragoman/"
_OTHER_ADDRESSES = ("/dragoman", "/admin/config")
"""They lead to the console's page."""
_CONSOLE_OPEN = ("/dragoman/console/", "/dragoman/session")
"""The page itself and signing in, which everybody may ask for."""
_WATCH_SECONDS = 1.0


class Gateway:
    """ASGI: `await gateway(scope, receive, send)`. Mountable under a path of another application."""

    def __init__(
        self,
        services: Services | None = None,
        opened: Callable[[], Services] | None = None,
        watch: bool = True,
    ) -> None:
        self._services = services
        self._open = opened
        self._watch = watch
        self._watching: asyncio.Task[None] | None = None

    @property
    def services(self) -> Services:
        if self._services is None:
            assert self._open is not None
            self._services = self._open()
        return self._services

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        kind = scope["type"]
        if kind == "http":
            await self._http(scope, receive, send)
        elif kind == "lifespan":
            await self._lifespan(receive, send)
        else:
            await send({"type": "websocket.close", "code": 1000})

    async def _http(self, scope: Scope, receive: Receive, send: Send) -> None:
        path: str = scope["path"]
        root = scope.get("root_path", "")
        if root and path.startswith(root):
            path = path[len(root) :] or "/"
        services = self.services
        inbound = Inbound(scope, receive, path, services.ticker)
        outbound = Outbound(send, services.request_id())
        found = POSTS.get(path) if inbound.method == "POST" else None
        endpoint, dialect = found if found is not None else _find(inbound, outbound)
        try:
            known = identify(services, inbound) if endpoint not in _OPEN else recognise(services, inbound)
            await endpoint(services, inbound, outbound, known)
        except ClientGone:
            return
        except Refused as fault:
            await outbound.refusal(dialect, fault.failure, list(fault.headers))
        except (DragomanError, *BODY_ERRORS) as fault:
            await outbound.refusal(dialect, as_failure(fault))
        except Exception as fault:
            await _broken(services, outbound, dialect, fault)

    async def _lifespan(self, receive: Receive, send: Send) -> None:
        while True:
            message = await receive()
            if message["type"] == "lifespan.startup":
                try:
                    services = self.services
                    await services.store.start()
                    services.checks.start()
                    if self._watch:
                        self._watching = asyncio.get_running_loop().create_task(_watch(services))
                except DragomanError as fault:
                    await send({"type": "lifespan.startup.failed", "message": str(fault)})
                    return
                await send({"type": "lifespan.startup.complete"})
            elif message["type"] == "lifespan.shutdown":
                await self.close()
                await send({"type": "lifespan.shutdown.complete"})
                return

    async def close(self) -> None:
        if self._watching is not None:
            self._watching.cancel()
        if self._services is not None:
            self._services.closing = True
            await self._services.checks.stop()
            await self._services.summaries.stop()
            await self._services.probes.stop()
            await self._services.close()


def create_app(config: str | Path | None = None) -> Gateway:
    """A gateway for an ASGI server. The configuration is read at start-up (or at the first request)."""
    path = Path(config) if config is not None else None
    return Gateway(opened=partial(open_services, path))


async def _watch(services: Services) -> None:
    """Looks every second whether the configuration changed."""
    while True:
        await asyncio.sleep(_WATCH_SECONDS)
        await services.reload_if_changed()


async def _console(services: Services, inbound: Inbound, outbound: Outbound, known: Known) -> None:
    """The endpoints of the console, loaded with the first request for one."""
    from dragoman.gateway.console.endpoints import answer

    if not await answer(services, inbound, outbound, known):
        await _nothing(services, inbound, outbound, known, inbound.path)


async def _open_console(services: Services, inbound: Inbound, outbound: Outbound, known: Known) -> None:
    await _console(services, inbound, outbound, known)


_OPEN = frozenset({*OPEN.values(), _open_console})


def _of_console(path: str, method: str) -> Endpoint | None:
    """The console's endpoint at a path that is not one of the other ones."""
    if path in _OTHER_ADDRESSES or path.startswith(_CONSOLE_OPEN):
        return _open_console
    is_report = path.startswith(_REPORTS) and path.count("/") == _REPORTS.count("/")
    if not path.startswith(_CONSOLE) or is_report or path in POSTS:
        return None
    return None if path in (GETS if method in ("GET", "HEAD") else DELETES) else _console


def _find(inbound: Inbound, outbound: Outbound) -> tuple[Endpoint, str]:
    """Every path but the hot ones, and the dialect of its errors. A path may have errors of its own."""
    path, method = inbound.path.rstrip("/") or "/", inbound.method
    if (console := _of_console(path, method)) is not None:
        return console, DEFAULT_DIALECT
    dialect = POSTS[path][1] if path in POSTS else caller_dialect(inbound.path, inbound.headers)
    unserved = unserved_path(method, path, dialect)
    if unserved is not None:
        return partial(_not_served, unserved=unserved), unserved.dialect.name
    if method in ("GET", "HEAD"):
        return _look(path, inbound), dialect
    if method == "DELETE" and path in DELETES:
        return DELETES[path], dialect
    if method == "POST":
        if path in POSTS:
            return POSTS[path]
        found = route(method, path, inbound.query)
        if found is not None:
            outbound.errors = found.render_error()
            return _routed(found), found.dialect
    return partial(_nothing, path=path), dialect


def _look(path: str, inbound: Inbound) -> Endpoint:
    found = OPEN.get(path) or GETS.get(path)
    if found is not None:
        return found
    if path.startswith(_REPORTS):
        return partial(introspection.report, request_id=path[len(_REPORTS) :])
    shown = route("GET", path, inbound.query)
    if shown is not None and shown.model:
        return partial(models.model, name=shown.model)
    return partial(_nothing, path=path)


def _routed(found: Route) -> Endpoint:
    """The endpoint of a path that names the model."""
    if found.job is Job.COUNT_TOKENS:
        return partial(count_tokens.count, dialect=found.dialect, model=found.model)
    return partial(generate.generate, dialect=found.dialect, route=found)


async def _nothing(services: Services, inbound: Inbound, outbound: Outbound, known: Known, path: str) -> None:
    method = inbound.method
    taken = path in POSTS or route("POST", path, inbound.query) is not None
    allowed = b"POST" if taken else b"GET, HEAD" if path in GETS or path in OPEN else b""
    services.lines.add(LogLevel.DEBUG, {"event": "not-found", "path": path[:200], "method": method})
    if allowed:
        what = f"{method} is not for {path[:200]}; use {allowed.decode()}"
        raise Refused(Failure(FailureKind.BAD_REQUEST, what, 405, "method_not_allowed"), ((b"allow", allowed),))
    what = f"there is nothing at {path[:200]}; GET /openapi.json lists what there is"
    raise Refused(Failure(FailureKind.NOT_FOUND, what, 404, "unknown_url"))


async def _not_served(
    services: Services, inbound: Inbound, outbound: Outbound, known: Known, unserved: Unserved
) -> None:
    vendor, template = unserved.dialect, unserved.path.path
    if stored_answers.is_served(services, vendor, template):
        await stored_answers.stored_answer(services, inbound, outbound, known, vendor, template)
        return
    services.lines.add(LogLevel.DEBUG, {"event": "not-served", "path": inbound.path, "method": inbound.method})
    raise Refused(not_served(inbound.method, unserved), _NO_RETRY)


_NO_RETRY = ((b"x-should-retry", b"false"),)
"""The SDKs of OpenAI and Anthropic try every status of 500 and above again, unless a header forbids it."""


async def _broken(services: Services, outbound: Outbound, dialect: str, fault: Exception) -> None:
    """A fault of our own: the log gets all of it, the client the id of the request."""
    trace = "".join(traceback.format_exception(fault))
    services.lines.add(LogLevel.ERROR, {"event": "crash", "id": outbound.id, "error": services.redactor.text(trace)})
    if outbound.started:
        raise fault
    message = f"the gateway itself failed; its log tells more under {outbound.id}"
    await outbound.refusal(dialect, Failure(FailureKind.SERVER, message, 500))
