"""A small HTTP/1.1 server that can do what good servers never do: cut, stall, dribble, reset.

Bounded: a body has a largest size, a request a longest time. One that breaks either is told so in the provider's words.
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

from dragoman.emulators.emulator_core import EmulatorCore, Reply
from dragoman.emulators.faults import Fault
from dragoman.emulators.provider import FaultKind
from dragoman.emulators.wire import compact, cut

_CHUNK = 1 << 16
_MOST_DRAINED = 256 << 20  # what a client may still send after it was told that its body is too large


@dataclass(frozen=True, slots=True)
class Limits:
    """How much, and how long, a client may take."""

    body: int = 32 << 20
    request_seconds: float = 30.0  # from the first byte to the last
    idle_seconds: float = 120.0  # between requests of one connection
    cut: int = 0  # bytes per write of a stream; 0 sends frames whole


@dataclass(slots=True)
class Request:
    """One parsed request."""

    method: str
    target: str
    headers: dict[str, str]
    body: bytes
    keep_alive: bool


class TooLargeError(Exception):
    """The body is larger than the limit."""


class Incoming:
    """Bytes in, requests out: the callbacks of the HTTP parser."""

    def __init__(self, limit: int) -> None:
        self.done: deque[Request] = deque()
        self.wants_continue = False
        self.under_way = False
        self._limit = limit
        self._parser = httptools.HttpRequestParser(self)
        self._reset()

    def feed(self, data: bytes) -> None:
        try:
            self._parser.feed_data(data)
        except httptools.HttpParserCallbackError as error:
            raise (error.__context__ if isinstance(error.__context__, TooLargeError) else error) from None

    def _reset(self) -> None:
        self._target = b""
        self._headers: dict[str, str] = {}
        self._body = bytearray()

    def on_message_begin(self) -> None:
        self.under_way = True
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
        self.under_way = False
        self.done.append(
            Request(
                self._parser.get_method().decode("latin-1"),
                self._target.decode("latin-1"),
                self._headers,
                bytes(self._body),
                self._parser.should_keep_alive(),
            )
        )


async def start(
    desk: EmulatorCore, host: str = "127.0.0.1", port: int = 0, limits: Limits | None = None
) -> asyncio.Server:
    """The desk, reachable. Port 0 takes a free one."""
    bounds = limits or Limits()

    async def connected(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            await Connection(desk, bounds, reader, writer).serve()
        except (ConnectionError, TimeoutError):
            pass  # the client left; the next one is served all the same
        except asyncio.CancelledError:
            pass  # the server stops; Python 3.11 would print a traceback for each connection that was open
        finally:
            writer.close()

    return await asyncio.start_server(connected, host, port, backlog=1024)


class Connection:
    """One client."""

    def __init__(
        self, desk: EmulatorCore, limits: Limits, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        self._desk = desk
        self._limits = limits
        self._reader = reader
        self._writer = writer
        self._incoming = Incoming(limits.body)

    async def serve(self) -> None:
        """Requests one after the other, until either side has had enough."""
        async for request in self._requests():
            path, _, query = request.target.partition("?")
            fields = dict(parse_qsl(query, keep_blank_values=True))
            reply = self._desk.reply(request.method, unquote(path), fields, request.headers, request.body)
            if request.method == "HEAD":  # a body would be taken for the next answer
                reply = replace(reply, body=b"", frames=None)
            if not await self._send(reply, request.keep_alive):
                return

    async def _requests(self) -> AsyncIterator[Request]:
        while True:
            try:
                request = await self._next()
            except TooLargeError:
                await self._turn_away(FaultKind.TOO_LARGE)
                return
            except TimeoutError:
                if self._incoming.under_way:
                    await self._turn_away(FaultKind.TIMEOUT)
                return
            except (httptools.HttpParserError, httptools.HttpParserUpgrade) as error:
                body = compact({"error": {"message": f"this is no HTTP/1.1 request: {error}"}})
                await self._send(Reply(400, "application/json", body), keep_alive=False)
                return
            if request is None:
                return
            yield request

    async def _next(self) -> Request | None:
        """The next request; None when the client has closed."""
        if not self._incoming.done and not await self._feed(self._limits.idle_seconds):
            return None
        async with asyncio.timeout(self._limits.request_seconds):
            while not self._incoming.done:
                if not await self._feed(None):
                    return None
        return self._incoming.done.popleft()

    async def _feed(self, seconds: float | None) -> bool:
        async with asyncio.timeout(seconds):
            data = await self._reader.read(_CHUNK)
        if not data:
            return False
        self._incoming.feed(data)
        if self._incoming.wants_continue and self._incoming.under_way:
            self._incoming.wants_continue = False
            self._writer.write(b"HTTP/1.1 100 Continue\r\n\r\n")
        return True

    async def _turn_away(self, kind: FaultKind) -> None:
        """Say why, then let the client finish sending, so that it gets to read the answer."""
        await self._send(self._desk.turn_away(kind), keep_alive=False)
        self._writer.write_eof()
        drained = 0
        async with asyncio.timeout(5):
            while drained < _MOST_DRAINED and (data := await self._reader.read(_CHUNK)):
                drained += len(data)

    async def _send(self, reply: Reply, keep_alive: bool) -> bool:
        """Send it, faults included; False ends the connection."""
        fault = reply.fault
        if fault is not None and fault.name == "reset":
            return self._reset()
        if reply.frames is None:
            return await self._send_whole(reply, keep_alive)
        self._write_head(reply, ["transfer-encoding: chunked"], keep_alive)
        await self._writer.drain()
        if fault is not None and fault.name == "reset-after-headers":
            await asyncio.sleep(0.02)  # so that the headers are read before the reset throws them away
            return self._reset()
        if not await self._send_frames(reply):
            return False
        self._writer.write(b"0\r\n\r\n")
        await self._writer.drain()
        return keep_alive

    async def _send_whole(self, reply: Reply, keep_alive: bool) -> bool:
        fault, body = reply.fault, reply.body
        if fault is not None and fault.name == "bad-json":
            body = body[: max(1, len(body) - 7)]
        self._write_head(reply, [f"content-length: {len(body)}"], keep_alive)
        await self._writer.drain()
        if fault is None or fault.name in ("bad-json", "wrong-type"):
            self._writer.write(body)
        else:
            half = len(body) // 2
            if not await self._spoil(fault, [body[:half], body[half:]], chunked=False):
                return False
        await self._writer.drain()
        return keep_alive

    async def _send_frames(self, reply: Reply) -> bool:
        frames, fault = reply.frames or (), reply.fault
        if fault is not None and fault.name == "bad-json":
            frames = _broken(frames, fault.after)
        elif fault is not None and fault.name == "stream-error":
            frames = _ended(frames, fault.after, reply.error_frame)
        elif fault is not None and fault.name != "wrong-type":
            return await self._spoil(fault, frames, chunked=True)
        for piece in cut(frames, self._limits.cut):
            await self._write(piece, chunked=True)
        return True

    async def _spoil(self, fault: Fault, pieces: Iterable[bytes], chunked: bool) -> bool:
        """Send slowly, or stop half-way: by closing, by silence, by a reset."""
        if fault.name == "slow":
            for piece in cut(pieces, max(1, fault.bytes)):
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
        """Silence, until the time is up or the client has left."""
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                while await self._reader.read(_CHUNK):
                    pass

    async def _write(self, piece: bytes, chunked: bool) -> None:
        if self._writer.is_closing():
            raise ConnectionResetError
        self._writer.write(b"%x\r\n%b\r\n" % (len(piece), piece) if chunked else piece)
        await self._writer.drain()
        await asyncio.sleep(0)  # one write is one packet where the network lets it be

    def _write_head(self, reply: Reply, extra: list[str], keep_alive: bool) -> None:
        fault = reply.fault
        sort = "text/plain" if fault is not None and fault.name == "wrong-type" else reply.content_type
        lines = [f"HTTP/1.1 {reply.status} {_phrase(reply.status)}", f"content-type: {sort}", *extra]
        lines += [f"{name}: {value}" for name, value in reply.headers.items()]
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


def _broken(frames: Iterable[bytes], after: int) -> Iterable[bytes]:
    """The same frames, one of them torn."""
    for at, frame in enumerate(frames):
        yield frame.replace(b"}", b"", 1).replace(b'"', b"", 1) if at == after else frame


def _ended(frames: Iterable[bytes], after: int, error: bytes) -> Iterable[bytes]:
    for at, frame in enumerate(frames):
        if at >= after:
            break
        yield frame
    yield error
