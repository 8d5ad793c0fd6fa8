"""A WebSocket, as an ASGI application sees it, on a connection that began as HTTP/1.1.

`websockets` checks the handshake and cuts bytes into frames; it opens no connection itself. What a client may send or
leave unread is limited here, as it is for a request. There is no compression: a small message could become a large one.
"""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import Iterable
from typing import Any

from websockets.frames import Frame, Opcode
from websockets.http11 import Request
from websockets.protocol import State
from websockets.server import ServerProtocol

from dragoman.gateway.http.inbound import GRACE_SECONDS, MIN_BYTES_PER_SECOND
from dragoman.gateway.http.unread_watch import HTTP_LOGGER, UnreadWatch

CLOSE_SECONDS = 10.0
"""The time that a client has to answer the end of a socket."""
SHUTDOWN = "dragoman.shutdown"
"""The extension of the scope that holds an event: the server wants to end."""
MOST_FRAGMENTS = 4096
"""Pieces that a message may come in."""
SLICE = 4096
"""Bytes that are cut into frames at a time. Then others have their turn: a frame may have six bytes."""

_WIRE_LOGGER = logging.getLogger("dragoman.http.frames")
_WIRE_LOGGER.setLevel(logging.CRITICAL)
_HANDSHAKE = frozenset({b"host", b"upgrade", b"connection", b"sec-websocket-key", b"sec-websocket-version"})

Message = dict[str, Any]
Head = list[tuple[bytes, bytes]]

_EXTENSIONS: Message = {"websocket.http.response": {}}


def open_handshake(headers: Head, max_message: int) -> tuple[ServerProtocol, Request] | None:
    """The protocol of a socket that a request asks for; None if its handshake is not a valid one."""
    lines = [b"%b: %b\r\n" % pair for pair in headers if pair[0] in _HANDSHAKE]
    wire = ServerProtocol(max_size=max_message, logger=_WIRE_LOGGER)
    wire.receive_data(b"GET / HTTP/1.1\r\n%b\r\n" % b"".join(lines))
    asked = [event for event in wire.events_received() if isinstance(event, Request)]
    if not asked:
        return None
    trial = ServerProtocol(logger=_WIRE_LOGGER)
    return (wire, asked[0]) if trial.accept(asked[0]).status_code == 101 else None


class SocketConnection(UnreadWatch, asyncio.Protocol):
    """One socket. Nothing is read before it is accepted, nor while a message waits or the client does not read."""

    def __init__(self, transport: asyncio.Transport, wire: ServerProtocol, request: Request, rest: bytes) -> None:
        self.transport = transport
        self._wire = wire
        self._request = request
        self._unparsed = bytearray(rest)
        """What came and was not cut into frames yet."""
        self._loop = asyncio.get_running_loop()
        self._connections: set[Any] = set()
        self._messages: deque[Message] = deque([{"type": "websocket.connect"}])
        self._news = asyncio.Event()
        self._going_away = asyncio.Event()
        self._fragments: list[bytes] = []
        self._is_text = True
        self._fed = self._written = 0
        self._since: float | None = None
        """When the first byte of an unfinished message came."""
        self._closing_since: float | None = None
        self._writable: asyncio.Event | None = None
        self._paused = self._over = self._refusing = self._parsing = False

    def start(self, app: Any, server: Any, scope: Message) -> None:
        """Take the connection over, and let the application answer. `server`: the state of uvicorn."""
        self._connections = server.connections
        self._connections.add(self)
        self.transport.set_protocol(self)
        self._pause()
        given = {
            **scope,
            "type": "websocket",
            "scheme": "wss" if scope["scheme"] == "https" else "ws",
            "subprotocols": [],
            "extensions": {**_EXTENSIONS, SHUTDOWN: self._going_away},
        }
        task = self._loop.create_task(self._run(app, given))
        task.add_done_callback(server.tasks.discard)
        server.tasks.add(task)

    async def _run(self, app: Any, scope: Message) -> None:
        try:
            await app(scope, self.receive, self.send)
        except BaseException as error:
            HTTP_LOGGER.error("the application failed", exc_info=error)
        finally:
            if not self._over:
                self._end(1011)

    # What the application calls.

    async def receive(self) -> Message:
        """The next message. Others have their turn before it: the last one may have been answered at once."""
        await asyncio.sleep(0)
        while not self._messages:
            self._resume()
            self._news.clear()
            await self._news.wait()
        return self._messages.popleft()

    async def send(self, message: Message) -> None:
        if self._writable is not None and not self._over:
            await self._writable.wait()
        kind = message["type"]
        if self._over:
            return
        if kind == "websocket.send":
            self._wire.send_text(message["text"].encode())
            self._flush()
        elif kind == "websocket.accept":
            self._accept(message.get("headers", ()))
        elif kind == "websocket.close":
            self._end(message.get("code", 1000), message.get("reason") or "")
        elif kind == "websocket.http.response.start":
            self._refusing = True
            self._refuse(message["status"], message["headers"])
        elif kind == "websocket.http.response.body":
            self._write(message.get("body", b""))
            if not message.get("more_body", False):
                self._finish()

    def _accept(self, headers: Iterable[tuple[bytes, bytes]]) -> None:
        answer = self._wire.accept(self._request)
        for name, value in headers:
            answer.headers[name.decode("latin-1")] = value.decode("latin-1")
        self._wire.send_response(answer)
        self._flush()
        self._resume()

    def _refuse(self, status: int, headers: Iterable[tuple[bytes, bytes]]) -> None:
        lines = [b"%b: %b\r\n" % pair for pair in headers if pair[0] != b"connection"]
        head = b"HTTP/1.1 %d \r\n%bconnection: close\r\n\r\n"
        self._write(head % (status, b"".join(lines)))

    def _end(self, code: int, reason: str = "") -> None:
        """Tell the client the end, and wait a little for its answer. Before the socket is open: refuse it."""
        if self._wire.state is State.CONNECTING:
            if not self._refusing:
                self._refuse(403 if code != 1011 else 500, [(b"content-length", b"0")])
            self._finish()
        elif self._wire.state is State.OPEN:
            self._wire.send_close(code, reason)
            self._closing_since = self._loop.time()
            self._flush()
            self._resume()
        else:
            self._finish()

    def _finish(self) -> None:
        self._over = True
        self.transport.close()

    # What the event loop and uvicorn call.

    def connection_lost(self, exc: Exception | None) -> None:
        self._connections.discard(self)
        self._leave(None)
        self.resume_writing()

    def eof_received(self) -> None:
        """Close the connection."""

    def shutdown(self) -> None:
        """Let the application end, which may be in the middle of an answer."""
        self._going_away.set()

    def pause_writing(self) -> None:
        """A client that does not read may not send either: each ping would have to be answered."""
        self._writable = asyncio.Event()
        self._pause()

    def resume_writing(self) -> None:
        if self._writable is not None:
            self._writable.set()
            self._writable = None
            self._resume()

    def data_received(self, data: bytes) -> None:
        if self._over:
            return
        if self._since is None:
            self._since = self._loop.time()
        self._fed += len(data)
        self._unparsed += data
        self._pause()
        self._resume()

    def _parse(self) -> None:
        """Cut the next slice into frames."""
        self._parsing = False
        if self._over:
            return
        piece = bytes(self._unparsed[:SLICE])
        del self._unparsed[:SLICE]
        try:
            self._wire.receive_data(piece)
            for event in self._wire.events_received():
                if isinstance(event, Frame):
                    self._take(event)
        except UnicodeDecodeError:
            self._wire.fail(1007, "a text must be UTF-8")
        self._flush()
        self._resume()

    def _take(self, frame: Frame) -> None:
        if frame.opcode not in (Opcode.TEXT, Opcode.BINARY, Opcode.CONT):
            if not self._fragments:
                self._since, self._fed = None, 0
            return
        if frame.opcode is not Opcode.CONT:
            self._is_text = frame.opcode is Opcode.TEXT
        self._fragments.append(bytes(frame.data))
        if len(self._fragments) > MOST_FRAGMENTS:
            self._wire.fail(1008, f"a message may come in {MOST_FRAGMENTS} pieces")
            return
        if not frame.fin:
            return
        whole = b"".join(self._fragments)
        self._fragments.clear()
        self._since, self._fed = None, 0
        if self._closing_since is not None:
            return
        given: Message = {"type": "websocket.receive"}
        self._put({**given, "text": whole.decode()} if self._is_text else {**given, "bytes": whole})

    # Limits and ends.

    def written(self) -> int:
        return self._written

    def overdue(self, now: float) -> bool:
        """Whether a message comes too slowly, or the client does not answer the end of the socket."""
        if self._closing_since is not None:
            return now - self._closing_since > CLOSE_SECONDS
        if self._since is None or self._paused:
            return False
        return now - self._since > GRACE_SECONDS + self._fed / MIN_BYTES_PER_SECOND

    def _leave(self, code: int | None) -> None:
        """The socket is over: the application hears of it once."""
        if self._messages and self._messages[-1]["type"] == "websocket.disconnect":
            return
        self._over = True
        self._put({"type": "websocket.disconnect", "code": code or 1006})

    def _put(self, message: Message) -> None:
        self._messages.append(message)
        self._news.set()

    def _flush(self) -> None:
        """Send what the protocol has to say. Its last word, which is empty, ends the connection."""
        pieces = self._wire.data_to_send()
        if output := b"".join(pieces):
            self._write(output)
        if b"" in pieces:
            self._close()

    def _close(self) -> None:
        """Close, if the client has said that it is done; else let it read why, and drop what it still sends."""
        received = self._wire.close_rcvd
        end = received or self._wire.close_sent
        self._leave(end.code if end is not None else None)
        if received is not None or not self.transport.can_write_eof():
            self.transport.close()
            return
        self.transport.write_eof()
        self._closing_since = self._loop.time()
        self._unparsed.clear()
        self._read_on()

    def _write(self, data: bytes) -> None:
        self._written += len(data)
        self.transport.write(data)

    def _pause(self) -> None:
        if not self._paused and not self.transport.is_closing():
            self._paused = True
            self.transport.pause_reading()

    def _resume(self) -> None:
        """Go on with what came, if the application has taken every message and the client reads what it is sent."""
        if self._wire.state is State.CONNECTING or self._messages or self._writable is not None or self._parsing:
            return
        if self._unparsed and not self._over:
            self._parsing = True
            self._loop.call_soon(self._parse)
        else:
            self._read_on()

    def _read_on(self) -> None:
        if self._paused and not self.transport.is_closing():
            self._paused = False
            self.transport.resume_reading()
