"""The gateway under a path of another ASGI application, with one start and one end for both.

    from dragoman.asgi import create_app
    from dragoman.integrations.asgi import mounted

    app = mounted(my_app, create_app("dragoman.yaml"), at="/llm")

A framework's own `mount` works too, but most of them tell a mounted application neither of the start nor of the end:
then the configuration is read with the first request, and the ledger is not flushed.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any

Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
App = Callable[[Any, Any, Any], Awaitable[None]]


def mounted(app: App, gateway: App, at: str = "/llm") -> App:
    """An application that is `app`, and under the path `at` the gateway."""
    prefix = "/" + at.strip("/")

    async def both(scope: Any, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await _live(app, gateway, scope, receive, send)
        elif _is_below(scope.get("path", ""), scope.get("root_path", "") + prefix):
            await gateway({**scope, "root_path": scope.get("root_path", "") + prefix}, receive, send)
        else:
            await app(scope, receive, send)

    return both


def _is_below(path: str, prefix: str) -> bool:
    return path == prefix or path.startswith(prefix + "/")


async def _live(app: App, gateway: App, scope: Any, receive: Receive, send: Send) -> None:
    """Start both, end both; the server gets the failure of the first that does not start."""
    lives = [_Life(one, dict(scope)) for one in (app, gateway)]
    while True:
        message = await receive()
        kind = message["type"]
        answers = [await life.tell(message) for life in lives]
        failed = next((answer for answer in answers if answer["type"].endswith(".failed")), None)
        await send(failed or {"type": f"{kind}.complete"})
        if failed is not None or kind == "lifespan.shutdown":
            return


class _Life:
    """One application's lifespan. Applications without one raise at the first message; they are left alone then."""

    def __init__(self, app: App, scope: Any) -> None:
        self._incoming: asyncio.Queue[Message] = asyncio.Queue()
        self._outgoing: asyncio.Queue[Message] = asyncio.Queue()
        self._task = asyncio.ensure_future(app(scope, self._incoming.get, self._outgoing.put))

    async def tell(self, message: Message) -> Message:
        nothing: Message = {"type": message["type"] + ".complete"}
        if self._task.done():
            return nothing
        await self._incoming.put(message)
        answer = asyncio.ensure_future(self._outgoing.get())
        await asyncio.wait({answer, self._task}, return_when=asyncio.FIRST_COMPLETED)
        if answer.done():
            return answer.result()
        answer.cancel()
        if self._task.exception() is None and not self._outgoing.empty():
            return self._outgoing.get_nowait()
        return nothing
