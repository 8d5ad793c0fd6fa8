"""Servers to send to: one that says any bytes we like, and the bookkeeping to see what it was asked."""

import asyncio
import functools
import inspect
import socket
import ssl
import struct
import threading
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import pytest
import uvloop

from dragoman.upstream.transport.incoming import Incoming
from dragoman.upstream.transport.limits import Timeouts
from dragoman.upstream.transport.outgoing import Outgoing
from dragoman.upstream.transport.transport import Transport

Act = Callable[["Line"], Awaitable[None]]
OK = b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok"
PATIENT = Timeouts(connect=60, first_byte=60, idle=60, queue=60)
"""For answers that come: however slow the machine is, they are waited for."""
SHORT = Timeouts(connect=60, first_byte=0.3, idle=0.3, queue=60)
"""For answers that never come."""


@dataclass
class Raw:
    """A running server: where it is, what it heard, how many called."""

    url: str = ""
    port: int = 0
    heard: list[bytes] = field(default_factory=list)
    connections: int = 0
    open: int = 0


@dataclass
class Line:
    """One accepted connection."""

    reader: asyncio.StreamReader
    writer: asyncio.StreamWriter
    raw: Raw

    async def request(self) -> bytes:
        """The next request, whole; raises IncompleteReadError when the client has hung up."""
        head = await self.reader.readuntil(b"\r\n\r\n")
        body = b""
        if b"transfer-encoding: chunked" in head:
            while not body.endswith(b"0\r\n\r\n"):
                body += await self.reader.readuntil(b"\r\n")
        elif b"content-length: " in head:
            body = await self.reader.readexactly(int(head.split(b"content-length: ")[1].split(b"\r\n")[0]))
        self.raw.heard.append(head + body)
        return head + body

    async def say(self, *pieces: bytes, pause: float = 0.005) -> None:
        for number, piece in enumerate(pieces):
            if number:
                await asyncio.sleep(pause)
            self.writer.write(piece)
            await self.writer.drain()

    def reset(self) -> None:
        sock: socket.socket = self.writer.get_extra_info("socket")
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.writer.transport.abort()


def answering(*pieces: bytes, times: int = 1_000_000) -> Act:
    """Answer every request on the line with these bytes; after `times` of them hang up."""

    async def act(line: Line) -> None:
        for _ in range(times):
            await line.request()
            await line.say(*pieces)

    return act


def then_stall(*pieces: bytes) -> Act:
    """Answer with these bytes, then neither speak nor hang up."""

    async def act(line: Line) -> None:
        await line.request()
        await line.say(*pieces)
        await line.reader.read()

    return act


def then_reset(*pieces: bytes) -> Act:
    """Answer with these bytes, then cut the connection with a TCP reset."""

    async def act(line: Line) -> None:
        await line.request()
        await line.say(*pieces)
        await asyncio.sleep(0.02)
        line.reset()

    return act


async def silent(line: Line) -> None:
    """Listen and never answer."""
    await line.reader.read()


@asynccontextmanager
async def serving(*acts: Act, tls: ssl.SSLContext | None = None) -> AsyncIterator[Raw]:
    """Serve on loopback; the first connection gets the first act, and so on, the last act serves all later ones."""
    raw = Raw()
    lines: set[asyncio.Task[None]] = set()

    async def accepted(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        lines.add(task)
        act = acts[min(raw.connections, len(acts) - 1)]
        raw.connections += 1
        raw.open += 1
        try:
            await act(Line(reader, writer, raw))
        except (asyncio.IncompleteReadError, ConnectionError, asyncio.CancelledError):
            pass
        finally:
            raw.open -= 1
            lines.discard(task)
            writer.close()

    server = await asyncio.start_server(accepted, "127.0.0.1", 0, ssl=tls)
    raw.port = server.sockets[0].getsockname()[1]
    raw.url = f"{'https' if tls else 'http'}://127.0.0.1:{raw.port}"
    try:
        yield raw
    finally:
        server.close()
        for task in tuple(lines):
            task.cancel()
        await asyncio.gather(*lines, return_exceptions=True)


def on_both_loops(test: Callable[..., Coroutine[Any, Any, None]]) -> Callable[..., None]:
    """Run an async test on asyncio's own loop and on uvloop, for no longer than three minutes."""

    @functools.wraps(test)
    def sync(loop_run: Callable[..., None], **given: object) -> None:
        loop_run(asyncio.wait_for(test(**given), 180))

    signature = inspect.signature(test)
    run = inspect.Parameter("loop_run", inspect.Parameter.KEYWORD_ONLY)
    sync.__signature__ = signature.replace(parameters=[*signature.parameters.values(), run])  # type: ignore[attr-defined]
    del sync.__wrapped__  # type: ignore[attr-defined]
    return pytest.mark.parametrize("loop_run", [asyncio.run, uvloop.run], ids=["asyncio", "uvloop"])(sync)


class SteppedLoop(asyncio.SelectorEventLoop):
    """A loop whose clock stands still until a test moves it."""

    now = 1000.0

    def time(self) -> float:
        return self.now


def on_a_stepped_clock(test: Callable[..., Coroutine[Any, Any, None]]) -> Callable[..., None]:
    """Run an async test on a loop whose clock it moves itself, with `step`."""

    async def watched(given: dict[str, object]) -> None:
        """The loop's clock ends nothing that hangs, so another one does."""
        loop, task = asyncio.get_running_loop(), asyncio.current_task()
        assert task is not None
        watch = threading.Timer(180, loop.call_soon_threadsafe, [task.cancel])
        watch.daemon = True
        watch.start()
        try:
            await test(**given)
        finally:
            watch.cancel()

    @functools.wraps(test)
    def sync(**given: object) -> None:
        with asyncio.Runner(loop_factory=SteppedLoop) as runner:
            runner.run(watched(given))

    return sync


async def step(seconds: float) -> None:
    """Move the clock, and let every timer ring that is due."""
    loop = asyncio.get_running_loop()
    assert isinstance(loop, SteppedLoop)
    loop.now += seconds
    for _ in range(3):
        await asyncio.sleep(0)


async def ask(
    transport: Transport, url: str, method: str = "POST", body: bytes = b"{}", timeouts: Timeouts = PATIENT
) -> Incoming:
    """Sends again if the connection dies unheard, as a caller with attempts left does."""
    return await transport.send(Outgoing(method, url, (), body), timeouts, lambda: True)


async def whole(transport: Transport, url: str, limit: int = 1 << 20, timeouts: Timeouts = PATIENT) -> bytes:
    return await (await ask(transport, url, timeouts=timeouts)).read(limit)


async def settled(check: Callable[[], bool], seconds: float = 60.0) -> bool:
    """Give the loop time until `check` holds."""
    for _ in range(int(seconds / 0.005)):
        if check():
            return True
        await asyncio.sleep(0.005)
    return check()
