"""The wire of the gateway, byte by byte: a small application on the protocol that it is served with."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest
import uvicorn
from tests.prompt_server import PromptServer

from dragoman.gateway.http.http_protocol import bounded_protocol, close_overdue

LENGTH = [(b"content-length", b"5")]
LARGE = 20_000_000
LIMIT = 65536

left: list[str] = []
"""What waiting requests were told."""
started = asyncio.Event()


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
    while message.get("more_body"):
        more = await receive()
        message = {"body": message["body"] + more["body"], "more_body": more["more_body"]}
    if path == "/headers":
        message["body"] = b"".join(b"%b=%b;" % pair for pair in scope["headers"])
    if path == "/large":
        message["body"] = b"x" * LARGE
    if path == "/wait":
        started.set()
        left.append((await receive())["type"])
        return
    await send({"type": "http.response.start", "status": status, "headers": headers})
    if path in ("/echo", "/headers", "/large"):
        await send({"type": "http.response.body", "body": message["body"], "more_body": True})
    body = b"" if path in ("/echo", "/headers", "/large", "/nothing") else b"hello"
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
            async with asyncio.timeout(60):
                while not (until and heard.endswith(until)):
                    piece = await reader.read(65536)
                    if not piece:
                        break
                    heard += piece
        finally:
            writer.close()
        return heard

    async def says_in_pieces(self, *pieces: bytes) -> bytes:
        """Everything that comes back until the server closes; the pieces come one after the other."""
        reader, writer = await asyncio.open_connection("127.0.0.1", self.port)
        try:
            async with asyncio.timeout(60):
                for piece in pieces:
                    writer.write(piece)
                    await asyncio.sleep(0.05)
                return await reader.read()
        finally:
            writer.close()


@asynccontextmanager
async def wire(idle: float = 60.0) -> AsyncIterator[Wire]:
    config = uvicorn.Config(
        app,
        http=bounded_protocol(LIMIT, idle),
        ws="none",
        lifespan="off",
        log_config=None,
        server_header=False,
        date_header=False,
    )
    server = PromptServer(config)
    listening = socket.create_server(("127.0.0.1", 0))
    task = asyncio.create_task(server.serve([listening]))
    while not server.started:  # noqa: ASYNC110 - it has no event for this
        await asyncio.sleep(0.01)
    try:
        yield Wire(server, listening.getsockname()[1])
    finally:
        server.end()
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
        (b"GET / HTTP/1.0\r\n\r\n", HEAD + CLOSE + b"\r\nhello"),
        (b"POST /echo HTTP/1.0\r\ncontent-length: 2\r\n\r\nhi", HEAD + CLOSE + b"\r\nhi"),
        (b"GET /nothing HTTP/1.0\r\n\r\n", b"HTTP/1.1 204 No Content\r\n" + CLOSE + b"\r\n"),
        (
            b"GET / HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n",
            HEAD + b"transfer-encoding: chunked\r\n" + CLOSE + b"\r\n5\r\nhello\r\n0\r\n\r\n",
        ),
        (
            b"POST /e%63ho HTTP/1.1\r\nhost: x\r\nconnection: close\r\ncontent-length: 2\r\n\r\nhi",
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
        close_overdue(connections, now + 4, 60.0)
        await asyncio.sleep(0.05)
        assert len(connections) == 1
        close_overdue(connections, now + 6, 60.0)
        assert await reader.read() == b""
        writer.close()


CHUNKED = b"POST /echo HTTP/1.1\r\nhost: x\r\ntransfer-encoding: chunked\r\n\r\n2\r\nhi\r\n0\r\n"
TRAILER = b"x-trailer: " + b"y" * 990 + b"\r\n"


async def flood(line: Wire, first: bytes, more: bytes, most: int) -> tuple[int, bytes]:
    """Send `more` again and again, until the server ends it or has taken `most` bytes; how much, and its answer."""
    reader, writer = await asyncio.open_connection("127.0.0.1", line.port)
    writer.write(first)
    sent = 0
    try:
        async with asyncio.timeout(30):
            while sent < most:
                writer.write(more)
                await writer.drain()
                sent += len(more)
            return sent, await reader.read()
    except ConnectionError:
        return sent, b""
    finally:
        writer.close()


async def test_trailers_without_end_are_refused_before_any_key_is_asked_for() -> None:
    async with wire() as line:
        sent, told = await flood(line, CHUNKED, TRAILER * 64, 50_000_000)
    assert sent < 20_000_000, "the client could go on"  # what fits into the buffers of two sockets on the way
    assert told == b"" or told.startswith((b"HTTP/1.1 431", b"HTTP/1.1 200"))


async def test_one_trailer_without_end_is_refused() -> None:
    async with wire() as line:
        sent, _ = await flood(line, CHUNKED + b"x-trailer: ", b"y" * 65536, 50_000_000)
    assert sent < 20_000_000, "the client could go on"


async def test_a_trailer_is_no_header() -> None:
    head = b"POST /headers HTTP/1.1\r\nhost: x\r\nconnection: close\r\ntransfer-encoding: chunked\r\n\r\n"
    body = b"2\r\nhi\r\n0\r\nauthorization: Bearer late\r\ncontent-encoding: gzip\r\nhost: y\r\n\r\n"
    async with wire() as line:
        heard = await line.says(head + body)
        paused = await line.says_in_pieces(head, body)
    for told in (heard, paused):
        assert told.startswith(HEAD)
        assert b"host=x;" in told
        assert b"late" not in told
        assert b"gzip" not in told


@pytest.mark.parametrize("before", [b"", b"GET /long HTTP/1.1\r\nhost: x\r\n\r\n"], ids=["first", "pipelined"])
async def test_a_head_in_one_piece_obeys_the_limit(before: bytes) -> None:
    """All of it comes with one read of the socket."""
    large = b"GET /long HTTP/1.1\r\nhost: x\r\n" + (b"x-a: " + b"y" * 1000 + b"\r\n") * 80 + b"\r\n"
    async with wire() as line:
        heard = await line.says(before + large)
    assert b"HTTP/1.1 431 " in heard or (before and heard == b"")
    assert heard.count(b"hello") <= bool(before)


async def test_a_large_head_within_the_limit_is_taken() -> None:
    large = b"GET /closing HTTP/1.1\r\nhost: x\r\n" + (b"x-a: " + b"y" * 1000 + b"\r\n") * 60 + b"\r\n"
    async with wire() as line:
        assert (await line.says(large)).endswith(b"hello")


@pytest.mark.parametrize(
    "hosts", [b"", b"host: x\r\nhost: x\r\n", b"host: x\r\nHost: y\r\n"], ids=["none", "two", "different"]
)
async def test_a_request_names_one_host(hosts: bytes) -> None:
    async with wire() as line:
        assert (await line.says(b"GET /long HTTP/1.1\r\n" + hosts + b"\r\n")).startswith(b"HTTP/1.1 400 ")
        if hosts:
            assert (await line.says(b"GET /long HTTP/1.0\r\n" + hosts + b"\r\n")).startswith(b"HTTP/1.1 400 ")


@pytest.mark.parametrize(
    "body", [b"content-length: 2\r\n\r\nhi", b"transfer-encoding: chunked\r\n\r\n2\r\nhi\r\n0\r\n\r\n"]
)
async def test_a_request_that_offers_an_upgrade_keeps_its_body(body: bytes) -> None:
    head = b"POST /echo HTTP/1.1\r\nhost: x\r\nconnection: Upgrade, HTTP2-Settings\r\nupgrade: h2c\r\n"
    next_one = b"GET /closing HTTP/1.1\r\nhost: x\r\n\r\n"
    async with wire() as line:
        whole = await line.says(head + body + next_one)
        pieces = await line.says_in_pieces(head, body + next_one)
    for heard in (whole, pieces):
        assert heard.startswith(HEAD)
        assert b"\r\n2\r\nhi\r\n0\r\n\r\n" in heard
        assert heard.endswith(b"hello")


async def test_a_tunnel_is_refused() -> None:
    async with wire() as line:
        assert (await line.says(b"CONNECT a:443 HTTP/1.1\r\nhost: a\r\n\r\n")).startswith(b"HTTP/1.1 400 ")


async def test_an_answer_that_nobody_reads_is_aborted() -> None:
    async with wire() as line:
        _, writer = await asyncio.open_connection("127.0.0.1", line.port, limit=1024)
        writer.write(b"GET /large HTTP/1.1\r\nhost: x\r\n\r\n")
        connections, now = line.server.server_state.connections, asyncio.get_running_loop().time()
        while not any(one.transport.get_write_buffer_size() for one in connections):  # noqa: ASYNC110
            await asyncio.sleep(0.01)
        await asyncio.sleep(0.1)  # until the sockets on the way are full
        close_overdue(connections, now, 5.0)
        close_overdue(connections, now + 4, 5.0)
        await asyncio.sleep(0.05)
        assert len(connections) == 1
        close_overdue(connections, now + 6, 5.0)
        async with asyncio.timeout(60):
            while connections:  # noqa: ASYNC110 - a set has no event
                await asyncio.sleep(0.01)
        writer.close()


async def test_a_slow_reader_that_reads_is_left_alone() -> None:
    async with wire() as line:
        reader, writer = await asyncio.open_connection("127.0.0.1", line.port, limit=65536)
        writer.write(b"GET /large HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n")
        connections, now = line.server.server_state.connections, asyncio.get_running_loop().time()
        read = 0
        ticks = 0
        while piece := await reader.read(2_000_000):
            read += len(piece)
            if read > (ticks + 1) * 4_000_000:  # more than the sockets on the way hold
                ticks += 1
                await asyncio.sleep(0.01)
                close_overdue(connections, now + ticks * 4, 5.0)
        assert ticks >= 4
        assert read > LARGE
        writer.close()


async def test_a_client_that_leaves_is_noticed_though_a_request_waits_behind_the_first() -> None:
    left.clear()
    started.clear()
    one = b"GET /wait HTTP/1.1\r\nhost: x\r\n\r\n"
    async with wire() as line:
        _, writer = await asyncio.open_connection("127.0.0.1", line.port)
        writer.write(one)
        await started.wait()
        writer.write(one)
        await asyncio.sleep(0.05)
        writer.close()
        async with asyncio.timeout(60):
            while not left:  # noqa: ASYNC110 - a list has no event
                await asyncio.sleep(0.01)
    assert left == ["http.disconnect"], "the second one was never begun"


async def test_requests_that_wait_are_bounded() -> None:
    started.clear()
    async with wire() as line:
        heard = await line.says(b"GET /wait HTTP/1.1\r\nhost: x\r\n\r\n" * 1000)
    assert heard == b""
