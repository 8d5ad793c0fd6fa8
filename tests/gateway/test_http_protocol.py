"""The wire of the gateway, byte by byte: a small application on the protocol that it is served with."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest
import uvicorn

from dragoman.gateway.http_protocol import bounded_protocol, close_overdue

LENGTH = [(b"content-length", b"5")]


async def app(scope: Any, receive: Any, send: Any) -> None:
    """Answers in the manner that the path names."""
    path = scope["path"]
    headers = {
        "/long": LENGTH,
        "/closing": [*LENGTH, (b"connection", b"close")],
        "/split": [(b"x-a", b"b\r\nx-c: d"), *LENGTH],
        "/short": [(b"content-length", b"9")],
    }.get(path, [])
    status = 204 if path == "/nothing" else 200
    message = await receive()
    await send({"type": "http.response.start", "status": status, "headers": headers})
    if path == "/echo":
        await send({"type": "http.response.body", "body": message["body"], "more_body": True})
    body = b"" if path in ("/echo", "/nothing") else b"hello"
    await send({"type": "http.response.body", "body": body})


class Wire:
    """A connection and the server behind it."""

    def __init__(self, server: uvicorn.Server, port: int) -> None:
        self.server = server
        self.port = port

    async def says(self, request: bytes, until: bytes = b"") -> bytes:
        """Everything that comes back until the server closes, or until it has said `until`."""
        reader, writer = await asyncio.open_connection("127.0.0.1", self.port)
        writer.write(request)
        heard = b""
        try:
            async with asyncio.timeout(10):
                while not (until and heard.endswith(until)):
                    piece = await reader.read(65536)
                    if not piece:
                        break
                    heard += piece
        finally:
            writer.close()
        return heard


@asynccontextmanager
async def wire(idle: float = 60.0) -> AsyncIterator[Wire]:
    config = uvicorn.Config(
        app,
        http=bounded_protocol(65536, idle),
        ws="none",
        lifespan="off",
        log_config=None,
        server_header=False,
        date_header=False,
    )
    server = uvicorn.Server(config)
    listening = socket.create_server(("127.0.0.1", 0))
    task = asyncio.create_task(server.serve([listening]))
    while not server.started:  # noqa: ASYNC110 - it has no event for this
        await asyncio.sleep(0.01)
    try:
        yield Wire(server, listening.getsockname()[1])
    finally:
        server.should_exit = True
        await task


HEAD = b"HTTP/1.1 200 OK\r\n"
CLOSE = b"connection: close\r\n"


@pytest.mark.parametrize(
    ("request_", "answer"),
    [
        (b"GET /long HTTP/1.0\r\n\r\n", HEAD + b"content-length: 5\r\n" + CLOSE + b"\r\nhello"),
        (b"GET /closing HTTP/1.1\r\nhost: x\r\n\r\n", HEAD + b"content-length: 5\r\n" + CLOSE + b"\r\nhello"),
        (b"HEAD /long HTTP/1.0\r\n\r\n", HEAD + b"content-length: 5\r\n" + CLOSE + b"\r\n"),
        (b"HEAD / HTTP/1.0\r\n\r\n", HEAD + CLOSE + b"\r\n"),
        (b"GET /nothing HTTP/1.0\r\n\r\n", b"HTTP/1.1 204 No Content\r\n" + CLOSE + b"\r\n"),
        (
            b"GET / HTTP/1.0\r\n\r\n",
            HEAD + b"transfer-encoding: chunked\r\n" + CLOSE + b"\r\n5\r\nhello\r\n0\r\n\r\n",
        ),
        (
            b"POST /e%63ho HTTP/1.1\r\nconnection: close\r\ncontent-length: 2\r\n\r\nhi",
            HEAD + b"transfer-encoding: chunked\r\n" + CLOSE + b"\r\n2\r\nhi\r\n0\r\n\r\n",
        ),
    ],
)
async def test_answers_are_framed(request_: bytes, answer: bytes) -> None:
    async with wire() as line:
        assert await line.says(request_) == answer


async def test_requests_that_come_together_are_answered_in_turn() -> None:
    post = b"POST /echo HTTP/1.1\r\nhost: x\r\ncontent-length: 1\r\n\r\n"
    last = b"POST /echo HTTP/1.1\r\nhost: x\r\nconnection: close\r\ncontent-length: 1\r\n\r\n3"
    async with wire() as line:
        heard = await line.says(post + b"1" + post + b"2" + last)
    assert [part.partition(b"\r\n\r\n")[2][:4] for part in heard.split(b"HTTP/1.1 200 OK")[1:]] == [
        b"1\r\n1",
        b"1\r\n2",
        b"1\r\n3",
    ]


async def test_a_client_that_waits_for_leave_gets_it() -> None:
    ask = b"POST /echo HTTP/1.1\r\nhost: x\r\nexpect: 100-continue\r\ncontent-length: 1\r\n\r\n"
    async with wire() as line:
        assert await line.says(ask, b"Continue\r\n\r\n") == b"HTTP/1.1 100 Continue\r\n\r\n"


async def test_a_header_cannot_begin_another_line() -> None:
    async with wire() as line:
        heard = await line.says(b"GET /split HTTP/1.1\r\nhost: x\r\n\r\n")
    assert b"x-c" not in heard


async def test_a_body_shorter_than_it_was_announced_closes_the_connection() -> None:
    async with wire() as line:
        heard = await line.says(b"GET /short HTTP/1.1\r\nhost: x\r\n\r\n")
    assert heard == b""


async def test_a_connection_that_says_nothing_more_is_closed() -> None:
    async with wire(idle=5.0) as line:
        reader, writer = await asyncio.open_connection("127.0.0.1", line.port)
        writer.write(b"GET /long HTTP/1.1\r\nhost: x\r\n\r\n")
        assert (await reader.readuntil(b"hello")).startswith(HEAD)
        connections, now = line.server.server_state.connections, asyncio.get_running_loop().time()
        close_overdue(connections, now + 4)
        await asyncio.sleep(0.05)
        assert len(connections) == 1
        close_overdue(connections, now + 6)
        assert await reader.read() == b""
        writer.close()
