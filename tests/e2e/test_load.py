"""Many requests at once while the configuration changes, a provider fails and the gateway goes down and comes back.

Sizes by environment: DRAGOMAN_LOAD_REQUESTS (5,000; the whole proof is 50,000) and DRAGOMAN_LOAD_STREAMS (300; 1,000).
Every request carries a number of its own, and every answer tells the number that the provider heard.
"""

from __future__ import annotations

import asyncio
import json
import os
import re
import signal
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx
import pytest
import yaml
from tests.e2e.installed import asked_for
from tests.gateway.serving import Served, serving

from dragoman.emulators.background import Running
from dragoman.testing import emulator

pytestmark = asked_for
REQUESTS = int(os.environ.get("DRAGOMAN_LOAD_REQUESTS", "5000"))
STREAMS = int(os.environ.get("DRAGOMAN_LOAD_STREAMS", "300"))
WORKERS = 64
NUMBER = re.compile(r"number (\d+)\.")
BROKEN = (httpx.ConnectError, httpx.RemoteProtocolError, httpx.ReadError, httpx.WriteError)


@dataclass
class Tally:
    """What became of the requests, by their numbers."""

    answered: Counter[int] = field(default_factory=Counter)
    by: Counter[str] = field(default_factory=Counter)
    wrong: list[Any] = field(default_factory=list)
    resent: int = 0
    seconds: list[float] = field(default_factory=list)

    def check(self, number: int, text: str, model: str) -> None:
        heard = NUMBER.findall(text)
        if set(heard) != {str(number)}:
            self.wrong.append((number, text[:300]))
            return
        self.answered[number] += 1
        self.by[model] += 1


@pytest.fixture
def houses() -> Iterator[dict[str, Running]]:
    with ExitStack() as stack:
        yield {name: stack.enter_context(emulator(name)) for name in ("openai", "anthropic")}


def configuration(folder: Path, houses: dict[str, Running], **server: Any) -> Path:
    quick = {
        "retries": {"attempts": 2, "base": 0.01},
        "cooldown": {"failures": 5, "seconds": 0.5},
        "max_connections": STREAMS,
    }
    providers = {
        name: {"profile": name, "base_url": house.base_url, "api_key": "pk-0123456789", **quick}
        for name, house in houses.items()
    }
    model = {"target": "openai/gpt-4o", "fallbacks": ["anthropic/claude-sonnet-4-5"]}
    models = {"main": model, "claude": {"target": "anthropic/claude-sonnet-4-5"}}
    path = folder / "dragoman.yaml"
    path.write_text(
        yaml.safe_dump(
            {
                "providers": providers,
                "models": models,
                "server": {"shutdown_grace": 90, **server},
            }
        )
    )
    return path


@contextmanager
def counted(houses: dict[str, Running]) -> Iterator[Counter[int]]:
    """How often each number was answered by a provider. An emulator's own memory is shorter than this."""
    heard: Counter[int] = Counter()

    def note(record: Any) -> None:
        if record.verdict == "accepted":
            heard.update(int(number) for number in NUMBER.findall(json.dumps(record.body)))

    for house in houses.values():
        house._desk._on_record = note
    yield heard


def question(number: int) -> tuple[str, dict[str, Any]]:
    """Chat and Messages by turns."""
    asked = [{"role": "user", "content": f"This is number {number}."}]
    if number % 2:
        return "/v1/messages", {"model": "main", "max_tokens": 100, "messages": asked}
    return "/v1/chat/completions", {"model": "main", "messages": asked}


async def ask_all(url: str, tally: Tally, until: asyncio.Event) -> None:
    """Workers that go on until every number is answered; only a connection that broke is tried again."""
    numbers = iter(range(REQUESTS))
    limits = httpx.Limits(max_connections=WORKERS, max_keepalive_connections=WORKERS)
    async with httpx.AsyncClient(base_url=url, timeout=60, limits=limits) as client:
        await asyncio.gather(*[_work(client, numbers, tally) for _ in range(WORKERS)])
    until.set()


async def _work(client: httpx.AsyncClient, numbers: Iterator[int], tally: Tally) -> None:
    for number in numbers:
        path, body = question(number)
        started = time.perf_counter()
        answer = await _send(client, path, body, tally)
        tally.seconds.append(time.perf_counter() - started)
        if answer.status_code != 200:
            tally.wrong.append((number, answer.status_code, answer.text[:300]))
        else:
            tally.check(number, answer.text, answer.headers["x-dragoman-model"])


async def _send(client: httpx.AsyncClient, path: str, body: Any, tally: Tally) -> httpx.Response:
    end = time.monotonic() + 60
    while True:
        try:
            return await client.post(path, json=body)
        except BROKEN:
            assert time.monotonic() < end, "the gateway did not come back"
            tally.resent += 1
            await asyncio.sleep(0.05)


async def reached(tally: Tally, share: float) -> None:
    while len(tally.answered) + len(tally.wrong) < REQUESTS * share:  # noqa: ASYNC110 - many hands count
        await asyncio.sleep(0.01)


async def trouble(tally: Tally, stack: ExitStack, folder: Path, houses: dict[str, Running], first: Served) -> None:
    """A reload at 1/5, an outage from 2/5 to 3/5, a shutdown and a new start at 4/5."""
    await reached(tally, 0.2)
    path = configuration(folder, houses, max_concurrent=2000)
    first.signal(signal.SIGHUP)
    await reached(tally, 0.4)
    houses["openai"].fault("503")
    await reached(tally, 0.6)
    houses["openai"].fault(None)
    await reached(tally, 0.8)
    port = first.url.rpartition(":")[2]
    assert await asyncio.to_thread(first.stop) == 0
    await asyncio.to_thread(stack.enter_context, serving(folder, "--config", str(path), "--port", port))


async def test_no_request_is_lost_or_answered_twice(tmp_path: Path, houses: dict[str, Running]) -> None:
    path = configuration(tmp_path, houses)
    tally, done = Tally(), asyncio.Event()
    with ExitStack() as stack, counted(houses) as heard:
        served = stack.enter_context(serving(tmp_path, "--config", str(path)))
        started = time.perf_counter()
        await asyncio.gather(ask_all(served.url, tally, done), trouble(tally, stack, tmp_path, houses, served))
        took = time.perf_counter() - started
    tally.seconds.sort()
    middle, late = tally.seconds[len(tally.seconds) // 2], tally.seconds[int(len(tally.seconds) * 0.99)]
    rate = f"{REQUESTS / took:.0f}/s, {WORKERS} at once, p50 {middle * 1000:.0f} ms, p99 {late * 1000:.0f} ms"
    lost = sum(heard.values()) - REQUESTS
    print(f"\n{REQUESTS} requests in {took:.1f} s ({rate}); answered by {dict(tally.by)};")
    print(f"{tally.resent} tries met a broken connection; {lost} answers of providers reached nobody")
    assert tally.wrong == []
    assert sorted(tally.answered) == list(range(REQUESTS))
    assert set(tally.answered.values()) == {1}
    assert 0 <= lost <= tally.resent, "a provider was asked twice for one answer"
    assert tally.by["anthropic/claude-sonnet-4-5"] > 0, "the outage was not noticed"


async def stream_one(client: httpx.AsyncClient, number: int, begun: Counter[str], tally: Tally) -> None:
    body = {"model": "claude", "stream": True, "messages": [{"role": "user", "content": f"This is number {number}."}]}
    async with client.stream("POST", "/v1/chat/completions", json=body) as answer:
        assert answer.status_code == 200
        lines = []
        async for line in answer.aiter_lines():
            if not lines:
                begun["streams"] += 1
            lines.append(line)
        model = answer.headers["x-dragoman-model"]
    data = [line[6:] for line in lines if line.startswith("data: ")]
    if data[-1:] != ["[DONE]"]:
        tally.wrong.append((number, data[-2:]))
        return
    chunks = [json.loads(one) for one in data[:-1]]
    pieces = [one["choices"][0]["delta"].get("content") or "" for one in chunks if one["choices"]]
    tally.check(number, "".join(pieces), model)


async def test_streams_outlive_a_reload_and_a_shutdown(tmp_path: Path, houses: dict[str, Running]) -> None:
    path = configuration(tmp_path, houses)
    houses["anthropic"].fault("slow;bytes=60;every=0.5")
    tally, begun = Tally(), Counter[str]()
    with serving(tmp_path, "--config", str(path)) as served:
        limits = httpx.Limits(max_connections=STREAMS)
        async with httpx.AsyncClient(base_url=served.url, timeout=120, limits=limits) as client:
            started = time.perf_counter()
            running = asyncio.gather(*[stream_one(client, number, begun, tally) for number in range(STREAMS)])
            while begun["streams"] < STREAMS and time.perf_counter() - started < 60:  # noqa: ASYNC110
                await asyncio.sleep(0.02)
            all_open, ended = time.perf_counter() - started, sum(tally.answered.values())
            configuration(tmp_path, houses, max_concurrent=2000)
            served.signal(signal.SIGHUP)
            await asyncio.sleep(0.2)
            served.signal(signal.SIGTERM)
            await running
            took = time.perf_counter() - started
        assert await asyncio.to_thread(served.process.wait, 20) == 0
    assert ended <= STREAMS // 2, "too few streams were open at once to prove anything"
    print(f"\n{STREAMS} streams, all begun after {all_open:.1f} s ({ended} over by then), all ended after {took:.1f} s")
    assert tally.wrong == []
    assert sorted(tally.answered) == list(range(STREAMS))
    assert set(tally.answered.values()) == {1}
