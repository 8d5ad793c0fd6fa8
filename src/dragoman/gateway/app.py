"""The gateway as a bare ASGI application: a path in, an endpoint called. No framework stands on the hot path."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from functools import partial
from pathlib import Path

from dragoman.config.schema import LogLevel
from dragoman.conversation.failures import Failure, FailureKind
from dragoman.dialects.answering import Answering
from dragoman.engine.spoken import spoken
from dragoman.errors import DragomanError
from dragoman.gateway import outbound
from dragoman.gateway.callers import OWNER, Known, Refused, identify
from dragoman.gateway.endpoints import counting, generate, listing, looking, relay
from dragoman.gateway.inbound import BodyTooLarge, ClientGone, Inbound, Receive, Scope, Send
from dragoman.gateway.services import Services, open_services

Endpoint = Callable[[Services, Inbound, Send, Known], Awaitable[None]]

_GENERATE: dict[str, tuple[Endpoint, str]] = {
    "/chat/completions": (partial(generate.generate, dialect="openai-chat"), "openai-chat"),
    "/responses": (partial(generate.generate, dialect="openai-responses"), "openai-responses"),
    "/messages": (partial(generate.generate, dialect="anthropic"), "anthropic"),
    "/messages/count_tokens": (partial(counting.count, dialect="anthropic"), "anthropic"),
    "/embeddings": (partial(relay.relay, path="/embeddings"), "openai-chat"),
    "/audio/transcriptions": (partial(relay.relay, path="/audio/transcriptions"), "openai-chat"),
    "/dragoman/adapt": (looking.adapt, "openai-chat"),
}
POSTS = {prefix + path: found for path, found in _GENERATE.items() for prefix in ("", "/v1")}
OPEN = {"/": looking.hello, "/api/hello": looking.hello, "/health": looking.health, "/ready": looking.ready}
"""What everybody may ask."""
GETS: dict[str, Endpoint] = {
    "/models": listing.models,
    "/v1/models": listing.models,
    "/v1beta/models": listing.models,
    "/metrics": looking.metrics,
}
_GEMINI = ("/v1beta/models/", "/v1/models/", "/v1alpha/models/", "/models/")
_REPORTS = "/dragoman/requests/"
_WATCH_SECONDS = 1.0


class Gateway:
    """ASGI: `await gateway(scope, receive, send)`. Mountable under a path of another application."""

    def __init__(self, services: Services | None = None, opened: Callable[[], Services] | None = None) -> None:
        self._services = services
        self._open = opened
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
        inbound = Inbound(scope, receive, path)
        found = POSTS.get(path) if inbound.method == "POST" else None
        endpoint, dialect = found if found is not None else self._find(inbound)
        try:
            known = OWNER if endpoint in OPEN.values() else identify(self.services, inbound)
            await endpoint(self.services, inbound, send, known)
        except Refused as refused:
            await _tell(send, dialect, refused.failure)
        except DragomanError as fault:
            await _tell(send, dialect, Failure(FailureKind.BAD_REQUEST, str(fault), 400, param=fault.at))
        except BodyTooLarge as fault:
            await _tell(send, dialect, Failure(FailureKind.TOO_LARGE, f"the body has {fault} bytes", 413))
        except TimeoutError:
            await _tell(send, dialect, Failure(FailureKind.TIMEOUT, "the request's body did not come", 408))
        except ClientGone:
            return

    def _find(self, inbound: Inbound) -> tuple[Endpoint, str]:
        """Every path but the hot ones."""
        path, method = inbound.path.rstrip("/") or "/", inbound.method
        if method in ("GET", "HEAD"):
            found = OPEN.get(path) or GETS.get(path)
            if found is not None:
                return found, "openai-chat"
            if path.startswith(_REPORTS):
                return partial(looking.report, request_id=path[len(_REPORTS) :]), "openai-chat"
            if method == "HEAD":
                return looking.hello, "openai-chat"
        if method == "POST":
            if path in POSTS:
                return POSTS[path]
            gemini = _gemini(path, inbound)
            if gemini is not None:
                return gemini, "gemini"
        return partial(_nothing, path=path, method=method), "openai-chat"

    async def _lifespan(self, receive: Receive, send: Send) -> None:
        while True:
            message = await receive()
            if message["type"] == "lifespan.startup":
                try:
                    self._watching = asyncio.get_running_loop().create_task(self._watch(self.services))
                except DragomanError as fault:
                    await send({"type": "lifespan.startup.failed", "message": str(fault)})
                    return
                await send({"type": "lifespan.startup.complete"})
            elif message["type"] == "lifespan.shutdown":
                await self.close()
                await send({"type": "lifespan.shutdown.complete"})
                return

    async def _watch(self, services: Services) -> None:
        """Looks every second whether the configuration changed."""
        while True:
            await asyncio.sleep(_WATCH_SECONDS)
            services.reload_if_changed()

    async def close(self) -> None:
        if self._watching is not None:
            self._watching.cancel()
        if self._services is not None:
            self._services.closing = True
            await self._services.close()


def create_app(config: str | Path | None = None) -> Gateway:
    """A gateway for an ASGI server. The configuration is read at start-up (or at the first request)."""
    path = Path(config) if config is not None else None
    return Gateway(opened=partial(open_services, path))


def _gemini(path: str, inbound: Inbound) -> Endpoint | None:
    """`/v1beta/models/MODEL:METHOD`, where the model may hold slashes."""
    prefix = next((prefix for prefix in _GEMINI if path.startswith(prefix)), None)
    if prefix is None:
        return None
    model, colon, method = path[len(prefix) :].rpartition(":")
    if not colon:
        return None
    if method == "generateContent":
        return partial(generate.generate, dialect="gemini", model=model, stream=False)
    if method == "streamGenerateContent":
        array = inbound.query.get("alt") != "sse"
        return partial(generate.generate, dialect="gemini", model=model, stream=True, array=array)
    if method == "countTokens":
        return partial(counting.count, dialect="gemini", model=model)
    return None


async def _nothing(services: Services, inbound: Inbound, send: Send, known: Known, path: str, method: str) -> None:
    known_path = path in POSTS or path in GETS or path in OPEN
    what = f"{method} is not for {path}" if known_path else f"there is nothing at {path}"
    failure = Failure(FailureKind.NOT_FOUND, what, 405 if known_path else 404)
    services.lines.add(LogLevel.DEBUG, {"event": "not-found", "path": path, "method": method})
    await _tell(send, "openai-chat", failure)


async def _tell(send: Send, dialect: str, failure: Failure) -> None:
    status, headers, body = spoken(dialect).render_error(failure, Answering())
    named: list[tuple[bytes, bytes]] = [
        (name.encode(), value.encode("latin-1", "replace"))
        for name, value in headers.items()
        if name not in ("content-type", "content-length")
    ]
    await outbound.whole(send, status, body, named)
