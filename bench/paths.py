"""The hot paths in one process and without a socket, so that they can be counted instead of timed.

    python bench/paths.py PATH TIMES

runs one of them so many times; the guard counts the instructions of that, and a profiler shows where they go. The
gateway's paths are whole requests through the ASGI application, with a key, its limits, ledger, metrics and log; only
the provider's connection is a stand-in.
"""

from __future__ import annotations

import asyncio
import hashlib
import io
import json
import sys
import tempfile
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import questions

import conversation
from dragoman.conversation.changes import Undo
from dragoman.dialects.dialect import AnswerContext
from dragoman.engine.adapt import adapt
from dragoman.engine.translation import Translation
from dragoman.gateway.app import Gateway
from dragoman.gateway.services import Services, open_services

KEY = "guard-key-not-a-secret"
EVENTS = 100
CONNECTIONS = 7
"""Connections of one trust and one bound are shared: by this number the stand-in is found."""
TARGETS = {
    "openai-chat": "openai/gpt-4o",
    "anthropic": "anthropic/claude-sonnet-4-5",
    "gemini": "gemini/gemini-2.5-flash",
}
ANSWERING = AnswerContext(model="mock", created=1_700_000_000, id="guard")
Path_ = Callable[[int], None]


def compiling(upstream: str) -> Path_:
    """A tool conversation of 20 messages, compiled."""
    body = conversation.body(20)
    target = TARGETS[upstream]

    def run(times: int) -> None:
        for _ in range(times):
            adapt(body, source="openai-chat", target=target)

    return run


def streaming(upstream: str, client: str) -> Path_:
    """A streamed answer of a hundred words, each in a chunk of its own."""
    frames = questions.frames(upstream, EVENTS)

    def run(times: int) -> None:
        for _ in range(times):
            translation = Translation(upstream, client, Undo(), ANSWERING)
            for frame in frames:
                translation.feed(frame)
            translation.close()

    return run


class Stand:
    """A provider's connection that has every answer at once."""

    def __init__(self, answers: dict[str, list[bytes]]) -> None:
        self._answers = answers

    async def send(self, outgoing: Any, timeouts: Any) -> Said:
        dialect = next(name for name, mark in _MARKS.items() if mark in outgoing.url)
        return Said(self._answers[dialect])

    async def close(self) -> None:
        return


_MARKS = {"openai-chat": "/chat/completions", "anthropic": "/messages", "gemini": "enerateContent"}


class Said:
    """An answer of such a connection."""

    status = 200
    headers = (("content-type", "application/json"),)

    def __init__(self, pieces: list[bytes]) -> None:
        self._pieces = pieces

    def header(self, name: str) -> str | None:
        return "application/json" if name == "content-type" else None

    async def read(self, limit: int) -> bytes:
        return self._pieces[0]

    async def __aiter__(self) -> AsyncIterator[bytes]:
        for piece in self._pieces:
            yield piece

    async def close(self) -> None:
        return


def asking(client: str, upstream: str, size: str, stream: bool) -> Path_:
    """Whole requests through the gateway."""
    body = questions.question(client, size, upstream, stream)

    def run(times: int) -> None:
        asyncio.run(_asked(times, questions.PATHS[client], body, stream))

    return run


async def _asked(times: int, path: str, body: bytes, stream: bool) -> None:
    services = opened(stream)
    gateway = Gateway(services, watch=False)
    headers = [(b"content-type", b"application/json"), (b"authorization", f"Bearer {KEY}".encode())]
    headers += [(b"content-length", b"%d" % len(body)), (b"user-agent", b"guard/1"), (b"accept", b"*/*")]
    scope = {"type": "http", "method": "POST", "path": path, "headers": headers, "query_string": b""}
    statuses: list[int] = []

    async def receive() -> dict[str, Any]:
        return {"type": "http.request", "body": body, "more_body": False}

    async def send(message: Any) -> None:
        if message["type"] == "http.response.start":
            statuses.append(message["status"])

    for _ in range(times):
        await gateway(scope, receive, send)
    await gateway.close()
    assert set(statuses) <= {200}, f"the gateway answered {set(statuses)}"


def opened(stream: bool) -> Services:
    """A gateway's services with everything on, and the stand-in for connections."""
    providers = {
        target.split("/")[0]: {"api_key": "k", "base_url": "http://127.0.0.1:9", "max_connections": CONNECTIONS}
        for target in TARGETS.values()
    }
    keys = {"guard": {"sha256": hashlib.sha256(KEY.encode()).hexdigest(), "requests_per_minute": 10**9}}
    keys["guard"] |= {"tokens_per_minute": 10**12, "concurrent": 100}
    models = {dialect: {"target": target} for dialect, target in TARGETS.items()}
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "dragoman.yaml"
        file.write_text(
            json.dumps({"providers": providers, "models": models, "keys": keys, "store": {"kind": "memory"}})
        )
        services = open_services(file)
    services.lines.stream = io.StringIO()
    pieces = {name: questions.frames(name, EVENTS) if stream else [questions.whole(name)] for name in TARGETS}
    services.transports[None, CONNECTIONS] = Stand(pieces)  # type: ignore[assignment]
    return services


PATHS: dict[str, Path_] = {
    "adapt openai-chat": compiling("openai-chat"),
    "adapt anthropic": compiling("anthropic"),
    "adapt gemini": compiling("gemini"),
    "stream relayed": streaming("openai-chat", "openai-chat"),
    "stream anthropic to chat": streaming("anthropic", "openai-chat"),
    "stream chat to anthropic": streaming("openai-chat", "anthropic"),
    "gateway chat to chat": asking("openai-chat", "openai-chat", "tools", False),
    "gateway chat to chat, short": asking("openai-chat", "openai-chat", "short", False),
    "gateway chat to anthropic": asking("openai-chat", "anthropic", "tools", False),
    "gateway anthropic to chat": asking("anthropic", "openai-chat", "tools", False),
    "gateway chat to chat, streamed": asking("openai-chat", "openai-chat", "short", True),
    "gateway chat to anthropic, streamed": asking("openai-chat", "anthropic", "short", True),
}


if __name__ == "__main__":
    PATHS[sys.argv[1]](int(sys.argv[2]))
