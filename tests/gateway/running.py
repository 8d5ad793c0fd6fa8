"""A gateway on a port of this machine, in a thread of its own, and the official SDKs pointed at it."""

from __future__ import annotations

import asyncio
import io
import json
import socket
import threading
import time
from collections.abc import Callable, Coroutine, Iterator, Mapping
from contextlib import contextmanager
from functools import lru_cache
from pathlib import Path
from typing import Any, TypeVar

import anthropic
import httpx
import openai
import uvicorn
import yaml
from google import genai
from google.genai import types
from tests.prompt_server import PromptServer

from dragoman.gateway.app import Gateway
from dragoman.gateway.http.http_protocol import bounded_protocol
from dragoman.gateway.services import Services, open_services
from dragoman.store.clock import REAL_CLOCKS, Clocks
from dragoman.store.ledger_entry import Entry, Viewer

T = TypeVar("T")
QUICK = {"attempts": 3, "base": 0.001, "cap": 5}
PATIENT = {"connect": 60, "first_byte": 60, "idle": 60, "total": 120}


class Running:
    """One gateway under test."""

    def __init__(self, config: Mapping[str, Any], folder: Path, clocks: Clocks = REAL_CLOCKS) -> None:
        self.file = folder / "dragoman.yaml"
        self.errors = folder / "provider_errors.jsonl"
        self.log = io.StringIO()
        self.write(config)
        self.services: Services = open_services(self.file, clocks=clocks)
        self.services.records.lines.stream = self.log
        self.app: Any = Gateway(self.services)
        self._server: PromptServer | None = None
        self._thread = threading.Thread()
        self.loop: asyncio.AbstractEventLoop | None = None
        self.url = ""
        self.http = httpx.Client(timeout=120)

    def write(self, config: Mapping[str, Any] | str) -> None:
        if not isinstance(config, str):
            log = {"level": "debug", "provider_errors": {"path": str(self.errors), "content": True}}
            config = yaml.safe_dump({"log": log, **config})
        self.file.write_text(config)

    def start(self) -> Running:
        listening = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{listening.getsockname()[1]}"
        protocol = bounded_protocol(self.services.live.config.server.max_headers, 75)
        config = uvicorn.Config(
            self._caught, http=protocol, log_level="critical", loop="uvloop", interface="asgi3", lifespan="on"
        )
        self._server = PromptServer(config)
        self._thread = threading.Thread(target=self._server.run, kwargs={"sockets": [listening]}, daemon=True)
        self._thread.start()
        wait_for(lambda: self._server is not None and self._server.started)
        return self

    async def _caught(self, scope: Any, receive: Any, send: Any) -> None:
        self.loop = asyncio.get_running_loop()
        await self.app(scope, receive, send)

    def stop(self) -> None:
        assert self._server is not None
        self.http.close()
        self._server.end()
        wait_for(lambda: not getattr(self._server, "servers", ()) or self.services.traffic.closing)
        self._thread.join(60)  # what was to be written is written then

    def do(self, work: Callable[[], Coroutine[Any, Any, T]]) -> T:
        """Run something in the gateway's own loop."""
        assert self.loop is not None
        return asyncio.run_coroutine_threadsafe(work(), self.loop).result(60)

    def tasks(self) -> int:
        """Tasks under way, this look at them not counted."""

        async def count() -> int:
            return len(asyncio.all_tasks()) - 1

        return self.do(count)

    def resting(self) -> dict[str, float]:
        """The targets that are left alone for a while."""

        async def look() -> dict[str, float]:
            return self.services.dispatcher.health.resting(0.0)

        return self.do(look)

    def busy(self) -> tuple[int, int]:
        """Upstream connections in use, and requests under way."""
        stats = [transport.stats for transport in self.services.dispatcher.transports.values()]
        return sum(one.open - one.idle for one in stats), self.services.records.metrics.active

    def entry(self, answer: httpx.Response | Any) -> Entry:
        """The report of an answered request."""
        ledger, identity = self.services.store.ledger, answer.headers["x-dragoman-request-id"]
        found = self.do(lambda: ledger.report(identity, Viewer("", True)))
        assert found is not None
        return found

    def post(self, path: str, body: Any, key: str = "any", **headers: str) -> httpx.Response:
        content = body if isinstance(body, bytes) else None
        named = {"authorization": f"Bearer {key}", "content-type": "application/json"}
        named |= {name.replace("_", "-"): value for name, value in headers.items()}
        as_json = body if content is None else None
        return self._settled(self.http.post(self.url + path, content=content, json=as_json, headers=named))

    def get(self, path: str, key: str = "any", **headers: str) -> httpx.Response:
        return self._settled(self.http.get(self.url + path, headers={"authorization": f"Bearer {key}", **headers}))

    def _settled(self, answer: httpx.Response) -> httpx.Response:
        """The answer, once the gateway has had its turn after it: then the request is written down."""
        if self.loop is not None and self.loop.is_running():
            self.do(lambda: asyncio.sleep(0))
        return answer

    @lru_cache(maxsize=8)  # noqa: B019 - a client is slow to make, and a test's gateway short-lived
    def openai(self, key: str = "any") -> openai.OpenAI:
        return openai.OpenAI(base_url=f"{self.url}/v1", api_key=key, max_retries=0)

    @lru_cache(maxsize=8)  # noqa: B019
    def anthropic(self, key: str = "any") -> anthropic.Anthropic:
        return anthropic.Anthropic(base_url=self.url, api_key=key, max_retries=0)

    @lru_cache(maxsize=8)  # noqa: B019
    def gemini(self, key: str = "any") -> genai.Client:
        return genai.Client(api_key=key, http_options=types.HttpOptions(base_url=self.url))


@contextmanager
def gateway(config: Mapping[str, Any], folder: Path, clocks: Clocks = REAL_CLOCKS) -> Iterator[Running]:
    """Runs while the block lasts. A fault of the gateway's own fails the test that met it."""
    running = Running(config, folder, clocks).start()
    try:
        yield running
    finally:
        running.stop()
    crashes = [line for line in running.log.getvalue().splitlines() if '"event":"crash"' in line]
    assert crashes == []


def provider(profile: str, url: str, **more: Any) -> dict[str, Any]:
    """A provider of the file: no waiting between attempts, and much patience."""
    made = {"profile": profile, "base_url": url, "retries": QUICK, "timeouts": PATIENT, **more}
    return made if "api_keys" in made else {"api_key": f"pk-{profile}-0123456789", **made}


def ask_and_leave(running: Running, path: str, body: Any, until: Callable[[], bool]) -> None:
    """Send a request, and hang up without its answer when something has come true."""
    host, _, port = running.url.removeprefix("http://").partition(":")
    sent = json.dumps(body).encode()
    head = f"POST {path} HTTP/1.1\r\nhost: {host}\r\ncontent-length: {len(sent)}\r\n\r\n"
    with socket.create_connection((host, int(port)), timeout=60) as line:
        line.sendall(head.encode() + sent)
        wait_for(until)


class Hands:
    """The hands of a clock that only a test moves."""

    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


def wait_for(true: Callable[[], bool], seconds: float = 60.0) -> None:
    end = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < end, "it did not come true in time"
        time.sleep(0.002)
