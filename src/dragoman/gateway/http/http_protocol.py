"""HTTP/1.1 of the gateway, with limits on everything that a client may send or leave unread.

uvicorn runs it: the class is the option `http` of its `Config`. uvicorn owns the event loop, the listening sockets and
the lifespan. It gives a protocol the `server_state`, in which it finds the open connections and the requests under way,
and calls `shutdown` when it wants to end. Nothing else of uvicorn is used.

There is no timer per answer: one check per second looks at all connections. Head and body of an answer are one write.

Trailers are counted and dropped: a key or an encoding in a trailer is nothing. A `GET` that asks for a WebSocket
becomes one (`socket_protocol`). Any other `Upgrade` is ignored, as the standard allows: the request is answered as if
it had not been there.
"""

from __future__ import annotations

import asyncio
import http
import os
import socket
import struct
from collections import deque
from collections.abc import Callable, Iterable
from typing import Any
from urllib.parse import unquote

import httptools

from dragoman.gateway.http.http2_refusal import PREFACE, Http2Opening
from dragoman.gateway.http.unread_watch import HTTP_LOGGER, UnreadWatch

HEAD_SECONDS = 30.0
"""The time that a client has for the head of a request."""

MAX_PIPELINED = 32
"""Requests that may wait on a connection for the answer to the one before them."""

MAX_UNREAD = 65_536
"""Bytes of a body that may wait for the endpoint. Then nothing more is read from the client."""

_PHRASES = {one.value: one.phrase for one in http.HTTPStatus}
_STATUS_LINES = {status: f"HTTP/1.1 {status} {_PHRASES.get(status, '')}\r\n".encode() for status in range(100, 600)}
_ASGI = {"version": "3.0", "spec_version": "2.3"}
_SAFE = bytes([9, *range(32, 127), *range(128, 256)])
_BODILESS = frozenset({204, 304})
_TOO_SLOW = 408
_NO_LINGER = struct.pack("hh" if os.name == "nt" else "ii", 1, 0)

Message = dict[str, Any]
"""What an ASGI application receives or sends, or its scope."""


class HeadRefused(Exception):
    """The head of a request is not accepted. The answer is sent as it stands here, and the connection ends."""

    def __init__(self, status: int, why: str) -> None:
        super().__init__(why)
        head = b"content-type: text/plain\r\nconnection: close\r\ncontent-length: %d\r\n\r\n" % (len(why) + 1)
        self.answer = b"%b%b%b\n" % (_STATUS_LINES[status], head, why.encode())


class ResponseCycle:
    """One request and its answer, as an ASGI application sees them. Head and first piece of the body are one write."""

    def __init__(self, connection: BoundedProtocol, scope: Message, keep_alive: bool, awaits_leave: bool) -> None:
        self.scope = scope
        self.keep_alive = keep_alive
        self.body = bytearray()
        """What has arrived of the body and was not received yet."""
        self.more_body = True
        self.news = asyncio.Event()
        """Set if there is something to receive."""
        self.disconnected = False
        self.complete = False
        """Whether the answer has its end."""
        self.written = 0
        """Bytes of the answer."""
        self._connection = connection
        self._transport = connection.transport
        self._awaits_leave = awaits_leave
        """Whether the client sends its body only after `100 Continue`."""
        self._started = False
        self._head = b""
        self._chunked = False
        self._until_close = False
        """Whether the body ends with the connection, for HTTP/1.0."""
        self._remaining = 0
        """Bytes of the body that `content-length` still promises."""

    async def run(self, app: Any) -> None:
        """Let the application answer. If it does not, the client gets an error, or at least an end."""
        try:
            await app(self.scope, self.receive, self.send)
        except BaseException as error:
            HTTP_LOGGER.error("the application failed", exc_info=error)
            await self._fail()
        else:
            if not (self.complete or self.disconnected):
                HTTP_LOGGER.error("the application did not finish its answer")
                await self._fail()

    async def _fail(self) -> None:
        if self._started:
            self._transport.close()
            return
        body = b"Internal Server Error"
        headers = [(b"content-type", b"text/plain"), (b"content-length", b"21"), (b"connection", b"close")]
        await self.send({"type": "http.response.start", "status": 500, "headers": headers})
        await self.send({"type": "http.response.body", "body": body})

    async def receive(self) -> Message:
        if self._awaits_leave and not self._transport.is_closing():
            self._awaits_leave = False
            self._transport.write(b"HTTP/1.1 100 Continue\r\n\r\n")
        if not (self.disconnected or self.complete):
            self._connection.resume_reading()
            await self.news.wait()
            self.news.clear()
        if self.disconnected or self.complete:
            return {"type": "http.disconnect"}
        body, self.body = bytes(self.body), bytearray()
        return {"type": "http.request", "body": body, "more_body": self.more_body}

    async def send(self, message: Message) -> None:
        if (writable := self._connection.writable) is not None and not self.disconnected:
            await writable.wait()
        if self.disconnected:
            return
        if self.complete:
            raise RuntimeError(f"{message['type']} after the end of an answer")
        if not self._started:
            self._started = True
            self._awaits_leave = False
            self._head = self._render_head(message["status"], message["headers"])
            return
        last = not message.get("more_body", False)
        self._write(message.get("body", b""), last)
        if last:
            self._finish()

    def leave(self) -> None:
        """The client is gone."""
        if not self.complete:
            self.disconnected = True
            self.news.set()

    def _render_head(self, status: int, headers: list[tuple[bytes, bytes]]) -> bytes:
        """The head of the answer. Raises if a header contains a line end or control character."""
        named = dict(headers)
        lines = [b"%b: %b\r\n" % pair for pair in headers]
        if b"content-length" in named:
            self._remaining = int(named[b"content-length"])
        elif status not in _BODILESS and self.scope["method"] != "HEAD":
            self._until_close = self.scope["http_version"] == "1.0"
            self._chunked = not self._until_close
            if self._chunked:
                lines.append(b"transfer-encoding: chunked\r\n")
        if status == _TOO_SLOW:
            self.keep_alive = False  # half a body is still to come, and nobody waits for it
        if named.get(b"connection") == b"close":
            self.keep_alive = False
        elif not self.keep_alive:
            lines.append(b"connection: close\r\n")
        head = b"".join(lines)
        if head.translate(None, _SAFE) != b"\r\n" * len(lines):
            raise RuntimeError("a header contains a line end or another control character")
        return b"%b%b\r\n" % (_STATUS_LINES[status], head)

    def _write(self, body: bytes, last: bool) -> None:
        head, self._head = self._head, b""
        if self.scope["method"] == "HEAD":
            body = b""
        elif self._chunked:
            end = b"0\r\n\r\n" if last else b""
            body = b"%x\r\n%b\r\n%b" % (len(body), body, end) if body else end
        elif not self._until_close:
            self._remaining -= len(body)
            if self._remaining < 0 or (last and self._remaining):
                raise RuntimeError("the body does not have the length of its content-length")
        if head or body:
            self.written += len(head) + len(body)
            self._transport.write(head + body)

    def _finish(self) -> None:
        self.complete = True
        self.news.set()
        if not self.keep_alive:
            self._transport.close()
        self._connection.start_next()


class BoundedProtocol(UnreadWatch, asyncio.Protocol):
    """Limits the size and duration of a head, trailers, waiting requests, and the time between requests.

    `_least` and `_most` bound the bytes of a head, trailer or chunk extension from below and above. They are counted
    per piece from the socket, so that a small request costs two additions; only a suspicious head is measured.
    """

    head_limit: int
    idle_seconds: float
    message_limit: Callable[[], int]
    writable: asyncio.Event | None = None
    """Set while the client does not read its answer: what waits for it."""
    head_since: float | None = None
    idle_since: float | None = None
    _piece = _least = _most = 0
    _cycle: ResponseCycle | None = None
    """The last request that began. Its body is read."""
    _active: ResponseCycle | None = None
    """The request that is answered. Others may have begun behind it."""
    _refusal: HeadRefused | None = None
    _upgrading = _has_body = _paused = _expects_leave = False
    _scheme = "http"
    _url = b""

    def __init__(self, config: Any, server_state: Any, **_others: Any) -> None:
        """uvicorn calls it, with more than is used here."""
        self._app = config.loaded_app
        self._server = server_state
        self._loop = asyncio.get_running_loop()
        self._parser: Any = httptools.HttpRequestParser(self)
        self._parser.set_dangerous_leniencies(lenient_data_after_close=True)
        self._headers: list[tuple[bytes, bytes]] = []
        self._waiting: deque[ResponseCycle] = deque()

    # What the event loop and uvicorn call.

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        self._server.connections.add(self)
        self.transport = transport
        self._scheme = "https" if transport.get_extra_info("sslcontext") else "http"
        self.head_since = self._loop.time()

    def connection_lost(self, exc: Exception | None) -> None:
        self._server.connections.discard(self)
        for cycle in (self._active, *self._waiting):
            if cycle is not None:
                cycle.leave()
        self._waiting.clear()
        self._active = self._cycle = self._parser = None  # no cycle of references remains
        self.resume_writing()

    def eof_received(self) -> None:
        """Close the connection."""

    def shutdown(self) -> None:
        """Close after the answer that is under way."""
        if self._cycle is None or self._cycle.complete:
            self.transport.close()
        else:
            self._cycle.keep_alive = False

    def pause_writing(self) -> None:
        self.writable = asyncio.Event()

    def resume_writing(self) -> None:
        if self.writable is not None:
            self.writable.set()
            self.writable = None

    def resume_reading(self) -> None:
        if self._paused:
            self._paused = False
            self.transport.resume_reading()

    def data_received(self, data: bytes) -> None:
        if self.transport.is_closing():
            return
        self._piece = size = len(data)
        self._least += size
        self._most += size
        try:
            self._parser.feed_data(data)
        except httptools.HttpParserUpgrade as pause:
            self._upgrade(data[pause.args[0] :])
        except httptools.HttpParserError:
            if data.startswith(PREFACE) and self._cycle is None:
                self._parser = _Http2Parser(self)
                self._parser.feed_data(data)
                return
            self._end(self._refusal or HeadRefused(400, "this is not a valid HTTP request"))
        if self._least > self.head_limit:
            self._end(HeadRefused(431, "the head of the request, or what follows its body, is too large"))
        if self._has_body:
            self._announce_body()

    # What the parser calls.

    def on_message_begin(self) -> None:
        self._url = b""
        self._headers = []
        self._expects_leave = self._upgrading = False
        self.head_since = self._loop.time()
        self.idle_since = None
        self._least, self._most = 0, self._piece

    def on_url(self, url: bytes) -> None:
        self._url += url

    def on_header(self, name: bytes, value: bytes) -> None:
        name = name.lower()
        if name == b"expect" and value.lower() == b"100-continue":
            self._expects_leave = True
        self._headers.append((name, value))

    def on_headers_complete(self) -> None:
        parser, headers = self._parser, self._headers
        if parser.should_upgrade():
            self._upgrading = True  # the parser leaves the body out; `_upgrade` begins again
            return
        self.head_since = None
        version = parser.get_http_version()
        self._check_head(headers, version)
        self._headers = []  # trailers would be put among them
        scope = self._make_scope(version, parser.get_method().decode("ascii"), headers)
        last = self._cycle
        keep_alive = version != "1.0" and parser.should_keep_alive()
        cycle = self._cycle = ResponseCycle(self, scope, keep_alive, self._expects_leave)
        if last is None or last.complete:
            self._start(cycle)
        else:  # it starts when the request before it is answered
            self._queue(cycle)

    def _make_scope(self, version: str, method: str, headers: list[tuple[bytes, bytes]]) -> Message:
        url = httptools.parse_url(self._url)
        path = url.path.decode("ascii")
        return {
            "type": "http",
            "asgi": _ASGI,
            "http_version": version,
            "method": method,
            "scheme": self._scheme,
            "path": unquote(path) if "%" in path else path,
            "raw_path": url.path,
            "query_string": url.query or b"",
            "root_path": "",
            "headers": headers,
        }

    def on_body(self, body: bytes) -> None:
        """Quick, because a client may send a chunk for every byte. `_announce_body` does the rest."""
        self._least = 0
        cycle = self._cycle
        if cycle is not None and not cycle.complete:
            cycle.body += body
            self._has_body = True

    def on_message_complete(self) -> None:
        cycle = self._cycle
        if cycle is not None and not self._upgrading and not cycle.complete:
            cycle.more_body = False
            cycle.news.set()

    # Requests in turn.

    def _start(self, cycle: ResponseCycle) -> None:
        self._active = cycle
        tasks = self._server.tasks
        task = self._loop.create_task(cycle.run(self._app))
        task.add_done_callback(tasks.discard)
        tasks.add(task)

    def _queue(self, cycle: ResponseCycle) -> None:
        """Reading goes on, because only a reader notices that the client leaves."""
        if len(self._waiting) >= MAX_PIPELINED:
            raise self._refuse(400, f"more than {MAX_PIPELINED} requests wait on this connection")
        self._waiting.append(cycle)

    def start_next(self) -> None:
        """An answer is complete: begin with the request behind it."""
        self._server.total_requests += 1
        if self.transport.is_closing():
            return
        self.resume_reading()
        if self._waiting:
            self._start(self._waiting.popleft())
        else:
            self.idle_since = self._loop.time()

    # Limits.

    def _check_head(self, headers: list[tuple[bytes, bytes]], version: str) -> None:
        """Raise HeadRefused for a head that is too large, or that does not say which host it is for."""
        if self._most > self.head_limit and _size(self._url, headers) > self.head_limit:
            raise self._refuse(431, "the head of the request is too large")
        hosts = [value for name, value in headers if name == b"host"]
        if len(hosts) != 1 and (hosts or version != "1.0"):
            raise self._refuse(400, "a request needs exactly one Host header")

    def _refuse(self, status: int, why: str) -> HeadRefused:
        """Keep the refusal, because the parser hides what its callbacks raise."""
        self._refusal = HeadRefused(status, why)
        return self._refusal

    def _announce_body(self) -> None:
        """Wake the endpoint, and stop reading if it does not keep up."""
        self._has_body = False
        if (cycle := self._cycle) is None:
            return
        if len(cycle.body) > MAX_UNREAD and not self._paused:
            self._paused = True
            self.transport.pause_reading()
        cycle.news.set()

    def _upgrade(self, rest: bytes) -> None:
        """Open a WebSocket if the request asks for one, else parse it again without its `Upgrade`."""
        method = self._parser.get_method()
        if method == b"CONNECT" or not self._upgrading:
            self._end(HeadRefused(400, "this server is not a proxy"))
            return
        version = self._parser.get_http_version()
        if method == b"GET" and version == "1.1" and self._has_become_socket(rest):
            return
        kept = [b"%b: %b\r\n" % pair for pair in self._headers if pair[0] not in (b"upgrade", b"connection")]
        self._parser = httptools.HttpRequestParser(self)
        self.data_received(b"%b %b HTTP/%b\r\n%b\r\n%b" % (method, self._url, version.encode(), b"".join(kept), rest))

    def _has_become_socket(self, rest: bytes) -> bool:
        """Hand the connection over to a socket. False if the request has no valid handshake, or is not the next."""
        from dragoman.gateway.http.socket_protocol import SocketConnection, open_handshake

        headers, last = self._headers, self._cycle
        handshake = open_handshake(headers, self.message_limit())
        if handshake is None or (last is not None and not last.complete):
            return False
        try:
            self._check_head(headers, "1.1")
        except HeadRefused as refusal:
            self._end(refusal)
            return True
        scope = self._make_scope("1.1", "GET", headers)
        self._server.connections.discard(self)
        self._active = self._cycle = self._parser = None
        SocketConnection(self.transport, *handshake, rest).start(self._app, self._server, scope)
        return True

    def end_http2(self, refusal: bytes) -> None:
        """Tell a client that began with HTTP/2 what this server speaks, and close."""
        self.transport.write(refusal)
        self.transport.close()

    def _end(self, refusal: HeadRefused) -> None:
        """Tell the client, unless an answer is under way, and close."""
        if self.transport.is_closing():
            return
        if self._active is None or self._active.complete:
            self.transport.write(refusal.answer)
        self.transport.close()

    def overdue(self, now: float) -> bool:
        """Whether the client has been silent, or in the middle of a head, for too long."""
        if self.head_since is not None:
            return now - self.head_since > HEAD_SECONDS
        return self.idle_since is not None and now - self.idle_since > self.idle_seconds

    def written(self) -> int:
        return self._active.written if self._active is not None else 0


class _Http2Parser:
    """Stands in place of the parser on a connection that began with HTTP/2."""

    def __init__(self, connection: BoundedProtocol) -> None:
        self._connection = connection
        self._opening = Http2Opening()

    def feed_data(self, data: bytes) -> None:
        if refusal := self._opening.refuse(data):
            self._connection.end_http2(refusal)


def bounded_protocol(
    limit: int, idle: float, max_message: Callable[[], int] = lambda: 32 << 20
) -> type[BoundedProtocol]:
    """The protocol with a head of at most `limit` bytes, and `idle` seconds between requests. `max_message`: bytes of
    one message on a WebSocket that opens now."""

    class Configured(BoundedProtocol):
        head_limit = limit
        idle_seconds = idle
        message_limit = staticmethod(max_message)

    return Configured


def close_overdue(connections: Iterable[Any], now: float, write_seconds: float) -> int:
    """Close connections that have been silent for too long, and reset those that do not read their answer.

    Returns how many were reset.
    """
    reset = 0
    for connection in list(connections):
        if connection.stuck(now, write_seconds):
            _reset(connection.transport)
            reset += 1
        elif connection.overdue(now):
            connection.transport.close()
    return reset


def _reset(transport: asyncio.Transport) -> None:
    """Give up a connection with all that waits on it.

    `abort` alone drops what this process holds. The kernel would keep megabytes per connection, and the connection, for
    as long as the client likes. Without a time to linger it drops both at once.
    """
    if (connection := transport.get_extra_info("socket")) is not None:
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _NO_LINGER)
    transport.abort()


def _size(url: bytes, headers: list[tuple[bytes, bytes]]) -> int:
    return len(url) + sum([len(name) + len(value) + 4 for name, value in headers])
