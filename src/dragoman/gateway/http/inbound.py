"""The HTTP request of a client: its head at once, its body with limits."""

from __future__ import annotations

import asyncio
from base64 import b64decode
from collections.abc import Awaitable, Callable, Collection, MutableMapping
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qs

from dragoman.gateway.http.coarse_timer import CoarseTimeout, CoarseTimer

if TYPE_CHECKING:
    from dragoman.upstream.socket_line import SocketLine

Message = MutableMapping[str, Any]
Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]

GRACE_SECONDS = 30.0
"""Seconds until the body must begin, and that it may be late in all."""
MIN_BYTES_PER_SECOND = 4096
"""A slower body is refused."""


class BodyTooLarge(Exception):
    """The body is longer than the configuration allows."""


class BodyTooSlow(Exception):
    """The body did not arrive in time."""


class BodyEncodingRefused(Exception):
    """The body has an unsupported or wrong `Content-Encoding`."""


class ClientGone(Exception):
    """The client disconnected before it got an answer."""


class Deadline(CoarseTimeout):
    """Cancels the task that created it when its time is up. Further time is only checked when the timeout fires."""

    __slots__ = ("_allowed", "_fired", "_task", "_waited")

    def __init__(self, timer: CoarseTimer, seconds: float) -> None:
        super().__init__(timer, seconds)
        self._task = asyncio.current_task()
        self._allowed = self._waited = seconds
        self._fired = False

    def allow(self, seconds: float) -> None:
        """Set the total time, counted from the start."""
        self._allowed = seconds

    def is_missed(self) -> bool:
        """Whether the cancellation just caught comes only from this deadline. Then the task may continue."""
        return self._fired and (self._task is None or self._task.uncancel() == 0)

    def on_timeout(self) -> None:
        left = self._allowed - self._waited
        if left > 0:
            self._waited = self._allowed
            super().__init__(self._timer, left)
        elif self._task is not None:
            self._fired = True
            self._task.cancel("the body did not arrive in time")


KEY_HEADER = "x-dragoman-key"
"""The header of the gateway's own keys, for clients whose usual place holds a credential of their provider."""
KEY_HEADERS = ("x-api-key", "x-goog-api-key", "api-key")


class Inbound:
    """A request, as endpoints see it."""

    __slots__ = ("headers", "method", "path", "receive", "scope", "timer")

    turn = ""
    """What kind of turn it is, if it came over a WebSocket."""
    line: SocketLine | None = None
    """The WebSocket to a provider on which it may go on."""

    def __init__(self, scope: Scope, receive: Receive, path: str, timer: CoarseTimer) -> None:
        self.scope = scope
        self.receive = receive
        self.path = path
        self.timer = timer
        self.method: str = scope["method"]
        headers: Collection[tuple[bytes, bytes]] = scope["headers"]
        self.headers = {name.decode("latin-1"): value.decode("latin-1") for name, value in headers}

    @property
    def query(self) -> dict[str, str]:
        raw = self.scope.get("query_string", b"")
        return {name: values[-1] for name, values in parse_qs(raw.decode("latin-1")).items()} if raw else {}

    def key(self) -> str:
        """The client's key, from the header for it or from any place where an SDK puts it."""
        headers = self.headers
        if KEY_HEADER in headers:
            return headers[KEY_HEADER].strip()
        bearer = headers.get("authorization")
        if bearer is not None:
            scheme, _, token = bearer.partition(" ")
            if scheme.lower() == "bearer" and token:
                return token.strip()
        named = next((headers[name] for name in KEY_HEADERS if headers.get(name)), "")
        return named or self.query.get("key", "")

    def password(self) -> str:
        """The password of HTTP Basic, such as `curl -u :KEY` sends it."""
        scheme, _, token = self.headers.get("authorization", "").partition(" ")
        if scheme.lower() != "basic":
            return ""
        try:
            return b64decode(token.strip(), validate=True).decode().partition(":")[2]
        except ValueError:
            return ""

    async def body(self, limit: int, encodings: int = 2) -> bytes:
        """The whole body, decompressed. Raises BodyTooLarge, BodyTooSlow, BodyEncodingRefused or ClientGone."""
        declared = self.headers.get("content-length", "")
        if declared.isdigit() and int(declared) > limit:
            raise BodyTooLarge(f"the body has {declared} bytes; the limit is {limit}")
        deadline = Deadline(self.timer, GRACE_SECONDS)
        try:
            body = await self._read(limit, deadline)
        except asyncio.CancelledError:
            if not deadline.is_missed():
                raise
            raise BodyTooSlow("the body did not arrive in time") from None
        finally:
            deadline.stop()
        encoding = self.headers.get("content-encoding")
        return body if encoding is None else await asyncio.to_thread(_decompress, body, encoding, limit, encodings)

    async def _read(self, limit: int, deadline: Deadline) -> bytes:
        pieces: list[bytes] = []
        size = 0
        while True:
            message = await self.receive()
            if message["type"] == "http.disconnect":
                raise ClientGone
            piece = message.get("body", b"")
            size += len(piece)
            if size > limit:
                raise BodyTooLarge(f"the body has more than {limit} bytes, which is the limit")
            pieces.append(piece)
            if not message.get("more_body", False):
                return pieces[0] if len(pieces) == 1 else b"".join(pieces)
            deadline.allow(GRACE_SECONDS + size / MIN_BYTES_PER_SECOND)


class ReadInbound(Inbound):
    """A request whose body has been read, and may have been rewritten."""

    __slots__ = ("_content",)

    def __init__(self, inbound: Inbound, content: bytes) -> None:
        super().__init__(inbound.scope, inbound.receive, inbound.path, inbound.timer)
        self._content = content

    async def body(self, limit: int, encodings: int = 2) -> bytes:
        return self._content


def _decompress(body: bytes, encoding: str, limit: int, encodings: int) -> bytes:
    """Decompress a body, in a thread: zlib lets others run. Imported on demand, because few clients compress."""
    from dragoman.gateway.http.body_decompression import BadEncoding, TooLargeDecompressed, decompress

    try:
        return decompress(body, encoding, limit, encodings)
    except TooLargeDecompressed as error:
        raise BodyTooLarge(str(error)) from None
    except BadEncoding as error:
        raise BodyEncodingRefused(str(error)) from None
