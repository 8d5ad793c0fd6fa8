"""The transport against servers that others wrote: uvicorn, node, and nginx in front of node."""

import asyncio
import shutil
import signal
import socket
import subprocess
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
import uvicorn
from tests.child_processes import dies_with_us
from transport_servers import on_both_loops, settled

from dragoman.upstream.transport.limits import Stats, Timeouts, TransportLimits
from dragoman.upstream.transport.outgoing import Outgoing
from dragoman.upstream.transport.transport import Transport

PATIENT = Timeouts(first_byte=60, idle=60)
NODE = """
let goOn;
const server = require('http').createServer((request, response) => {
  if (request.url === '/echo') { request.pipe(response); return; }
  if (request.url === '/none') { request.resume(); response.writeHead(204).end(); return; }
  if (request.url === '/error') { request.resume(); response.writeHead(500).end('broken'); return; }
  if (request.url === '/stream') {
    request.resume();
    response.writeHead(200, {'content-type': 'text/event-stream'});
    let left = 20;
    const timer = setInterval(() => {
      if (left-- > 0) response.write(`data: ${19 - left}\\n\\n`);
      else { clearInterval(timer); response.end(); }
    }, 3);
    return;
  }
  if (request.url === '/held') {
    request.resume();
    response.writeHead(200, {'content-type': 'text/event-stream'});
    response.write('data: first\\n\\n');
    goOn = () => response.end('data: last\\n\\n');
    return;
  }
  if (request.url === '/go-on') goOn();
  if (request.url === '/large') { request.resume(); response.end(Buffer.alloc(5000000, 'x')); return; }
  request.resume();
  response.setHeader('content-length', 2);
  response.end('ok');
});
server.listen(0, '127.0.0.1', () => console.log(server.address().port));
"""
NGINX = """
daemon off; master_process off; pid {place}/pid; error_log {place}/error.log;
events {{ worker_connections 256; }}
http {{
  access_log off; client_body_temp_path {place}/body; proxy_temp_path {place}/proxy;
  fastcgi_temp_path {place}/f; uwsgi_temp_path {place}/u; scgi_temp_path {place}/s;
  keepalive_requests 7; client_max_body_size 20m;
  server {{
    listen 127.0.0.1:{port};
    location / {{ proxy_pass http://127.0.0.1:{behind}; proxy_http_version 1.1; proxy_buffering off; }}
    location /file {{ alias {place}/file; gzip on; gzip_types text/plain; default_type text/plain; }}
    location /small {{ client_max_body_size 1k; proxy_pass http://127.0.0.1:{behind}; }}
  }}
}}
"""


GO_ON = asyncio.Event()
"""Lets the answer of `/held` end."""


async def app(scope, receive, send) -> None:
    async def body() -> bytes:
        whole, more = b"", True
        while more:
            message = await receive()
            whole, more = whole + message.get("body", b""), message.get("more_body", False)
        return whole

    async def answer(status: int, content: bytes, headers: list[tuple[bytes, bytes]]) -> None:
        await send({"type": "http.response.start", "status": status, "headers": headers})
        await send({"type": "http.response.body", "body": content})

    sent = await body()
    match scope["path"]:
        case "/echo":
            await answer(200, sent, [])
        case "/none":
            await answer(204, b"", [])
        case "/error":
            await answer(500, b"broken", [])
        case "/large":
            await answer(200, b"x" * 5_000_000, [(b"content-length", b"5000000")])
        case "/stream":
            await send({"type": "http.response.start", "status": 200, "headers": []})
            for number in range(20):
                piece = b"data: %d\n\n" % number
                await send({"type": "http.response.body", "body": piece, "more_body": True})
                await asyncio.sleep(0.003)
            await send({"type": "http.response.body", "body": b""})
        case "/held":
            GO_ON.clear()
            await send({"type": "http.response.start", "status": 200, "headers": []})
            await send({"type": "http.response.body", "body": b"data: first\n\n", "more_body": True})
            await GO_ON.wait()
            await send({"type": "http.response.body", "body": b"data: last\n\n"})
        case path:
            if path == "/go-on":
                GO_ON.set()
            await answer(200, b"ok", [(b"content-length", b"2")])


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def _wait_for(port: int) -> None:
    for _ in range(6000):
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)) == 0:
                return
        time.sleep(0.01)
    raise AssertionError(f"nothing listens on {port}")


@contextmanager
def _process(*command: str) -> Iterator["subprocess.Popen[str]"]:
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, preexec_fn=dies_with_us(signal.SIGTERM))
    try:
        yield process
    finally:
        process.terminate()
        process.wait(60)


@pytest.fixture(scope="module")
def node() -> Iterator[str]:
    if shutil.which("node") is None:
        pytest.skip("node is not installed")
    with _process("node", "-e", NODE) as process:
        assert process.stdout is not None
        yield f"http://127.0.0.1:{int(process.stdout.readline())}"


@pytest.fixture(scope="module")
def nginx(node: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    if shutil.which("nginx") is None:
        pytest.skip("nginx is not installed")
    place = tmp_path_factory.mktemp("nginx")
    (place / "file").write_text("word " * 100_000)
    place.chmod(0o755)
    port = _free_port()
    conf = Path(place / "nginx.conf")
    conf.write_text(NGINX.format(place=place, port=port, behind=node.rsplit(":", 1)[1]))
    with _process("nginx", "-p", str(place), "-c", str(conf), "-e", str(place / "error.log")):
        _wait_for(port)
        yield f"http://127.0.0.1:{port}"


@pytest.fixture(scope="module")
def uvicorn_server() -> Iterator[str]:
    port = _free_port()
    server = uvicorn.Server(uvicorn.Config(app, "127.0.0.1", port, log_level="error", lifespan="off"))
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    _wait_for(port)
    yield f"http://127.0.0.1:{port}"
    server.should_exit = True
    thread.join(10)


@pytest.fixture(params=["uvicorn_server", "node", "nginx"])
def server(request: pytest.FixtureRequest) -> str:
    return str(request.getfixturevalue(request.param))


TABLE: list[tuple[str, str, bytes, int, bytes]] = [
    ("GET", "/", b"", 200, b"ok"),
    ("HEAD", "/", b"", 200, b""),
    ("POST", "/echo", b"hello", 200, b"hello"),
    ("POST", "/echo", b"", 200, b""),
    ("POST", "/echo", b"y" * 1_000_000, 200, b"y" * 1_000_000),
    ("GET", "/none", b"", 204, b""),
    ("POST", "/error", b"{}", 500, b"broken"),
    ("GET", "/large", b"", 200, b"x" * 5_000_000),
    ("GET", "/stream", b"", 200, b"".join(b"data: %d\n\n" % n for n in range(20))),
    ("DELETE", "/", b"", 200, b"ok"),
]


@on_both_loops
async def test_every_request_of_the_table_twice_on_one_transport(server: str) -> None:
    async with Transport() as transport:
        for method, path, body, status, reply in TABLE * 2:
            answer = await transport.send(Outgoing(method, server + path, (), body), PATIENT)
            assert (answer.status, await answer.read(10_000_000)) == (status, reply), (method, path)
        assert transport.stats.open <= 1
    assert transport.stats == Stats(0, 0, 0)


@on_both_loops
async def test_connections_are_kept(server: str) -> None:
    async with Transport() as transport:
        reused = 0
        for _ in range(20):
            answer = await transport.send(Outgoing("GET", server + "/"), PATIENT)
            assert await answer.read(9) == b"ok"
            reused += answer.reused
        assert reused >= 15, "nginx is told to close after every seventh"


@on_both_loops
async def test_a_hundred_at_once_over_eight_connections(server: str) -> None:
    async def one(transport: Transport, number: int) -> bool:
        body = b"%d " % number * 50
        answer = await transport.send(Outgoing("POST", server + "/echo", (), body), PATIENT)
        return await answer.read(1000) == body

    async with Transport(TransportLimits(per_origin=8)) as transport:
        assert all(await asyncio.gather(*(one(transport, number) for number in range(100))))
        assert transport.stats.open <= 8


@on_both_loops
async def test_streams_come_piece_by_piece(server: str) -> None:
    async with Transport() as transport:
        answer = await transport.send(Outgoing("GET", server + "/held"), PATIENT)
        assert await anext(answer) == b"data: first\n\n"
        await (await transport.send(Outgoing("GET", server + "/go-on"), PATIENT)).read(10)
        assert b"".join([piece async for piece in answer]) == b"data: last\n\n"


@on_both_loops
async def test_a_body_can_be_streamed_up(server: str) -> None:
    async def body():
        for number in range(50):
            yield b"%d" % (number % 10) * 10_000

    async with Transport() as transport:
        answer = await transport.send(Outgoing("POST", server + "/echo", (), body()), PATIENT)
        assert len(await answer.read(1_000_000)) == 500_000


@on_both_loops
async def test_leaving_in_the_middle_of_a_large_answer_leaks_nothing(server: str) -> None:
    async with Transport() as transport:
        for _ in range(5):
            async with await transport.send(Outgoing("GET", server + "/large"), PATIENT) as answer:
                assert await anext(answer)
        assert await settled(lambda: transport.stats == Stats(0, 0, 0))


@on_both_loops
async def test_nginx_compresses_when_asked(nginx: str) -> None:
    async with Transport() as transport:
        for headers, packed in (((), False), ((("accept-encoding", "gzip"),), True)):
            answer = await transport.send(Outgoing("GET", nginx + "/file", headers), PATIENT)
            assert (answer.header("content-encoding") == "gzip") is packed
            assert await answer.read(1_000_000) == b"word " * 100_000


@on_both_loops
async def test_nginx_refuses_a_body_it_has_not_read(nginx: str) -> None:
    async with Transport() as transport:
        answer = await transport.send(Outgoing("POST", nginx + "/small", (), bytes(100_000)), PATIENT)
        assert answer.status == 413
        assert b"413" in await answer.read(10_000)
        assert (await transport.send(Outgoing("GET", nginx + "/"), PATIENT)).status == 200
