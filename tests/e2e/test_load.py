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
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx
import pytest
import yaml
from tests.e2e.installed import asked_for
from tests.gateway.serving import Served, serving

from dragoman.emulators.serving.background_server import RunningEmulator
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
def houses() -> Iterator[dict[str, RunningEmulator]]:
    with ExitStack() as stack:
        yield {name: stack.enter_context(emulator(name)) for name in ("openai", "anthropic")}


def configuration(folder: Path, houses: dict[str, RunningEmulator], **server: Any) -> Path:
    quick = {"retries": {"attempts": 2, "base": 0.01}, "cooldown": {"failures": 5, "seconds": 0.5}}
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
                "server": {"shutdown_grace": 200, **server},
            }
        )
    )
    return path


@contextmanager
def counted(houses: dict[str, RunningEmulator]) -> Iterator[Counter[int]]:
    """How often each number was answered by a provider. An emulator's own memory is shorter than this."""
    heard: Counter[int] = Counter()

    def note(record: Any) -> None:
        if record.status == 200:
            heard.update(int(number) for number in NUMBER.findall(json.dumps(record.body)))

    for house in houses.values():
        house._core._on_record = note
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


async def trouble(
    tally: Tally, stack: ExitStack, folder: Path, houses: dict[str, RunningEmulator], first: Served
) -> None:
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


async def test_no_request_is_lost_or_answered_twice(tmp_path: Path, houses: dict[str, RunningEmulator]) -> None:
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


async def stream_one(client: httpx.AsyncClient, model: str, number: int, begun: Counter[str]) -> tuple[str, list[Any]]:
    """Who answered, and the data of all frames."""
    body = {"model": model, "stream": True, "messages": [{"role": "user", "content": f"This is number {number}."}]}
    data: list[str] = []
    async with client.stream("POST", "/v1/chat/completions", json=body) as answer:
        assert answer.status_code == 200, await answer.aread()
        async for line in answer.aiter_lines():
            if line.startswith("data: "):
                begun[model] += not data
                data.append(line[6:])
    return answer.headers["x-dragoman-model"], [one if one == "[DONE]" else json.loads(one) for one in data]


def check_stream(tally: Tally, number: int, model: str, data: list[Any]) -> None:
    """A stream that came to its proper end, with the right number in it."""
    if data[-1:] != ["[DONE]"] or any("error" in one for one in data[:-1]):
        tally.wrong.append((number, data[-2:]))
        return
    pieces = [one["choices"][0]["delta"].get("content") or "" for one in data[:-1] if one["choices"]]
    tally.check(number, "".join(pieces), model)


async def open_streams(
    client: httpx.AsyncClient, models: Sequence[str], first: int, begun: Counter[str]
) -> list[asyncio.Task[tuple[str, list[Any]]]]:
    """Start a stream for each model named, and wait until each has said something."""
    before, end = begun.total(), time.perf_counter() + 90
    streams = [
        asyncio.create_task(stream_one(client, model, first + at, begun), name=str(first + at))
        for at, model in enumerate(models)
    ]
    while begun.total() < before + len(models):
        assert time.perf_counter() < end, f"{begun.total()} of {before + len(models)} streams began"
        await asyncio.sleep(0.02)
    return streams


def few_files() -> None:
    """The limit that a shell usually sets; the one behind it is left as it is."""
    import resource

    resource.setrlimit(resource.RLIMIT_NOFILE, (1024, resource.getrlimit(resource.RLIMIT_NOFILE)[1]))


async def test_streams_outlive_a_reload_an_outage_and_a_shutdown(
    tmp_path: Path, houses: dict[str, RunningEmulator]
) -> None:
    path = configuration(tmp_path, houses)
    for house in houses.values():
        house.fault("slow;bytes=160;every=1.5")
    tally, begun = Tally(), Counter[str]()
    with (
        serving(tmp_path, "--config", str(path), before=few_files) as served,
        counted(houses) as heard,
    ):
        limits = httpx.Limits(max_connections=None)
        async with httpx.AsyncClient(base_url=served.url, timeout=240, limits=limits) as client:
            started = time.perf_counter()
            models = ["main" if number % 2 else "claude" for number in range(STREAMS)]
            streams = await open_streams(client, models, 0, begun)
            all_open = time.perf_counter() - started
            ended = sum(stream.done() for stream in streams)
            configuration(tmp_path, houses, max_concurrent=3000)
            served.signal(signal.SIGHUP)
            await asyncio.to_thread(served.wait, "config-reloaded")
            houses["openai"].fault("503")
            streams += await open_streams(client, ["main"] * 20, STREAMS, begun)
            served.signal(signal.SIGTERM)
            await asyncio.to_thread(served.wait, "stopping")
            under_way = served.wait("stopping")["running"]
            for stream in streams:
                check_stream(tally, int(stream.get_name()), *await stream)
            took = time.perf_counter() - started
        assert await asyncio.to_thread(served.process.wait, 20) == 0
    total = STREAMS + 20
    print(f"\n{total} streams, {STREAMS} begun after {all_open:.1f} s ({ended} over by then), {under_way} under way at")
    print(f"the shutdown, all ended after {took:.1f} s; answered by {dict(tally.by)}")
    assert ended == 0, "too few streams were open at once to prove anything"
    assert under_way >= STREAMS * 0.9
    assert tally.wrong == []
    assert sorted(tally.answered) == list(range(total))
    assert set(tally.answered.values()) == {1}
    assert set(heard.values()) == {1}, "a provider was asked twice for one answer"
    assert tally.by["openai/gpt-4o"] == STREAMS // 2, "open streams were not left alone"


def open_files(process: int) -> int:
    return len(list(Path(f"/proc/{process}/fd").iterdir()))


@pytest.mark.skipif(not Path("/proc/self/fd").exists(), reason="counts open files in /proc")
async def test_a_provider_that_dies_ends_its_streams_with_an_error(
    tmp_path: Path, houses: dict[str, RunningEmulator]
) -> None:
    dying = ExitStack()
    houses["openai"] = dying.enter_context(emulator("openai"))
    path = configuration(tmp_path, houses)
    houses["openai"].fault("slow;bytes=60;every=1.5")
    begun = Counter[str]()
    with serving(tmp_path, "--config", str(path), before=few_files) as served:
        at_first = open_files(served.process.pid)
        async with httpx.AsyncClient(
            base_url=served.url, timeout=240, limits=httpx.Limits(max_connections=None)
        ) as client:
            streams = await open_streams(client, ["main"] * STREAMS, 0, begun)
            most = open_files(served.process.pid)
            started = time.perf_counter()
            await asyncio.to_thread(dying.close)
            told = [(await stream)[1] for stream in streams]
            took = time.perf_counter() - started
            after = await stream_one(client, "main", 1, Counter())
            active = (await client.get("/metrics")).text
        await asyncio.sleep(0.5)
        at_last = open_files(served.process.pid)
        assert served.stop() == 0
    print(
        f"\n{STREAMS} streams of a provider that died were told after {took:.1f} s; files: {at_first} {most} {at_last}"
    )
    assert [one[-1] for one in told] == ["[DONE]"] * STREAMS
    assert all("error" in one[-2] for one in told), "a broken stream looked like a whole one"
    assert not any(choice["finish_reason"] for one in told for part in one[:-2] for choice in part["choices"])
    assert after[0] == "anthropic/claude-sonnet-4-5"
    assert "dragoman_active_requests 0" in active
    assert at_last <= at_first + 5, "connections were left open"
