"""WebSockets on the wire: frames that break the rules, and clients that are slow or do not read."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

import pytest
import uvicorn
from tests.prompt_server import PromptServer

from dragoman.gateway.http.http_protocol import bounded_protocol, close_overdue
from dragoman.gateway.http.socket_protocol import MOST_FRAGMENTS

HEAD = (
    b"GET /echo HTTP/1.1\r\nhost: x\r\nupgrade: websocket\r\nconnection: Upgrade\r\nsec-websocket-version: 13\r\n"
    b"sec-websocket-key: dGhlIHNhbXBsZSBub25jZQ==\r\nsec-websocket-extensions: permessage-deflate\r\n\r\n"
)


async def echo(scope: Any, receive: Any, send: Any) -> None:
    """Says what it hears; answers requests with the method."""
    if scope["type"] == "http":
        await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"4")]})
        await send({"type": "http.response.body", "body": b"http"})
        return
    assert (await receive())["type"] == "websocket.connect"
    await send({"type": "websocket.accept"})
    while (heard := await receive())["type"] == "websocket.receive":
        await send({"type": "websocket.send", "text": heard.get("text") or str(heard["bytes"])})


Connect = Callable[[], Awaitable[tuple[asyncio.StreamReader, asyncio.StreamWriter]]]


@pytest.fixture
async def served() -> AsyncIterator[tuple[Connect, PromptServer]]:
    protocol = bounded_protocol(8192, 75, lambda: 100_000)
    config = uvicorn.Config(echo, http=protocol, interface="asgi3", lifespan="off", log_config=None, port=0)
    server = PromptServer(config)
    task = asyncio.create_task(server.serve())
    while not server.started:  # noqa: ASYNC110
        await asyncio.sleep(0.01)
    port = server.servers[0].sockets[0].getsockname()[1]
    yield lambda: asyncio.open_connection("127.0.0.1", port), server
    for connection in list(server.server_state.connections):
        connection.transport.abort()
    server.end()
    await task


def frame(opcode: int, data: bytes, *, fin: bool = True, masked: bool = True, length: int | None = None) -> bytes:
    size = len(data) if length is None else length
    head = bytes([opcode | (0x80 if fin else 0)])
    mask = 0x80 if masked else 0
    sized = bytes([mask | size]) if size < 126 else bytes([mask | 127]) + size.to_bytes(8, "big")
    return head + sized + (bytes(4) if masked else b"") + data


async def heard(reader: asyncio.StreamReader) -> tuple[int, bytes]:
    """The next frame: its opcode and data."""
    async with asyncio.timeout(60):
        first, size = await reader.readexactly(2)
        if size == 126:
            size = int.from_bytes(await reader.readexactly(2), "big")
        elif size == 127:
            size = int.from_bytes(await reader.readexactly(8), "big")
        return first & 0x0F, await reader.readexactly(size)


Served = tuple[Connect, PromptServer]


async def opened(served: Served, rest: bytes = b"") -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    reader, writer = await served[0]()
    writer.write(HEAD + rest)
    head = await reader.readuntil(b"\r\n\r\n")
    assert head.startswith(b"HTTP/1.1 101 ")
    assert b"s3pPLMBiTxaQ9kYGzzhZRbK+xOo=" in head
    assert b"extensions" not in head.lower()
    return reader, writer


async def test_messages_come_whole_however_they_were_cut(served: Served) -> None:
    reader, writer = await opened(served, frame(1, b"at once"))
    assert await heard(reader) == (1, b"at once")
    for byte in frame(1, "schr\u00f6der".encode()):
        writer.write(bytes([byte]))
        await writer.drain()
    assert (await heard(reader))[1].decode() == "schr\u00f6der"
    writer.write(frame(1, b"one ", fin=False) + frame(9, b"ping") + frame(0, b"two ", fin=False) + frame(0, b"three"))
    assert await heard(reader) == (10, b"ping")
    assert await heard(reader) == (1, b"one two three")
    writer.write(frame(8, (1000).to_bytes(2, "big")))
    assert await heard(reader) == (8, (1000).to_bytes(2, "big"))
    assert await reader.read() == b""


@pytest.mark.parametrize(
    ("sent", "code"),
    [
        (frame(1, b"x", masked=False), 1002),
        (frame(0, b"x"), 1002),
        (frame(3, b"x"), 1002),
        (frame(9, b"x" * 126), 1002),
        (frame(1, b"\xff\xfe"), 1007),
        (frame(1, b"", length=100_001), 1009),
        (frame(1, b"x" * 60_000, fin=False) + frame(0, b"x" * 60_000), 1009),
        (frame(1, b"", length=1 << 62), 1009),
        (frame(1, b"x", fin=False) + frame(0, b"", fin=False) * MOST_FRAGMENTS, 1008),
    ],
)
async def test_what_breaks_the_rules_ends_the_socket_with_a_reason(served: Served, sent: bytes, code: int) -> None:
    reader, writer = await opened(served)
    writer.write(sent)
    opcode, data = await heard(reader)
    assert (opcode, int.from_bytes(data[:2], "big")) == (8, code)
    assert await reader.read() == b""


async def test_a_handshake_that_is_none_is_an_ordinary_request(served: Served) -> None:
    for good, bad in ((b"version: 13", b"version: 8"), (b"sec-websocket-key", b"x-key"), (b"websocket\r", b"h2c\r")):
        reader, writer = await served[0]()
        writer.write(HEAD.replace(good, bad))
        assert (await reader.readuntil(b"\r\n\r\n")).startswith(b"HTTP/1.1 200 ")
        assert await reader.readexactly(4) == b"http"
        writer.close()


async def test_a_request_may_come_before_the_socket(served: Served) -> None:
    reader, writer = await served[0]()
    writer.write(b"GET /echo HTTP/1.1\r\nhost: x\r\n\r\n")
    await reader.readuntil(b"\r\n\r\n")
    assert await reader.readexactly(4) == b"http"
    writer.write(HEAD + frame(1, b"x"))
    assert (await reader.readuntil(b"\r\n\r\n")).startswith(b"HTTP/1.1 101 ")
    assert await heard(reader) == (1, b"x")
    writer.close()


async def test_a_head_of_a_socket_is_checked_as_any_other(served: Served) -> None:
    for line, status in ((b"x-long: " + b"x" * 9000, b"431"), (b"host: y", b"400")):
        reader, writer = await served[0]()
        writer.write(HEAD.replace(b"host: x\r\n", b"host: x\r\n" + line + b"\r\n"))
        assert (await reader.readuntil(b"\r\n\r\n")).startswith(b"HTTP/1.1 " + status)
        writer.close()


async def test_a_message_that_never_ends_is_given_up(served: Served) -> None:
    reader, writer = await opened(served)
    writer.write(frame(1, b"half of", length=1000))
    (connection,) = served[1].server_state.connections
    while connection._since is None:  # noqa: ASYNC110
        await asyncio.sleep(0.01)
    now = asyncio.get_running_loop().time()
    assert close_overdue([connection], now + 29, 60) == 0
    assert not connection.transport.is_closing()
    close_overdue([connection], now + 31, 60)
    assert await reader.read() == b""


@pytest.mark.slow
async def test_pings_of_a_client_that_does_not_read_do_not_pile_up(served: Served) -> None:
    _, writer = await opened(served)
    (connection,) = served[1].server_state.connections
    pings = frame(9, os.urandom(125)) * 10_000
    sent, looks, before = 0, 0, (0, 0)
    while looks < 50:  # in a row at which nothing moved
        assert sent < 200, "a quarter of a gigabyte was read"
        if not writer.transport.get_write_buffer_size():
            writer.write(pings)
            sent += 1
        await asyncio.sleep(0.005)
        waiting = writer.transport.get_write_buffer_size(), connection.transport.get_write_buffer_size()
        looks = looks + 1 if waiting == before and all(waiting) else 0
        before = waiting
    assert connection.transport.get_write_buffer_size() < 4 << 20
    now = asyncio.get_running_loop().time()
    assert close_overdue([connection], now, 60) == 0
    assert close_overdue([connection], now + 61, 60) == 1, "and in the end the connection is reset"
    writer.close()
