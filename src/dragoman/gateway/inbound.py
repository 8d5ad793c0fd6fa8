"""A client's HTTP request: its head at once, its body with a bound."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any
from urllib.parse import parse_qs

Message = MutableMapping[str, Any]
Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]

PATIENCE = 30.0
"""Seconds that a client may take to begin its body, and to be late with it."""
PACE = 4096
"""Bytes per second below which a body is too slow."""


class BodyTooLarge(Exception):
    """The body is longer than the configuration allows."""


class BodyTooSlow(Exception):
    """The body did not come in time."""


class ClientGone(Exception):
    """The client left before its request was answered."""


class Inbound:
    """What the endpoints see of a request."""

    __slots__ = ("headers", "method", "path", "receive", "scope")

    def __init__(self, scope: Scope, receive: Receive, path: str) -> None:
        self.scope = scope
        self.receive = receive
        self.path = path
        self.method: str = scope["method"]
        self.headers: dict[str, str] = {
            name.decode("latin-1"): value.decode("latin-1") for name, value in scope["headers"]
        }

    @property
    def query(self) -> dict[str, str]:
        raw = self.scope.get("query_string", b"")
        return {name: values[-1] for name, values in parse_qs(raw.decode("latin-1")).items()} if raw else {}

    def key(self) -> str:
        """The client's key, from wherever its SDK puts it."""
        headers = self.headers
        bearer = headers.get("authorization")
        if bearer is not None:
            scheme, _, token = bearer.partition(" ")
            if scheme.lower() == "bearer" and token:
                return token.strip()
        return headers.get("x-api-key") or headers.get("x-goog-api-key") or self.query.get("key", "")

    async def body(self, limit: int) -> bytes:
        """The whole body. Raises BodyTooLarge, BodyTooSlow or ClientGone."""
        declared = self.headers.get("content-length", "")
        if declared.isdigit() and int(declared) > limit:
            raise BodyTooLarge(f"the body has {declared} bytes; at most {limit} are taken")
        try:
            return await self._pieces(limit)
        except TimeoutError:
            raise BodyTooSlow("the body did not come in time") from None

    async def _pieces(self, limit: int) -> bytes:
        pieces: list[bytes] = []
        size = 0
        begun = asyncio.get_running_loop().time()
        async with asyncio.timeout_at(begun + PATIENCE) as deadline:
            while True:
                message = await self.receive()
                if message["type"] == "http.disconnect":
                    raise ClientGone
                piece = message.get("body", b"")
                size += len(piece)
                if size > limit:
                    raise BodyTooLarge(f"the body has more than {limit} bytes")
                pieces.append(piece)
                if not message.get("more_body", False):
                    return pieces[0] if len(pieces) == 1 else b"".join(pieces)
                deadline.reschedule(begun + PATIENCE + size / PACE)
