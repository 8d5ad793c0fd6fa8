"""The gateway as a bare ASGI application: a path in, an endpoint called. No framework stands on the hot path."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from functools import partial
from pathlib import Path

from dragoman.dialects.registry import caller_dialect
from dragoman.errors import DragomanError
from dragoman.gateway.callers.caller import Caller, Refused, may_look
from dragoman.gateway.callers.console_sessions import FOREIGN, is_own_page
from dragoman.gateway.callers.identification import identify, recognise
from dragoman.gateway.http.client_errors import tell_fault
from dragoman.gateway.http.inbound import ClientGone, Inbound, Message, Receive, Scope, Send
from dragoman.gateway.http.outbound import Outbound
from dragoman.gateway.live_config import LiveConfig
from dragoman.gateway.route_lookup import find_route
from dragoman.gateway.routes import POSTS, Access, ServedRoute
from dragoman.gateway.served_request import ServedRequest
from dragoman.gateway.services import Services, open_services
from dragoman.gateway.state.background_answers import stop_jobs

_KEY = Access.KEY
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
            await self._socket(scope, receive, send)

    async def _socket(self, scope: Scope, receive: Receive, send: Send) -> None:
        """A WebSocket is a `GET` that may be upgraded. The endpoint does so; all else that is answered refuses it."""
        await receive()  # that the client wants to connect
        can_tell = "websocket.http.response" in (scope.get("extensions") or {})

        async def refuse(message: Message) -> None:
            kind = message["type"]
            if not kind.startswith("http."):
                await send(message)
            elif can_tell:
                await send({**message, "type": f"websocket.{kind}"})
            elif not message.get("more_body", False) and kind == "http.response.body":
                await send({"type": "websocket.close", "code": 1008})

        await self._http({**scope, "method": "GET"}, receive, refuse)

    async def _http(self, scope: Scope, receive: Receive, send: Send) -> None:
        path: str = scope["path"]
        root = scope.get("root_path", "")
        if root and path.startswith(root):
            path = path[len(root) :] or "/"
        services = self._services or self.services
        inbound = Inbound(scope, receive, path, services.traffic.ticker)
        outbound = Outbound(send, next(services.traffic.ids))
        route = POSTS.get(path) if inbound.method == "POST" else None
        if route is None:
            route = find_route(inbound, outbound)
        try:
            known = identify(services.live, inbound) if route.access is _KEY else _admit(services.live, inbound, route)
            await route.endpoint(ServedRequest(services, inbound, outbound, known))
        except ClientGone:
            return
        except Exception as fault:
            await tell_fault(services.records, outbound, route.dialect or caller_dialect(path, inbound.headers), fault)

    async def _lifespan(self, receive: Receive, send: Send) -> None:
        while True:
            message = await receive()
            if message["type"] == "lifespan.startup":
                try:
                    services = self.services
                    await services.store.start()
                    services.models.checks.start()
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
            self._services.traffic.closing = True
            await self._services.models.checks.stop()
            await self._services.conversations.summaries.stop()
            await stop_jobs(self._services)
            await self._services.models.probes.stop()
            await self._services.close()


def create_app(config: str | Path | None = None) -> Gateway:
    """A gateway for an ASGI server. The configuration is read at start-up (or at the first request)."""
    path = Path(config) if config is not None else None
    return Gateway(opened=partial(open_services, path))


async def _watch(services: Services) -> None:
    """Looks every second whether the configuration changed, and whether something is to be forgotten."""
    while True:
        await asyncio.sleep(_WATCH_SECONDS)
        services.conversations.follow_forgets()
        await services.live.reload_if_changed()


def _admit(live: LiveConfig, inbound: Inbound, route: ServedRoute) -> Caller:
    """The caller, who may use the route. Raises Refused."""
    known = recognise(live, inbound) if route.access is Access.OPEN else identify(live, inbound)
    if route.access is Access.ADMIN:
        may_look(known, inbound.path.rstrip("/"))
    if route.is_for_own_page and not is_own_page(inbound.headers):
        raise Refused(FOREIGN)
    return known
