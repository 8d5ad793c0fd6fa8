"""What a request costs in the upstream client: CPU time per request, beside a bare client without any feature.

    python bench/transport.py [requests]

A server of a few lines runs in a process of its own; only this process's CPU time counts. Both clients take turns
in one process, since machines change their speed from minute to minute and only ratios hold.
"""

import asyncio
import multiprocessing
import statistics
import sys
import time
from collections.abc import Awaitable, Callable

import httptools
import uvloop

from dragoman.upstream.transport.outgoing import Outgoing
from dragoman.upstream.transport.transport import Transport

BODY = b'{"model":"m","messages":[{"role":"user","content":"' + b"hello " * 300 + b'"}]}'
REPLY = b'{"id":"1","choices":[{"message":{"role":"assistant","content":"' + b"hi " * 100 + b'"}}]}'
ANSWER = b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: %d\r\n\r\n%b" % (len(REPLY), REPLY)
HEADERS = (("content-type", "application/json"), ("authorization", "Bearer none"), ("user-agent", "bench"))
EVENT = b'data: {"id":"1","choices":[{"delta":{"content":"word "}}]}\n\n'
EVENTS = 400
STREAM = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n"
CONNECTIONS = 32
ROUNDS = 5


class Server(asyncio.Protocol):
    """Answers anything, at once."""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = transport
        self.parser = httptools.HttpRequestParser(self)

    def data_received(self, data: bytes) -> None:
        self.parser.feed_data(data)

    def on_url(self, url: bytes) -> None:
        self.url = url

    def on_message_complete(self) -> None:
        if self.url == b"/stream":
            asyncio.get_running_loop().call_soon(self.stream, EVENTS)
        else:
            self.transport.write(ANSWER)  # type: ignore[attr-defined]

    def stream(self, left: int) -> None:
        head = STREAM if left == EVENTS else b""
        chunk = b"%x\r\n%b\r\n" % (len(EVENT), EVENT)
        self.transport.write(head + (chunk if left else b"0\r\n\r\n"))  # type: ignore[attr-defined]
        if left:
            asyncio.get_running_loop().call_later(0.001, self.stream, left - 1)


class Bare(asyncio.Protocol):
    """The least that can be called a client: no pool, no timeout, no check."""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = transport
        self.loop = asyncio.get_running_loop()
        self.parser = httptools.HttpResponseParser(self)

    def send(self, path: str, body: bytes) -> asyncio.Future[bytes]:
        self.waiter: asyncio.Future[bytes] = self.loop.create_future()
        self.chunks: list[bytes] = []
        lines = "".join(f"{name}: {value}\r\n" for name, value in HEADERS)
        head = f"POST {path} HTTP/1.1\r\nhost: x\r\n{lines}content-length: {len(body)}\r\n\r\n"
        self.transport.write(head.encode() + body)  # type: ignore[attr-defined]
        return self.waiter

    def data_received(self, data: bytes) -> None:
        self.parser.feed_data(data)

    def on_body(self, chunk: bytes) -> None:
        self.chunks.append(chunk)

    def on_message_complete(self) -> None:
        self.waiter.set_result(b"".join(self.chunks))


def serve(port: "multiprocessing.Queue[int]") -> None:
    async def main() -> None:
        server = await asyncio.get_running_loop().create_server(Server, "127.0.0.1", 0)
        port.put(server.sockets[0].getsockname()[1])
        await server.serve_forever()

    uvloop.run(main())


async def timed(work: Callable[[int], Awaitable[None]], count: int) -> float:
    """CPU microseconds per request, with `CONNECTIONS` workers side by side."""
    start = time.process_time()
    await asyncio.gather(*(work(count // CONNECTIONS) for _ in range(CONNECTIONS)))
    return (time.process_time() - start) / (count // CONNECTIONS * CONNECTIONS) * 1e6


async def compare(port: int, requests: int) -> None:
    url = f"http://127.0.0.1:{port}"
    async with Transport() as transport:

        async def ours(count: int) -> None:
            for _ in range(count):
                answer = await transport.send(Outgoing("POST", f"{url}/v1/chat", HEADERS, BODY))
                assert await answer.read(1 << 20) == REPLY

        async def bare(count: int) -> None:
            channel, client = await asyncio.get_running_loop().create_connection(Bare, "127.0.0.1", port)
            for _ in range(count):
                assert await client.send("/v1/chat", BODY) == REPLY
            channel.close()

        async def streamed(count: int) -> None:
            for _ in range(count):
                answer = await transport.send(Outgoing("POST", f"{url}/stream", HEADERS, BODY))
                async for _piece in answer:
                    pass

        async def bare_streamed(count: int) -> None:
            channel, client = await asyncio.get_running_loop().create_connection(Bare, "127.0.0.1", port)
            for _ in range(count):
                await client.send("/stream", BODY)
            channel.close()

        share = requests // ROUNDS
        show("request", [(await timed(ours, share), await timed(bare, share)) for _ in range(ROUNDS)])
        events = [(await timed(streamed, CONNECTIONS), await timed(bare_streamed, CONNECTIONS)) for _ in range(ROUNDS)]
        show("event", [(mine / EVENTS, least / EVENTS) for mine, least in events])
        print(f"  {transport.stats}")


def show(what: str, rounds: list[tuple[float, float]]) -> None:
    mine, least = (statistics.median(column) for column in zip(*rounds, strict=True))
    ratio = statistics.median(one / other for one, other in rounds)
    print(f"  µs CPU per {what}: ours {mine:.1f}, bare {least:.1f}, ratio {ratio:.2f}")


def main() -> None:
    requests = int(sys.argv[1]) if len(sys.argv) > 1 else 20_000
    port: multiprocessing.Queue[int] = multiprocessing.Queue()
    server = multiprocessing.Process(target=serve, args=(port,), daemon=True)
    server.start()
    number = port.get(timeout=10)
    for name, run in (("uvloop", uvloop.run), ("asyncio", asyncio.run)):
        print(name)
        run(compare(number, requests))
    server.terminate()


if __name__ == "__main__":
    main()
