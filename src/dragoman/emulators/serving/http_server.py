"""A small HTTP/1.1 server that can misbehave on demand: cut an answer, stall, send slowly, reset the connection.

Requests are bounded in size and time. A client that exceeds a limit gets the provider's error for it.
"""

from __future__ import annotations

import asyncio
import socket
import struct
from collections import deque
from collections.abc import AsyncIterator, Iterable
from contextlib import suppress
from dataclasses import dataclass, replace
from http import HTTPStatus
from urllib.parse import parse_qsl, unquote

import httptools

from dragoman.emulators.emulator_core import EmulatorCore, PlannedResponse
from dragoman.emulators.faults import Fault
from dragoman.emulators.provider import FaultKind, ServesSockets
from dragoman.emulators.wire import rechunk, render_json

_CHUNK = 1 << 16
_MAX_DRAINED = 256 << 20  # bytes a client may still send after its body was refused as too large


@dataclass(frozen=True, slots=True)
class ServerLimits:
    """Limits for one client, and the size of writes."""

    body: int = 32 << 20
    request_seconds: float = 30.0  # from the first byte to the last
    idle_seconds: float = 120.0  # between requests of one connection
    socket_seconds: float = 3600.0  # the age of a WebSocket
    write_size: int = 0  # bytes per write of a stream; 0 writes one frame at a time


@dataclass(slots=True)
class HttpRequest:
    """One parsed request."""

    method: str
    target: str
    headers: dict[str, str]
    body: bytes
    keep_alive: bool

    @property
    def asks_for_socket(self) -> bool:
        return self.method == "GET" and self.headers.get("upgrade", "").lower() == "websocket"


class TooLargeError(Exception):
    """The body is larger than the limit."""


class RequestParser:
    """Parses bytes into requests: the callbacks of the HTTP parser."""

    def __init__(self, limit: int) -> None:
        self.done: deque[HttpRequest] = deque()
        self.wants_continue = False
        self.is_partial = False
        self.rest = b""  # what follows a request for a WebSocket
        self._limit = limit
        self._parser = httptools.HttpRequestParser(self)
        self._reset()

    def feed(self, data: bytes) -> None:
        try:
            self._parser.feed_data(data)
        except httptools.HttpParserUpgrade as pause:
            if not self.done or not self.done[-1].asks_for_socket:
                raise
            self.rest = data[pause.args[0] :]
        except httptools.HttpParserCallbackError as error:
            raise (error.__context__ if isinstance(error.__context__, TooLargeError) else error) from None

    def _reset(self) -> None:
        self._target = b""
        self._headers: dict[str, str] = {}
        self._body = bytearray()

    def on_message_begin(self) -> None:
        self.is_partial = True
        self._reset()

    def on_url(self, url: bytes) -> None:
        self._target += url

    def on_header(self, name: bytes, value: bytes) -> None:
        self._headers[name.decode("latin-1").lower()] = value.decode("latin-1")

    def on_headers_complete(self) -> None:
        length = self._headers.get("content-length", "0")
        if length.isdigit() and int(length) > self._limit:
            raise TooLargeError
        self.wants_continue = self._headers.get("expect", "").lower() == "100-continue"

    def on_body(self, body: bytes) -> None:
        self._body += body
        if len(self._body) > self._limit:
            raise TooLargeError

    def on_message_complete(self) -> None:
        self.is_partial = False
        self.done.append(
            HttpRequest(
                self._parser.get_method().decode("latin-1"),
                self._target.decode("latin-1"),
                self._headers,
                bytes(self._body),
                self._parser.should_keep_alive(),
            )
        )


async def start(
    core: EmulatorCore, host: str = "127.0.0.1", port: int = 0, limits: ServerLimits | None = None
) -> asyncio.Server:
    """Serve an emulator. Port 0 takes a free port."""
    bounds = limits or ServerLimits()

    async def connected(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            await ClientConnection(core, bounds, reader, writer).serve()
        except (ConnectionError, TimeoutError):
            pass  # the client left
        except asyncio.CancelledError:
            pass  # the server stops; Python 3.11 would print a traceback for each open connection
        finally:
            writer.close()

    return await asyncio.start_server(connected, host, port, backlog=1024)


class ClientConnection:
    """The connection to one client."""

    def __init__(
        self, core: EmulatorCore, limits: ServerLimits, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        self._core = core
        self._limits = limits
        self._reader = reader
        self._writer = writer
        self._parser = RequestParser(limits.body)

    async def serve(self) -> None:
        """Answer requests until either side closes."""
        async for request in self._requests():
            path, _, query = request.target.partition("?")
            if request.asks_for_socket:
                await self._serve_socket(request, unquote(path))
                return
            fields = dict(parse_qsl(query, keep_blank_values=True))
            response = self._core.respond(request.method, unquote(path), fields, request.headers, request.body)
            if request.method == "HEAD":  # the client would take a body for the next answer
                response = replace(response, body=b"", frames=None)
            if not await self._send(response, request.keep_alive):
                return

    async def _serve_socket(self, request: HttpRequest, path: str) -> None:
        """A WebSocket, if the provider has one at this path."""
        provider = self._core.provider
        if isinstance(provider, ServesSockets) and provider.has_socket(path):
            from dragoman.emulators.serving.socket_server import ClientSocket

            opened = ClientSocket(self._core, self._reader, self._writer, self._limits.socket_seconds)
            await opened.serve(path, request.headers, self._parser.rest)
        else:
            response = self._core.respond("GET", path, {}, request.headers, b"")
            await self._send(response, keep_alive=False)

    async def _requests(self) -> AsyncIterator[HttpRequest]:
        while True:
            try:
                request = await self._next()
            except TooLargeError:
                await self._refuse_incomplete(FaultKind.TOO_LARGE)
                return
            except TimeoutError:
                if self._parser.is_partial:
                    await self._refuse_incomplete(FaultKind.TIMEOUT)
                return
            except (httptools.HttpParserError, httptools.HttpParserUpgrade) as error:
                body = render_json({"error": {"message": f"this is not an HTTP/1.1 request: {error}"}})
                await self._send(PlannedResponse(400, "application/json", body), keep_alive=False)
                return
            if request is None:
                return
            yield request

    async def _next(self) -> HttpRequest | None:
        """The next request; None if the client closed the connection."""
        if not self._parser.done and not await self._feed(self._limits.idle_seconds):
            return None
        async with asyncio.timeout(self._limits.request_seconds):
            while not self._parser.done:
                if not await self._feed(None):
                    return None
        return self._parser.done.popleft()

    async def _feed(self, seconds: float | None) -> bool:
        async with asyncio.timeout(seconds):
            data = await self._reader.read(_CHUNK)
        if not data:
            return False
        self._parser.feed(data)
        if self._parser.wants_continue and self._parser.is_partial:
            self._parser.wants_continue = False
            self._writer.write(b"HTTP/1.1 100 Continue\r\n\r\n")
        return True

    async def _refuse_incomplete(self, kind: FaultKind) -> None:
        """Send the error, then read what the client still sends: most clients read the answer only after that."""
        await self._send(self._core.refuse_incomplete(kind), keep_alive=False)
        self._writer.write_eof()
        drained = 0
        async with asyncio.timeout(5):
            while drained < _MAX_DRAINED and (data := await self._reader.read(_CHUNK)):
                drained += len(data)

    async def _send(self, response: PlannedResponse, keep_alive: bool) -> bool:
        """Send the response with its fault. False closes the connection."""
        fault = response.fault
        if fault is not None and fault.name == "reset":
            return self._reset()
        if response.frames is None:
            return await self._send_whole(response, keep_alive)
        self._write_head(response, ["transfer-encoding: chunked"], keep_alive)
        await self._writer.drain()
        if fault is not None and fault.name == "reset-after-headers":
            await asyncio.sleep(0.02)  # let the client read the headers before the reset discards them
            return self._reset()
        if not await self._send_frames(response):
            return False
        self._writer.write(b"0\r\n\r\n")
        await self._writer.drain()
        return keep_alive

    async def _send_whole(self, response: PlannedResponse, keep_alive: bool) -> bool:
        fault, body = response.fault, response.body
        if fault is not None and fault.name == "bad-json":
            body = body[: max(1, len(body) - 7)]
        self._write_head(response, [f"content-length: {len(body)}"], keep_alive)
        await self._writer.drain()
        if fault is None or fault.name in ("bad-json", "wrong-type"):
            self._writer.write(body)
        else:
            half = len(body) // 2
            if not await self._damage(fault, [body[:half], body[half:]], chunked=False):
                return False
        await self._writer.drain()
        return keep_alive

    async def _send_frames(self, response: PlannedResponse) -> bool:
        frames, fault = response.frames or (), response.fault
        if fault is not None and fault.name == "bad-json":
            frames = _with_bad_json(frames, fault.after)
        elif fault is not None and fault.name == "stream-error":
            frames = _end_by_error(frames, fault.after, response.error_frame)
        elif fault is not None and fault.name != "wrong-type":
            return await self._damage(fault, frames, chunked=True)
        for piece in rechunk(frames, self._limits.write_size):
            await self._write(piece, chunked=True)
        return True

    async def _damage(self, fault: Fault, pieces: Iterable[bytes], chunked: bool) -> bool:
        """Send slowly, or stop halfway: close, stall or reset."""
        if fault.name == "slow":
            for piece in rechunk(pieces, max(1, fault.bytes)):
                await self._write(piece, chunked)
                await asyncio.sleep(fault.every)
            return True
        if fault.name == "reset-after-headers":
            await asyncio.sleep(0.02)
            return self._reset()
        allowed = fault.after if chunked else 1
        for sent, piece in enumerate(pieces):
            if sent >= allowed:
                break
            await self._write(piece, chunked)
        if fault.name == "stall":
            await self._wait(fault.seconds)
        return False

    async def _wait(self, seconds: float) -> None:
        """Send nothing until the time is up or the client leaves."""
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                while await self._reader.read(_CHUNK):
                    pass

    async def _write(self, piece: bytes, chunked: bool) -> None:
        if self._writer.is_closing():
            raise ConnectionResetError
        self._writer.write(b"%x\r\n%b\r\n" % (len(piece), piece) if chunked else piece)
        await self._writer.drain()
        await asyncio.sleep(0)  # lets each write become a packet of its own

    def _write_head(self, response: PlannedResponse, extra: list[str], keep_alive: bool) -> None:
        fault = response.fault
        kind = "text/plain" if fault is not None and fault.name == "wrong-type" else response.content_type
        lines = [f"HTTP/1.1 {response.status} {_phrase(response.status)}", f"content-type: {kind}", *extra]
        lines += [f"{name}: {value}" for name, value in response.headers.items()]
        lines.append(f"connection: {'keep-alive' if keep_alive else 'close'}")
        self._writer.write(("\r\n".join(lines) + "\r\n\r\n").encode("latin-1"))

    def _reset(self) -> bool:
        raw = self._writer.get_extra_info("socket")
        raw.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self._writer.transport.abort()
        return False


def _phrase(status: int) -> str:
    try:
        return HTTPStatus(status).phrase
    except ValueError:
        return "Overloaded" if status == 529 else "Status"


def _with_bad_json(frames: Iterable[bytes], after: int) -> Iterable[bytes]:
    """The same frames, but one is no longer JSON."""
    for at, frame in enumerate(frames):
        yield frame.replace(b"}", b"", 1).replace(b'"', b"", 1) if at == after else frame


def _end_by_error(frames: Iterable[bytes], after: int, error: bytes) -> Iterable[bytes]:
    for at, frame in enumerate(frames):
        if at >= after:
            break
        yield frame
    yield error
