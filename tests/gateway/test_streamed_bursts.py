"""A burst of a stream: what one read brings goes on in one write, however many events it holds."""

from __future__ import annotations

import asyncio
import io
import json
from pathlib import Path
from typing import Any

import pytest

from dragoman.conversation.events import Ended, Event, Started, Stopped, TextDelta, Used
from dragoman.conversation.literals import quote
from dragoman.conversation.replies import Stop, Usage
from dragoman.dialects import registry
from dragoman.dialects.dialect import AnswerContext
from dragoman.gateway.app import Gateway
from dragoman.gateway.services import Services, open_services
from dragoman.upstream.transport.connection import Connection
from dragoman.upstream.transport.incoming import Incoming
from dragoman.upstream.transport.limits import Timeouts, TransportLimits

HEAD = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n"
MODELS = {"openai-chat": "openai/gpt-4o", "anthropic": "anthropic/claude-sonnet-4-5"}


def frames(dialect: str, count: int) -> list[bytes]:
    renderer = registry.dialect(dialect).answers.stream_renderer(AnswerContext(model="m", id="a", include_usage=True))
    events: list[Event] = [Started("a", "m", 1), *[TextDelta(0, 0, quote(f" w{number}")) for number in range(count)]]
    events += [Stopped(0, Stop.END), Used(Usage(5, count)), Ended()]
    return [renderer.render([event]) for event in events] + [renderer.close()]


class Socket(asyncio.Transport):
    """The socket to a provider: takes what is written, and closes."""

    def write(self, data: Any) -> None: ...

    def is_closing(self) -> bool:
        return False

    def get_write_buffer_size(self) -> int:
        return 0

    def abort(self) -> None: ...

    def close(self) -> None: ...

    def pause_reading(self) -> None: ...

    def resume_reading(self) -> None: ...


class Owner:
    def release(self, connection: Connection) -> None: ...

    remove = opened = closed = release


class Provider:
    """A transport whose socket gives an answer in these reads: the first at once, each other if `give` is called."""

    def __init__(self, reads: list[bytes]) -> None:
        self.reads = iter(reads)

    async def send(self, outgoing: Any, timeouts: Timeouts, may_resend: Any = None) -> Incoming:
        self.connection = Connection("http://x.test", TransportLimits(), Owner())
        self.connection.connection_made(Socket())
        self.connection.enter_pool()
        incoming = Incoming("http://x.test", False, timeouts, float("inf"))
        headed = self.connection.begin(incoming, b"", b"")
        self.connection.data_received(HEAD)
        await headed
        asyncio.get_running_loop().call_soon(self.give)
        return incoming

    def give(self) -> None:
        if read := next(self.reads, b""):
            self.connection.data_received(read)

    async def close(self) -> None: ...


def opened(folder: Path, provider: Provider) -> Services:
    file = folder / "dragoman.yaml"
    providers = {
        name.split("/")[0]: {"api_key": "k", "base_url": "http://x.test", "max_connections": 7}
        for name in MODELS.values()
    }
    models = {name: {"target": target} for name, target in MODELS.items()}
    file.write_text(json.dumps({"providers": providers, "models": models, "store": {"kind": "memory"}}))
    services = open_services(file)
    services.records.lines.stream = io.StringIO()
    services.dispatcher.transports[None, 7] = provider  # type: ignore[assignment]
    return services


async def ask(folder: Path, model: str, provider: Provider, at_once: int) -> list[bytes]:
    """The pieces of the answer, as they are written. After each of them so many reads come."""
    body = json.dumps({"model": model, "stream": True, "messages": [{"role": "user", "content": "Hi"}]}).encode()
    scope = {"type": "http", "method": "POST", "path": "/v1/chat/completions", "headers": [], "query_string": b""}
    pieces: list[bytes] = []

    async def receive() -> dict[str, Any]:
        return {"type": "http.request", "body": body, "more_body": False}

    async def send(message: Any) -> None:
        if message["type"] == "http.response.body" and message["body"]:
            pieces.append(message["body"])
            for _ in range(at_once):
                provider.give()

    gateway = Gateway(opened(folder, provider), watch=False)
    await gateway(scope, receive, send)
    await gateway.close()
    return pieces


@pytest.mark.parametrize("upstream", MODELS)
@pytest.mark.parametrize(("reads", "at_once", "writes"), [(1, 1, 1), (4, 1, 4), (5, 2, 3)])
def test_what_has_come_is_one_write(tmp_path: Path, upstream: str, reads: int, at_once: int, writes: int) -> None:
    chunks = [b"%x\r\n%b\r\n" % (len(frame), frame) for frame in frames(upstream, 400) if frame]
    size = len(chunks) // reads + 1
    given = [b"".join(chunks[at : at + size]) for at in range(0, len(chunks), size)]
    given[-1] += b"0\r\n\r\n"
    pieces = asyncio.run(ask(tmp_path, upstream, Provider(given), at_once))
    assert len(pieces) == writes
    assert b"".join(pieces).count(b'"content":" w') == 400
    assert pieces[-1].endswith(b"data: [DONE]\n\n")
