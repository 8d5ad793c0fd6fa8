"""Which route a request is for. A path that is none gets a route too, whose endpoint says so."""

from __future__ import annotations

from functools import partial

from msgspec.structs import replace

from dragoman.config.schema.log import LogLevel
from dragoman.conversation.failures import Failure, FailureKind
from dragoman.dialects.dialect import Job, Route
from dragoman.dialects.registry import Unserved, caller_dialect, find_unserved_path, refuse_unserved, route
from dragoman.gateway.callers.caller import Refused, nothing_at
from dragoman.gateway.endpoints import conversations, count_tokens, generate, models, stored_answers
from dragoman.gateway.http.inbound import Inbound
from dragoman.gateway.http.outbound import Outbound
from dragoman.gateway.routes import EXACT, OWN_PATTERNS, POSTS, Access, Endpoint, ServedRoute
from dragoman.gateway.served_request import ServedRequest


def find_route(inbound: Inbound, outbound: Outbound) -> ServedRoute:
    """The route of a request. The path of a cloud may have errors of its own."""
    path, method = inbound.path.rstrip("/") or "/", "GET" if inbound.method == "HEAD" else inbound.method
    found = EXACT.get(method, {}).get(path) or _match_own(method, path)
    if found is not None:
        return found
    caller = POSTS[path].dialect if path in POSTS else caller_dialect(inbound.path, inbound.headers)
    unserved = find_unserved_path(inbound.method, path, caller)
    if unserved is not None:
        return _dynamic(inbound, partial(_refuse_unserved, unserved=unserved), unserved.dialect.name)
    named = route(method, path, inbound.query)
    if named is not None and method == "POST":
        outbound.errors = named.render_error()
        return _dynamic(inbound, _ask_named(named), named.dialect)
    if named is not None and named.model and not _is_posted(inbound, path):  # its name may hold a colon, too
        return _dynamic(inbound, partial(models.model, name=named.model), caller)
    return _dynamic(inbound, partial(_refuse_unknown, path=path), caller)


def _dynamic(inbound: Inbound, endpoint: Endpoint, dialect: str) -> ServedRoute:
    """What depends on more than the path is for every key."""
    return ServedRoute(inbound.method, inbound.path, endpoint, Access.KEY, dialect=dialect)


def _match_own(method: str, path: str) -> ServedRoute | None:
    """The route with one step in braces that a path fits."""
    for one in OWN_PATTERNS:
        head, _, rest = one.path.partition("{")
        name, _, tail = rest.partition("}")
        step = path[len(head) : len(path) - len(tail)]
        if one.method == method and path == head + step + tail and step and "/" not in step:
            return replace(one, endpoint=partial(one.endpoint, **{name: step}))
    return None


def _ask_named(found: Route) -> Endpoint:
    """The endpoint of a path that names the model."""
    if found.job is Job.COUNT_TOKENS:
        return partial(count_tokens.count, dialect=found.dialect, model=found.model)
    return partial(generate.generate, dialect=found.dialect, route=found)


async def _refuse_unknown(request: ServedRequest, path: str) -> None:
    method = request.inbound.method
    _note_path(request, "not-found", path)
    allowed = [one for one in _METHODS if _is_for(one, path, request)]
    if not allowed:
        raise nothing_at(path)
    named = ", ".join("GET, HEAD" if one == "GET" else one for one in allowed)
    what = f"{method} is not for {path[:200]}; use {named}"
    raise Refused(Failure(FailureKind.BAD_REQUEST, what, 405, "method_not_allowed"), ((b"allow", named.encode()),))


def _note_path(request: ServedRequest, event: str, path: str) -> None:
    line = {"event": event, "id": request.outbound.id, "path": path[:200], "method": request.inbound.method}
    request.services.records.lines.add(LogLevel.DEBUG, line)


def _is_for(method: str, path: str, request: ServedRequest) -> bool:
    """Whether the path is served by another method than the one that was asked for."""
    if path in EXACT.get(method, {}) or _match_own(method, path) is not None:
        return True
    inbound, config = request.inbound, request.services.live.config
    unserved = find_unserved_path(method, path, caller_dialect(inbound.path, inbound.headers))
    if unserved is not None:
        asked = (config, unserved.dialect, unserved.path.path)
        return stored_answers.is_served(*asked) or conversations.is_served(*asked)
    return method == "POST" and _is_posted(inbound, path)


def _is_posted(inbound: Inbound, path: str) -> bool:
    return route("POST", path, inbound.query) is not None


async def _refuse_unserved(request: ServedRequest, unserved: Unserved) -> None:
    """A path of a vendor's that is not served here, unless it is one of stored answers, and they are stored."""
    config, inbound = request.services.live.config, request.inbound
    vendor, template = unserved.dialect, unserved.path.path
    if stored_answers.is_served(config, vendor, template):
        await stored_answers.serve_stored_answer(request, vendor, template)
        return
    if conversations.is_served(config, vendor, template):
        await conversations.conversation(request, vendor, template)
        return
    _note_path(request, "not-served", inbound.path)
    raise Refused(refuse_unserved(inbound.method, unserved), _NO_RETRY)


_METHODS = ("GET", "POST", "PUT", "DELETE")

_NO_RETRY = ((b"x-should-retry", b"false"),)
"""The SDKs of OpenAI and Anthropic try every status of 500 and above again, unless a header forbids it."""
