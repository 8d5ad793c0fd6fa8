"""The client side of a measurement: so many requests over so many connections, each answered before the next.

Every request that is sent is also answered before the run ends, so that CPU time divided by requests is exact. It reads
of an answer only what it must: the status, and where it ends.
"""

from __future__ import annotations

import asyncio
import statistics
import time
from collections.abc import Iterable, Iterator
from itertools import repeat
from typing import NamedTuple

import uvloop

LAST_CHUNK = b"0\r\n\r\n"


class Run(NamedTuple):
    """What became of a run. Latencies are seconds, sorted."""

    answered: int
    failed: int
    seconds: float
    latencies: list[float]

    def latency(self, share: float) -> float:
        return self.latencies[min(int(len(self.latencies) * share), len(self.latencies) - 1)] if self.latencies else 0.0

    @property
    def median(self) -> float:
        return statistics.median(self.latencies) if self.latencies else 0.0


class Client(asyncio.Protocol):
    """One connection. It asks as long as there are requests left."""

    def __init__(self, requests: Iterator[bytes], run: list[float], failures: list[bytes]) -> None:
        self.requests = requests
        self.latencies = run
        self.failures = failures
        self.done: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self.waiting = False

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport: asyncio.Transport = transport  # type: ignore[assignment]
        self.ask()

    def ask(self) -> None:
        request = next(self.requests, None)
        if request is None:
            self.finish()
            return
        self.head, self.left, self.tail = b"", 0, b""
        self.waiting = True
        self.began = time.perf_counter()
        self.transport.write(request)

    def data_received(self, data: bytes) -> None:
        if self.left:
            self.left -= len(data)
            if self.left <= 0:
                self.answered()
        elif self.tail:
            self.tail = (self.tail + data)[-len(LAST_CHUNK) :]
            if self.tail == LAST_CHUNK:
                self.answered()
        else:
            self.begin(self.head + data)

    def begin(self, data: bytes) -> None:
        """The head, perhaps in pieces: after it the body is counted, or watched for its last chunk."""
        at = data.find(b"\r\n\r\n")
        if at < 0:
            self.head = data
            return
        head, body = data[:at].lower(), data[at + 4 :]
        if not head.startswith(b"http/1.1 200"):
            self.failures.append(data[:2000])
        found = head.find(b"content-length:")
        if found < 0:
            self.tail = b"\0" * 5
            if body:
                self.data_received(body)
            return
        self.left = int(head[found + 15 :].split(b"\r\n", 1)[0]) - len(body)
        if self.left <= 0:
            self.answered()

    def answered(self) -> None:
        self.latencies.append(time.perf_counter() - self.began)
        self.left, self.tail, self.waiting = 0, b"", False
        self.ask()

    def connection_lost(self, fault: Exception | None) -> None:
        if self.waiting:
            self.failures.append(b"the connection ended before the answer did")
        self.finish()

    def finish(self) -> None:
        if not self.done.done():
            self.done.set_result(None)
        self.transport.close()


async def asked(port: int, requests: Iterator[bytes], connections: int) -> Run:
    """An answer to each request, over `connections` connections."""
    loop = asyncio.get_running_loop()
    latencies: list[float] = []
    failures: list[bytes] = []
    began = time.perf_counter()
    clients: list[Client] = []
    for _ in range(connections):
        made = await loop.create_connection(lambda: Client(requests, latencies, failures), "127.0.0.1", port)
        clients.append(made[1])
    await asyncio.gather(*(client.done for client in clients))
    seconds = time.perf_counter() - began
    if failures:
        raise RuntimeError(f"{len(failures)} requests failed, the first with: {failures[0]!r}")
    return Run(len(latencies), len(failures), seconds, sorted(latencies))


def ask(port: int, request: bytes, count: int, connections: int) -> Run:
    """`count` answers to the same request."""
    return uvloop.run(asked(port, repeat(request, count), min(connections, count)))


def ask_each(port: int, requests: Iterable[bytes]) -> Run:
    """An answer to each request, one after the other."""
    return uvloop.run(asked(port, iter(requests), 1))


def http_post(path: str, body: bytes, headers: dict[str, str]) -> bytes:
    """A whole request, as it goes over the wire."""
    named = {"host": "127.0.0.1", "content-type": "application/json", **headers, "content-length": str(len(body))}
    lines = "".join(f"{name}: {value}\r\n" for name, value in named.items())
    return f"POST {path} HTTP/1.1\r\n{lines}\r\n".encode() + body
