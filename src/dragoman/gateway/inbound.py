"""A client's HTTP request: its head at once, its body with a bound."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any
from urllib.parse import parse_qs

from dragoman.gateway.coarse_timer import CoarseTimer

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


class BodyPacked(Exception):
    """The body is compressed in a way that we do not take."""


class ClientGone(Exception):
    """The client left before its request was answered."""


class Deadline:
    """Cancels the task that made it when its time is up. More time is noted, and looked at when the alarm rings."""

    __slots__ = ("_alarm", "_allowed", "_rung", "_task", "_ticker", "_waited")

    def __init__(self, ticker: CoarseTimer, seconds: float) -> None:
        self._ticker = ticker
        self._task = asyncio.current_task()
        self._allowed = self._waited = seconds
        self._rung = False
        self._alarm = ticker.after(seconds, self._ring)

    def allow(self, seconds: float) -> None:
        """So long in all, counted from the beginning."""
        self._allowed = seconds

    def missed(self) -> bool:
        """Whether the cancellation just caught was this deadline's and nobody else's; then the task may go on."""
        return self._rung and (self._task is None or self._task.uncancel() == 0)

    def stop(self) -> None:
        self._alarm.stop()

    def _ring(self) -> None:
        left = self._allowed - self._waited
        if left > 0:
            self._waited = self._allowed
            self._alarm = self._ticker.after(left, self._ring)
        elif self._task is not None:
            self._rung = True
            self._task.cancel("the body did not come in time")


class Inbound:
    """What the endpoints see of a request."""

    __slots__ = ("headers", "method", "path", "receive", "scope", "ticker")

    def __init__(self, scope: Scope, receive: Receive, path: str, ticker: CoarseTimer) -> None:
        self.scope = scope
        self.receive = receive
        self.path = path
        self.ticker = ticker
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
        """The whole body, unpacked. Raises BodyTooLarge, BodyTooSlow, BodyPacked or ClientGone."""
        declared = self.headers.get("content-length", "")
        if declared.isdigit() and int(declared) > limit:
            raise BodyTooLarge(f"the body has {declared} bytes; at most {limit} are taken")
        deadline = Deadline(self.ticker, PATIENCE)
        try:
            body = await self._pieces(limit, deadline)
        except asyncio.CancelledError:
            if not deadline.missed():
                raise
            raise BodyTooSlow("the body did not come in time") from None
        finally:
            deadline.stop()
        encoding = self.headers.get("content-encoding")
        return body if encoding is None else _plain(body, encoding, limit)

    async def _pieces(self, limit: int, deadline: Deadline) -> bytes:
        pieces: list[bytes] = []
        size = 0
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
            deadline.allow(PATIENCE + size / PACE)


def _plain(body: bytes, encoding: str, limit: int) -> bytes:
    """Off the usual path: hardly a client compresses."""
    from dragoman.gateway.body_decompression import Bomb, Unpackable, unpacked

    try:
        return unpacked(body, encoding, limit)
    except Bomb as fault:
        raise BodyTooLarge(str(fault)) from None
    except Unpackable as fault:
        raise BodyPacked(str(fault)) from None
