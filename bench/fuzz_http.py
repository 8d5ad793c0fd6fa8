"""HTTP/1.1 as bytes, for `fuzz.py`: requests to the gateway's protocol and answers to its client, without sockets.

Each input is given twice, at once and cut in pieces. What is read of it, and what is answered, must not depend on the
cuts: where it did, two readers of the same bytes could disagree on where a request ends.
"""

from __future__ import annotations

import asyncio
import itertools
import logging
import math
from collections.abc import Coroutine, Iterable
from types import SimpleNamespace
from typing import Any, NamedTuple, TypeVar

import h11
import uvicorn

from dragoman.gateway.http.client_errors import BODY_ERRORS
from dragoman.gateway.http.coarse_timer import CoarseTimer
from dragoman.gateway.http.http_protocol import HTTP_LOGGER, bounded_protocol
from dragoman.gateway.http.inbound import ClientGone, Inbound
from dragoman.upstream.transport.connection import Connection
from dragoman.upstream.transport.incoming import InFlight
from dragoman.upstream.transport.limits import Timeouts, TransportLimits

BODY_LIMIT = 1000
HEAD_LIMIT = 65536
_SPINS = 60
_T = TypeVar("_T")

REQUESTS = (
    b"POST /v1/chat/completions?key=a%20b HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer k\r\nContent-Length: 2\r\n\r\n{}"
    b"GET /health HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n",
    b"POST /v1/messages HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\nTrailer: x-api-key\r\n\r\n"
    b'3;a="b"\r\n{"a\r\n5\r\n":1} \r\n0\r\nx-api-key: k\r\ncontent-encoding: gzip\r\n\r\n'
    b"GET / HTTP/1.0\r\n\r\n",
    b"POST /v1/embeddings HTTP/1.1\r\nhost: x\r\nconnection: Upgrade, HTTP2-Settings\r\nupgrade: h2c\r\n"
    b"HTTP2-Settings: AAA\r\ncontent-length: 4\r\n\r\n{  }HEAD /ready HTTP/1.1\r\nhost: x\r\n\r\n",
    b"GET http://x/v1/models?a=b#c HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\nX: a\tb \r\nX: \xc3\xa9\r\n\r\n",
    b"OPTIONS * HTTP/1.1\r\nhost: x\r\ncontent-length: 0\r\n\r\nCONNECT x:1 HTTP/1.1\r\nhost: x\r\n\r\n",
)
ANSWERS = (
    b'HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 8\r\nkeep-alive: timeout=5\r\n\r\n{"a":1} ',
    b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n"
    b"5;x=y\r\ndata:\r\n3\r\n {}\r\n0\r\nset-cookie: a\r\ncontent-encoding: gzip\r\n\r\n",
    b"HTTP/1.0 429 Too Many\r\nretry-after: 3\r\n\r\nslow down",
    b"HTTP/1.1 204 No Content\r\ndate: x\r\n\r\nHTTP/1.1 200 OK\r\ncontent-length: 1\r\n\r\nx",
)
PIECES = (
    *(b"\r\n", b"\n", b"\r", b"\r\n\r\n", b" ", b"\t", b"\x00", b":", b";", b"0\r\n\r\n", b"0x5", b"+1", b"-1"),
    *(b"ffffffffffffffff", b"9" * 30, b"HTTP/1.1", b"HTTP/2.0", b"HTTP/1.0", b"content-length: 5\r\n", b"\xff"),
    *(b"transfer-encoding: chunked\r\n", b"transfer-encoding: gzip, chunked\r\n", b"host: y\r\n", b"upgrade: x\r\n"),
    *(b"connection: close\r\n", b"connection: upgrade\r\n", b" folded: x\r\n", b"content-encoding: gzip\r\n"),
)


class Wire(asyncio.Transport):
    """A connection without a socket: what was written to it, and whether it was closed."""

    def __init__(self) -> None:
        super().__init__()
        self.written = b""
        self.closed = False

    def write(self, data: Any) -> None:
        if not self.closed:  # as with a socket, what is written after the end is lost
            self.written += data

    def close(self) -> None:
        self.closed = True

    abort = close

    def is_closing(self) -> bool:
        return self.closed

    def get_extra_info(self, name: str, default: Any = None) -> Any:
        return default

    def get_write_buffer_size(self) -> int:
        return 0

    def pause_reading(self) -> None: ...

    def resume_reading(self) -> None: ...


class Seen(NamedTuple):
    """A request as an endpoint sees it. `body` is the name of an error where it was refused."""

    method: str
    path: str
    headers: tuple[tuple[bytes, bytes], ...]
    key: str
    body: bytes | str


class HttpFuzz:
    """Gives bytes to both parsers. Raises AssertionError where they are not read as they must be."""

    def __init__(self) -> None:
        self.loop = asyncio.new_event_loop()
        self._seen: list[Seen] = []
        self._fault: Exception | None = None
        self._timer = CoarseTimer()
        HTTP_LOGGER.setLevel(logging.CRITICAL)
        self._config = uvicorn.Config(
            self._app,
            interface="asgi3",
            http=bounded_protocol(HEAD_LIMIT, 60.0),
            ws="none",
            lifespan="off",
            log_config=None,
            proxy_headers=False,
        )
        self._config.load()

    def requests(self, data: bytes, cuts: Iterable[int]) -> bool:
        """Whether a request was read."""
        seen, said = self._run(self._request([data]))
        again, said_again = self._run(self._request(pieces(data, cuts)))
        assert seen == again, f"the cuts matter: {seen} and {again}"
        assert said == said_again, f"the cuts matter: {said!r} and {said_again!r}"
        for one in seen:
            _check_request(one)
        _check_answers(said, [one.method for one in seen])
        return bool(seen)

    def answer(self, data: bytes, cuts: Iterable[int]) -> bool:
        """Whether an answer was read to its end."""
        whole = self._run(self._answer([data]))
        again = self._run(self._answer(pieces(data, cuts)))
        assert whole == again, f"the cuts matter: {whole} and {again}"
        return whole[3]

    def _run(self, work: Coroutine[Any, Any, _T]) -> _T:
        return self.loop.run_until_complete(work)

    async def _request(self, given: list[bytes]) -> tuple[list[Seen], bytes]:
        self._seen = []
        state = SimpleNamespace(connections=set(), tasks=set(), total_requests=0)
        made: Any = self._config.http_protocol_class
        protocol = made(config=self._config, server_state=state, app_state={}, _loop=self.loop)
        wire = Wire()
        protocol.connection_made(wire)
        for piece in given:  # no task runs in between: only the parser may see the cuts
            protocol.data_received(piece)
        threads = b"encoding" in b"".join(given).lower()
        await _settled(state.tasks, threads)
        protocol.connection_lost(None)
        await _settled(state.tasks, threads)
        assert not state.tasks, "a request is under way for ever"
        if self._fault is not None:
            raise self._fault
        return self._seen, wire.written

    async def _app(self, scope: Any, receive: Any, send: Any) -> None:
        try:
            await self._endpoint(scope, receive, send)
        except Exception as fault:  # the protocol would make a 500 of it
            self._fault = fault
            raise

    async def _endpoint(self, scope: Any, receive: Any, send: Any) -> None:
        inbound = Inbound(scope, receive, scope["path"], self._timer)
        try:
            body: bytes | str = await inbound.body(BODY_LIMIT)
        except ClientGone:
            return
        except BODY_ERRORS as refused:
            body = type(refused).__name__
        seen = Seen(inbound.method, inbound.path, tuple(scope["headers"]), inbound.key(), body)
        self._seen.append(seen)
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": repr(seen.body).encode()})

    async def _answer(self, given: list[bytes]) -> tuple[int, list[tuple[str, str]], bytes, bool, str]:
        connection = Connection("http://x", TransportLimits(), _Owner())
        wire = Wire()
        connection.connection_made(wire)
        connection.enter_pool()
        in_flight = InFlight("http://x", False, Timeouts(), math.inf)
        connection.begin(in_flight, b"", b"")
        for piece in given:
            if wire.closed:
                break
            connection.data_received(piece)
        if not wire.closed:
            connection.eof_received()
            connection.connection_lost(None)
        failure = type(in_flight.failure).__name__
        return in_flight.status, in_flight.headers, b"".join(in_flight.chunks), in_flight.complete, failure


class _Owner:
    """A pool that keeps nothing."""

    def release(self, connection: Connection) -> None: ...

    def remove(self, connection: Connection) -> None: ...

    def opened(self, connection: Connection) -> None: ...

    def closed(self, connection: Connection) -> None: ...


def pieces(data: bytes, cuts: Iterable[int]) -> list[bytes]:
    places = [0, *sorted({cut for cut in cuts if 0 < cut < len(data)}), len(data)]
    return [data[start:end] for start, end in itertools.pairwise(places)]


async def _settled(tasks: set[asyncio.Task[None]], threads: bool) -> None:
    """Until no task goes on: those that decompress wait for a thread."""
    for _ in range(_SPINS):
        if not tasks:
            return
        await asyncio.sleep(0)
    if tasks and threads:
        await asyncio.wait(tasks, timeout=0.2)


def _check_request(seen: Seen) -> None:
    """What every request keeps that an endpoint is given."""
    names = [name for name, _ in seen.headers]
    assert names.count(b"host") <= 1, "two hosts"
    assert not (b"content-length" in names and b"transfer-encoding" in names), "two ends of one body"
    assert names.count(b"content-length") <= 1, "two lengths"
    for name, value in seen.headers:
        assert not set(name + value) & set(b"\r\n\x00"), "a line end in a header"
    lengths = [value for name, value in seen.headers if name == b"content-length"]
    if lengths and isinstance(seen.body, bytes) and b"content-encoding" not in names:
        assert int(lengths[0]) == len(seen.body), "a body of another length"


def _check_answers(said: bytes, methods: list[str]) -> None:
    """What was written is HTTP: one whole answer per request, and at most one refusal after them."""
    reader = h11.Connection(h11.CLIENT)
    reader.receive_data(said)
    reader.receive_data(b"")
    for number, method in enumerate((*methods, "POST")):
        if not reader.trailing_data[0]:
            return
        reader.send(h11.Request(method=method if method != "CONNECT" else "GET", target="/", headers=[("host", "x")]))
        reader.send(h11.EndOfMessage())
        while not isinstance(event := reader.next_event(), h11.EndOfMessage):
            assert event is not h11.NEED_DATA, "an answer without its end"
            if number == len(methods) and isinstance(event, h11.InformationalResponse):
                return  # 100 Continue to a body that never came
        if reader.our_state is not h11.DONE:
            return
        reader.start_next_cycle()
    assert not reader.trailing_data[0], "more was answered than asked"
