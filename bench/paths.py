"""The hot paths in one process and without a socket, so that they can be counted instead of timed.

    python bench/paths.py PATH TIMES

runs one of them so many times, and a profiler shows where they go. The gateway's paths are whole requests through the
ASGI application, with a key, its limits, ledger, metrics and log; only the provider's connection is a stand-in.

    python bench/paths.py --few-and-many PATH ...

runs each of them a few times and many times, in children of one process that has started already, and prints their
process ids: the guard counts the instructions of each child.
"""

from __future__ import annotations

import asyncio
import hashlib
import io
import json
import os
import sys
import tempfile
import traceback
from collections.abc import AsyncIterator, Awaitable, Callable
from functools import partial
from pathlib import Path
from typing import Any, NoReturn

import agent
import defects
import msgspec
import questions

import conversation
from dragoman.conversation.changes import Undo
from dragoman.dialects.dialect import AnswerContext
from dragoman.dialects.openai_chat.answer_render import complete_answer
from dragoman.engine.answer.translation import Translation
from dragoman.engine.library.adapt import adapt
from dragoman.gateway.app import Gateway
from dragoman.gateway.services import Services, open_services
from dragoman.store.journals import background_writer

KEY = "guard-key-not-a-secret"
EVENTS = 100
FEW, MANY = 20, 120
FEW_HEAVY, MANY_HEAVY = 4, 12
CONNECTIONS = 7
"""Connections of one trust and one bound are shared: by this number the stand-in is found."""
TARGETS = {
    "openai-chat": "openai/gpt-4o",
    "anthropic": "anthropic/claude-sonnet-4-5",
    "gemini": "gemini/gemini-2.5-flash",
}
RESPONSES = "openai-responses/gpt-5.1"
GEMINI_3 = "gemini/gemini-3-pro-preview"
ANSWERING = AnswerContext(model="mock", created=1_700_000_000, id="guard")
Path_ = Callable[[int], None]


def compiling(upstream: str) -> Path_:
    """A tool conversation of 20 messages, compiled."""
    return _compiling(conversation.body(20), "openai-chat", TARGETS[upstream])


def recognising() -> Path_:
    """The same without a word about its dialect, compiled for Chat."""
    return _compiling(conversation.body(20), "auto", TARGETS["openai-chat"])


def from_client(client: str, target: str) -> Path_:
    """The same conversation from a client of another dialect."""
    return _compiling(questions.question(client, "tools", "some-model", False), client, target)


def from_question(size: str, target: str) -> Path_:
    """A Chat client's request of that size."""
    return _compiling(questions.question("openai-chat", size, "openai-chat", False), "openai-chat", target)


def from_agent(client: str, target: str) -> Path_:
    """An agent's request: 25 tools, 200 messages, 80 kB."""
    return _compiling(agent.body(client), client, target)


def _compiling(body: bytes, source: str, target: str) -> Path_:
    def run(times: int) -> None:
        for _ in range(times):
            adapt(body, source=source, target=target)

    return run


def repairing(count: int) -> Path_:
    """An agent's request with so many defects, and the report of their repairs written down."""
    body = defects.body(count)

    def run(times: int) -> None:
        for _ in range(times):
            msgspec.json.encode(adapt(body, source="openai-chat", target=TARGETS["anthropic"]).changes)

    return run


def streaming(upstream: str, client: str, burst: bool = False) -> Path_:
    """A streamed answer of a hundred words, each in a chunk of its own, or all in one."""
    frames = _frames(upstream, burst)

    def run(times: int) -> None:
        for _ in range(times):
            translation = Translation(upstream, client, Undo(), ANSWERING)
            for frame in frames:
                translation.feed(frame)
            translation.close()

    return run


def _frames(upstream: str, burst: bool) -> list[bytes]:
    frames = questions.frames(upstream, EVENTS)
    return [b"".join(frames)] if burst else frames


def completing(body: bytes) -> Path_:
    """A whole answer of another vendor, completed where it lacks something."""

    def run(times: int) -> None:
        for _ in range(times):
            Translation("openai-chat", "openai-chat", Undo(), ANSWERING, completes=True).whole(body)

    return run


def _lacking() -> bytes:
    """A whole answer without the members that other vendors leave out."""
    answer = json.loads(questions.whole("openai-chat"))
    for choice in answer["choices"]:
        choice.pop("logprobs", None)
        choice["message"].pop("refusal", None)
        choice["message"]["tool_calls"] = None
    return json.dumps(answer).encode()


class Stand:
    """A provider's connection that has every answer at once."""

    def __init__(self, answers: dict[str, list[bytes]]) -> None:
        self._answers = answers

    async def send(self, outgoing: Any, timeouts: Any, resent: bool = False) -> Said:
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
        self._next = iter(pieces)

    def header(self, name: str) -> str | None:
        return "application/json" if name == "content-type" else None

    async def read(self, limit: int) -> bytes:
        return self._pieces[0]

    def __aiter__(self) -> AsyncIterator[bytes]:
        return self

    async def __anext__(self) -> bytes:
        for piece in self._next:
            return piece
        raise StopAsyncIteration

    def nudge(self) -> None:
        """It never lets its reader wait."""

    async def close(self) -> None:
        return


def asking(
    client: str,
    upstream: str,
    size: str,
    stream: bool,
    store: str = "memory",
    alone: bool = True,
    burst: bool = False,
) -> Path_:
    """Whole requests through the gateway, by its only process or by one of several."""
    body = questions.question(client, size, upstream, stream)

    def run(times: int) -> None:
        with tempfile.TemporaryDirectory() as folder:
            asyncio.run(_ask_often(opened(Path(folder), stream, store, alone, burst), times))

    async def _ask_often(services: Services, times: int) -> None:
        gateway = Gateway(services, watch=False)
        ask = asker(gateway, questions.path(client, upstream, stream), body)
        for _ in range(times):
            await ask()
        await gateway.close()

    return run


def asker(gateway: Gateway, path: str, body: bytes) -> Callable[[], Awaitable[None]]:
    """What asks a gateway once."""
    headers = [(b"content-type", b"application/json"), (b"authorization", f"Bearer {KEY}".encode())]
    headers += [(b"content-length", b"%d" % len(body)), (b"user-agent", b"guard/1"), (b"accept", b"*/*")]
    scope = {"type": "http", "method": "POST", "path": path, "headers": headers, "query_string": b""}

    async def receive() -> dict[str, Any]:
        return {"type": "http.request", "body": body, "more_body": False}

    async def send(message: Any) -> None:
        if message["type"] == "http.response.start" and message["status"] != 200:
            raise AssertionError(f"the gateway answered {message['status']}")

    return lambda: gateway(scope, receive, send)


def opened(folder: Path, stream: bool, store: str = "memory", alone: bool = True, burst: bool = False) -> Services:
    """A gateway's services with everything on, and the stand-in for connections."""
    services = open_with(folder, "http://127.0.0.1:9", store, alone)
    pieces = {name: _frames(name, burst) if stream else [questions.whole(name)] for name in TARGETS}
    services.dispatcher.transports[None, CONNECTIONS] = Stand(pieces)  # type: ignore[assignment]
    return services


def open_with(folder: Path, base_url: str, store: str = "memory", alone: bool = True) -> Services:
    """A gateway's services with everything on, and all providers at one address."""
    providers = {
        target.split("/")[0]: {"api_key": "k", "base_url": base_url, "max_connections": CONNECTIONS}
        for target in TARGETS.values()
    }
    keys = {"guard": {"sha256": hashlib.sha256(KEY.encode()).hexdigest(), "requests_per_minute": 10**9}}
    keys["guard"] |= {"tokens_per_minute": 10**12, "concurrent": 100}
    models = {dialect: {"target": target} for dialect, target in TARGETS.items()}
    background_writer.PAUSE = 0.5  # valgrind is fifty times slower: so many requests come within the pause
    file = folder / "dragoman.yaml"
    file.write_text(json.dumps({"providers": providers, "models": models, "keys": keys, "store": {"kind": store}}))
    services = open_services(file, alone=alone)
    services.records.lines.stream = io.StringIO()
    return services


PATHS: dict[str, Callable[[], Path_]] = {
    "adapt short": partial(from_question, "short", TARGETS["openai-chat"]),
    "adapt short to gemini": partial(from_question, "short", TARGETS["gemini"]),
    "adapt openai-chat": partial(compiling, "openai-chat"),
    "adapt openai-chat, recognised": recognising,
    "adapt anthropic": partial(compiling, "anthropic"),
    "adapt gemini": partial(compiling, "gemini"),
    "stream relayed": partial(streaming, "openai-chat", "openai-chat"),
    "stream anthropic to chat": partial(streaming, "anthropic", "openai-chat"),
    "stream chat to anthropic": partial(streaming, "openai-chat", "anthropic"),
    "burst relayed": partial(streaming, "openai-chat", "openai-chat", True),
    "burst anthropic to chat": partial(streaming, "anthropic", "openai-chat", True),
    "burst chat to anthropic": partial(streaming, "openai-chat", "anthropic", True),
    "answer completed": lambda: completing(_lacking()),
    "answer that is complete": lambda: completing(complete_answer(_lacking(), ANSWERING)),
    "gateway chat to chat": partial(asking, "openai-chat", "openai-chat", "tools", False),
    "gateway chat to chat, short": partial(asking, "openai-chat", "openai-chat", "short", False),
    "gateway chat to anthropic": partial(asking, "openai-chat", "anthropic", "tools", False),
    "gateway anthropic to chat": partial(asking, "anthropic", "openai-chat", "tools", False),
    "gateway chat to chat, streamed": partial(asking, "openai-chat", "openai-chat", "short", True),
    "gateway chat to anthropic, streamed": partial(asking, "openai-chat", "anthropic", "short", True),
    "gateway chat to chat, burst": partial(asking, "openai-chat", "openai-chat", "short", True, burst=True),
    "gateway chat to anthropic, burst": partial(asking, "openai-chat", "anthropic", "short", True, burst=True),
    "gateway chat to anthropic, 50 repairs": partial(asking, "openai-chat", "anthropic", "50 repairs", False),
    "adapt from responses": partial(from_client, "openai-responses", TARGETS["anthropic"]),
    "adapt from anthropic": partial(from_client, "anthropic", TARGETS["openai-chat"]),
    "adapt from gemini": partial(from_client, "gemini", TARGETS["anthropic"]),
    "agent chat to chat": partial(from_agent, "openai-chat", TARGETS["openai-chat"]),
    "agent chat to anthropic": partial(from_agent, "openai-chat", TARGETS["anthropic"]),
    "agent responses to responses": partial(from_agent, "openai-responses", RESPONSES),
    "agent responses to anthropic": partial(from_agent, "openai-responses", TARGETS["anthropic"]),
    "agent anthropic to anthropic": partial(from_agent, "anthropic", TARGETS["anthropic"]),
    "agent anthropic to chat": partial(from_agent, "anthropic", TARGETS["openai-chat"]),
    "agent gemini to gemini": partial(from_agent, "gemini", TARGETS["gemini"]),
    "agent gemini to anthropic": partial(from_agent, "gemini", TARGETS["anthropic"]),
    "agent ollama to ollama": partial(from_agent, "ollama", questions.SPOKEN_TO["ollama"]),
    "agent cohere to cohere": partial(from_agent, "cohere", questions.SPOKEN_TO["cohere"]),
    "agent chat to gemini 3, 90 changes": partial(from_agent, "openai-chat", GEMINI_3),
    "repairs, 50 changes": partial(repairing, 50),
    "repairs, 500 changes": partial(repairing, 500),
    "gateway agent chat to chat": partial(asking, "openai-chat", "openai-chat", "agent", False),
    "gateway sqlite, chat to chat, short": partial(asking, "openai-chat", "openai-chat", "short", False, "sqlite"),
    "gateway sqlite of several, chat to chat, short": partial(
        asking, "openai-chat", "openai-chat", "short", False, "sqlite", False
    ),
    "gateway sqlite, agent chat to chat": partial(asking, "openai-chat", "openai-chat", "agent", False, "sqlite"),
    "gateway sqlite, agent chat to anthropic": partial(asking, "openai-chat", "anthropic", "agent", False, "sqlite"),
    "gateway sqlite, agent responses to chat": partial(
        asking, "openai-responses", "openai-chat", "agent", False, "sqlite"
    ),
    "gateway sqlite, agent anthropic to anthropic": partial(asking, "anthropic", "anthropic", "agent", False, "sqlite"),
    "gateway sqlite, agent gemini to gemini": partial(asking, "gemini", "gemini", "agent", False, "sqlite"),
}
"""Each is made when it is asked for: a request takes as long to build as to compile."""
HEAVY = ("agent", "repairs", "gateway chat to anthropic, 50", "gateway agent", "gateway sqlite, agent")
"""How the names of paths begin that are counted over fewer turns: each costs as much as dozens of the others."""


def run_few_and_many(names: list[str]) -> None:
    """Run each path in two children, one after the other, and print name, times and process id of each."""
    adapt(conversation.body(20), target=TARGETS["anthropic"])  # what is imported late is imported before the children
    for name in names:
        for times in (FEW_HEAVY, MANY_HEAVY) if name.startswith(HEAVY) else (FEW, MANY):
            child = os.fork()
            if not child:
                _run_as_child(name, times)
            if os.waitpid(child, 0)[1]:
                raise SystemExit(f"{name} failed")
            print(json.dumps([name, times, child]), flush=True)


def _run_as_child(name: str, times: int) -> NoReturn:
    try:
        PATHS[name]()(times)
    except BaseException:
        traceback.print_exc()
        os._exit(1)
    os._exit(0)


if __name__ == "__main__":
    if sys.argv[1] == "--few-and-many":
        run_few_and_many(sys.argv[2:])
    else:
        PATHS[sys.argv[1]]()(int(sys.argv[2]))
