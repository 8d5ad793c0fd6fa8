"""A long run with faults: memory flat, open files flat, nothing left behind.

    python bench/soak.py [--quick]

100,000 requests and 5,000 streams (a tenth with `--quick`) go through one gateway, from clients of which some leave in
the middle of an answer, to a provider of which one answer in twenty is a fault: refusals, closed connections, broken
JSON, streams that end early or carry an error. Memory, open files and tasks are noted all along and drawn into
`bench/results/soak.png`. One question in fifty is a conversation of three turns over a WebSocket, and one in four of
these goes over a WebSocket to the provider too. It fails where memory
grows after the first third (by the median of the samples: one large body is no growth), where files, tasks or requests
stay open, or where the gateway fails itself. However slow the machine, it ends after forty minutes.

After the first third the calm is over: one request in twenty is a line of the table of hostile inputs
(`tests/hostile/table.py`), sent by hostile clients or answered by a hostile provider. The p99 of all others may be
twice that of the calm third.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import random
import re
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path
from statistics import median
from typing import NamedTuple

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

import machine
import mock
import questions
import stage
import uvloop
import websockets
from contestants import KEY, Cell, Dragoman, Ports, free_port
from tests.hostile.bodies import PATHS, STREAM_PATHS, body, dump, user
from tests.hostile.provider import HostileProvider
from tests.hostile.table import ANSWERS, ERRORS, RAW, REQUESTS, STREAMS, Answer, post

from dragoman.emulators.serving.background_server import RunningEmulator
from dragoman.testing import emulator

RESULTS = Path(__file__).resolve().parent / "results"
LIMIT_SECONDS = 2400
WORKERS = 24
HOSTILE_SHARE = 0.05
SOCKET_SHARE = 0.02
LINED, LINED_SHARE = "lined/gpt-5.6", 0.25
"""The model whose provider is asked over WebSockets, and its share of the conversations."""
CALM_SHARE = 1 / 3
WORSE = 2.0
"""How many times the p99 of the calm third the others may take beside hostile traffic."""
_FEW_TASKS = 3
"""Tasks more than at the start that may be under way at the end: one of them tells the metrics."""
GROWTH = 1.10
"""Memory of the last third over that of the second: above it something is kept."""


_ENDS = ("response.completed", "response.incomplete", "response.failed", "error")


class Sample(NamedTuple):
    second: float
    done: int
    memory: float
    files: int
    tasks: int


class Faulty(mock.Streams):
    """The mock provider, which fails one time in twenty in one of these ways."""

    def answer(self, line: bytes) -> None:
        mark = next(mark for mark, found in MARKS.items() if found in line)
        whole = b" /whole/" in line
        if random.random() < 0.05:
            random.choice((self.refuse, self.hang_up, self.garble, self.break_off))(mark, whole)
        elif whole:
            self.transport.write(WHOLE[mark])
        else:
            self.transport.write(self.burst[mark])

    def refuse(self, mark: bytes, whole: bool) -> None:
        status, kind = random.choice(((429, "rate_limit_error"), (500, "server_error"), (400, "invalid_request_error")))
        body = json.dumps({"error": {"type": kind, "message": "so it is", "code": None, "param": None}}).encode()
        self.transport.write(_http(body, b"%d Refused" % status))

    def hang_up(self, mark: bytes, whole: bool) -> None:
        self.transport.close()

    def garble(self, mark: bytes, whole: bool) -> None:
        self.transport.write(
            _http(b'{"choices": [{"mess') if whole else mock._HEAD + b"9\r\ndata: {]}\r\n" + mock._LAST
        )

    def break_off(self, mark: bytes, whole: bool) -> None:
        self.transport.write((WHOLE if whole else self.burst)[mark][:900])
        self.transport.close()


def _http(body: bytes, status: bytes = b"200 OK") -> bytes:
    head = b"HTTP/1.1 %b\r\ncontent-type: application/json\r\ncontent-length: %d\r\n\r\n"
    return head % (status, len(body)) + body


WHOLE: dict[bytes, bytes] = {mark: _http(questions.whole(name)) for name, mark in mock._MARKS.items()}
MARKS = {mark: mark.removeprefix(b"streamG") for mark in WHOLE}
"""Gemini's paths for whole and streamed answers end alike."""


class Soaked(Dragoman):
    """Ours, with little patience for a provider that fails on purpose."""

    name = "soaked"
    hostile: HostileProvider
    responses: RunningEmulator

    def config(self) -> str:
        told = json.loads(super().config())
        told["providers"] |= self.hostile.config()["providers"]
        told["providers"]["lined"] = {
            "profile": "openai-responses",
            "base_url": self.responses.base_url,
            "api_key": "sk-none-0123456789",
            "websocket": True,
        }
        for provider in told["providers"].values():
            provider |= {"retries": {"attempts": 2, "base": 0.01}, "cooldown": {"failures": 1_000_000}}
        told["keys"]["bench"]["admin"] = True  # its metrics say how many tasks it has
        told["store"]["keep_requests"] = 2_000  # the ledger is full before the calm is over, and grows no more
        told["log"] = {"provider_errors": {"path": None}}
        return json.dumps(told)


def hostile_requests(provider: HostileProvider) -> list[bytes]:
    """Every line of the table, in one of three sizes."""
    made = []
    for line in REQUESTS:
        for dialect in line.dialects:
            content = line.make(dialect, _size(line.count)).replace(b"MODEL", b"anthropic/hello", 1)
            made.append(post(PATHS[dialect].format(model="anthropic/hello"), content))
    made += [line.make(_size(line.count)) for line in RAW]
    made += [_asked(line, provider.serve(line, _size(line.count))) for line in (*ANSWERS, *STREAMS, *ERRORS)]
    return [request.replace(b"Bearer any", b"Bearer " + KEY.encode(), 1) for request in made]


def _size(count: int) -> int:
    return min(count, random.choice((10, 300, 3_000)))


def _asked(line: Answer, model: str) -> bytes:
    content = dump(body(line.dialect, [user(line.dialect)], None, **({"stream": True} if line.stream else {})))
    path = (STREAM_PATHS if line.stream else PATHS)[line.dialect].format(model=model)
    return post(path, content.replace(b"MODEL", model.encode()))


class Clients:
    """So many clients, each asking one question after the other in any dialect, and sometimes leaving early."""

    def __init__(self, one: Soaked, requests: int, streams: int, hostile: list[bytes]) -> None:
        self._port = one.port
        pairs = [
            (client, upstream) for client in questions.PATHS for upstream in ("openai-chat", "anthropic", "gemini")
        ]
        self._whole = [one.request(Cell(*pair, size)) for pair in pairs for size in ("short", "tools")]
        self._streamed = [one.request(Cell(*pair, "short", "burst")) for pair in pairs]
        self._models = [Cell(*pair, "short", "burst").model for pair in pairs]
        self._left = [requests, streams]
        self._hostile = hostile
        self._calm_until = int((requests + streams) * CALM_SHARE)
        self.calm: list[float] = []
        self.beside: list[float] = []
        self.done = 0
        self.statuses: dict[str, int] = {}

    def _turn(self) -> bytes | None:
        requests, streams = self._left
        if not requests + streams:
            return None
        streamed = random.random() * (requests + streams) < streams
        self._left[int(streamed)] -= 1
        return random.choice(self._streamed if streamed else self._whole)

    async def run(self) -> None:
        await asyncio.gather(*(self._ask_on() for _ in range(WORKERS)))

    async def _ask_on(self) -> None:
        connection: tuple[asyncio.StreamReader, asyncio.StreamWriter] | None = None
        while (request := self._turn()) is not None:
            if connection is None:
                connection = await asyncio.open_connection("127.0.0.1", self._port)
            if self.done > self._calm_until and random.random() < HOSTILE_SHARE:
                await self._attack(random.choice(self._hostile))
            if random.random() < SOCKET_SHARE:
                await self._talk(leave=random.random() < 0.1)
            began = time.perf_counter()
            kept = await self._ask(*connection, request, leave=random.random() < 0.02)
            (self.calm if self.done <= self._calm_until else self.beside).append(time.perf_counter() - began)
            self.done += 1
            if not kept:
                connection[1].close()
                connection = None
        if connection is not None:
            connection[1].close()

    async def _talk(self, leave: bool) -> None:
        """A conversation over a WebSocket, each turn by the id of the answer before it. Faults make it shorter."""
        model = LINED if random.random() < LINED_SHARE else random.choice(self._models)
        asked = [{"role": "user", "content": "Hi"}]
        create = {"type": "response.create", "model": model, "input": asked, "store": False}
        address = f"ws://127.0.0.1:{self._port}/v1/responses"
        named = {"authorization": f"Bearer {KEY}"}
        with suppress(ConnectionError, TimeoutError, websockets.WebSocketException):
            async with websockets.connect(address, additional_headers=named, proxy=None, max_size=None) as line:
                previous = None
                for _ in range(3):
                    await line.send(json.dumps({**create, "previous_response_id": previous}))
                    if leave:
                        break
                    event = {"type": ""}
                    while event["type"] not in _ENDS:
                        event = json.loads(await asyncio.wait_for(line.recv(), 60))
                    self._count(f"socket {event['type'].rpartition('.')[2]}")
                    if event["type"] != "response.completed":
                        break
                    previous = event["response"]["id"]
        self._count("sockets")

    async def _attack(self, sent: bytes) -> None:
        """A line of the table, on a connection of its own; whatever the answer is, it is not waited for for long."""
        reader, writer = await asyncio.open_connection("127.0.0.1", self._port)
        with suppress(ConnectionError, TimeoutError):
            writer.write(sent)
            while await asyncio.wait_for(reader.read(65_536), 30):
                pass
        writer.close()
        self._count("hostile")

    async def _ask(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, request: bytes, leave: bool
    ) -> bool:
        """One question; True where the connection can be used again."""
        writer.write(request)
        if leave:
            await asyncio.sleep(random.random() * 0.01)
            self._count("left")
            return False
        try:
            head = (await asyncio.wait_for(reader.readuntil(b"\r\n\r\n"), 60)).lower()
            length = re.search(rb"content-length: (\d+)", head)
            if length is not None:
                await asyncio.wait_for(reader.readexactly(int(length[1])), 60)
            else:
                while (size := int(await asyncio.wait_for(reader.readline(), 60), 16)) > 0:
                    await reader.readexactly(size + 2)
                await reader.readexactly(2)
        except (asyncio.IncompleteReadError, ConnectionError, ValueError):
            self._count("broken")
            return False
        self._count(head[9:12].decode())
        return b"connection: close" not in head

    def _count(self, what: str) -> None:
        self.statuses[what] = self.statuses.get(what, 0) + 1


async def soaked(one: Soaked, clients: Clients) -> list[Sample]:
    """All requests; a sample every second."""
    began = time.monotonic()
    samples: list[Sample] = []

    async def look() -> None:
        memory, files, tasks = machine.memory_mb(one.pid), machine.open_files(one.pid), await tasks_of(one.port)
        samples.append(Sample(time.monotonic() - began, clients.done, memory, files, tasks))

    work = asyncio.ensure_future(clients.run())
    while not work.done() and time.monotonic() - began < LIMIT_SECONDS:
        await look()
        await asyncio.wait({work}, timeout=1.0)
    work.cancel()
    with suppress(asyncio.CancelledError):
        await work
    await asyncio.sleep(3)
    await look()
    return samples


async def tasks_of(port: int) -> int:
    """The tasks of the gateway's event loop, as its metrics tell them."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    head = f"GET /metrics HTTP/1.1\r\nhost: localhost\r\nauthorization: Bearer {KEY}\r\nconnection: close\r\n\r\n"
    writer.write(head.encode())
    found = re.search(rb"^dragoman_tasks (\d+)", await reader.read(), re.MULTILINE)
    writer.close()
    assert found is not None, "the metrics do not tell the tasks"
    return int(found[1])


def stopped_cleanly(one: Soaked) -> bool:
    """Told to end, it waits for what is under way: with nothing left it ends at once, and well."""
    assert one.process is not None
    one.process.terminate()
    try:
        return one.process.wait(5) == 0
    except subprocess.TimeoutExpired:
        return False


def verdict(samples: list[Sample], rest: Sample, log: str) -> list[str]:
    """What is wrong; nothing where all is well."""
    third = len(samples) // 3
    middle = median(sample.memory for sample in samples[third : 2 * third] or samples)
    last = median(sample.memory for sample in samples[2 * third : -1] or samples)
    end = samples[-1]
    wrong = []
    if last > middle * GROWTH:
        wrong.append(f"memory grows: {middle:.0f} MB in the second third, {last:.0f} MB in the last")
    if end.files > rest.files + 2 * WORKERS:
        wrong.append(f"{end.files} files are open at the end, {rest.files} were at the start")
    if end.tasks > rest.tasks + _FEW_TASKS:
        wrong.append(f"{end.tasks} tasks are under way at the end, {rest.tasks} were at the start")
    if '"event":"crash"' in log or "Traceback" in log:
        at = max(log.find('"event":"crash"'), log.find("Traceback"))
        wrong.append(f"the gateway failed itself: {log[at : at + 1500]}")
    return wrong


def p99(latencies: list[float]) -> float:
    return sorted(latencies)[int(len(latencies) * 0.99)] if latencies else 0.0


def plot(samples: list[Sample], file: Path) -> None:
    try:
        import matplotlib
    except ImportError:
        return
    matplotlib.use("Agg")
    from matplotlib import pyplot

    figure, (above, below) = pyplot.subplots(2, 1, sharex=True, figsize=(9, 5))
    done = [sample.done for sample in samples]
    above.plot(done, [sample.memory for sample in samples])
    above.set_ylabel("memory, MB")
    above.set_ylim(bottom=0)
    below.plot(done, [sample.files for sample in samples], color="tab:orange")
    below.set_ylabel("open files")
    below.set_ylim(bottom=0)
    below.set_xlabel("requests and streams answered")
    figure.tight_layout()
    figure.savefig(file, dpi=130)


async def serve_faults(port: int) -> None:
    mock.Streams.burst = {
        mark: mock._HEAD + b"".join(mock.chunks(name, 40)) + mock._LAST for name, mark in mock._MARKS.items()
    }
    server = await asyncio.get_running_loop().create_server(Faulty, "127.0.0.1", port, backlog=2048)
    await server.serve_forever()


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--provider", type=int, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.provider:
        uvloop.run(serve_faults(given.provider))
        return 0
    return run(10_000 if given.quick else 100_000, 500 if given.quick else 5_000)


def run(requests: int, streams: int) -> int:
    port = free_port()
    provider = subprocess.Popen([sys.executable, __file__, "--provider", str(port)])
    try:
        with stage.folder() as folder, HostileProvider() as hostile, emulator("openai-responses") as responses:
            one = Soaked(folder, Ports(port, port))
            one.hostile, one.responses = hostile, responses
            with stage.running([one]):
                clients = Clients(one, requests, streams, hostile_requests(hostile))
                rest = Sample(
                    0, 0, machine.memory_mb(one.pid), machine.open_files(one.pid), asyncio.run(tasks_of(one.port))
                )
                samples = uvloop.run(soaked(one, clients))
                ended = stopped_cleanly(one)
            wrong = verdict(samples, rest, (one.folder / "log").read_text(errors="replace"))
            over = [asked.body for asked in responses.requests if asked.headers.get("upgrade") == "websocket"]
            later = sum(len(asked["input"]) > 1 for asked in over)
    finally:
        provider.terminate()
        provider.wait(10)
    if clients.done < requests + streams:
        wrong.append(f"only {clients.done} of {requests + streams} were asked in {LIMIT_SECONDS} s")
    calm, beside = p99(clients.calm), p99(clients.beside)
    if beside > WORSE * calm:
        wrong.append(f"others notice hostile traffic: p99 {beside * 1000:.1f} ms, {calm * 1000:.1f} ms in the calm")
    if not later:
        wrong.append("no conversation went over a socket to the provider")
    if not ended:
        wrong.append("it did not end within five seconds of being told: something was still under way")
    RESULTS.mkdir(exist_ok=True)
    plot(samples, RESULTS / "soak.png")
    end = samples[-1]
    print(f"{clients.done:,} answers in {end.second:.0f} s: {clients.statuses}")
    print(f"{len(over)} turns over sockets to a provider, {later} of them after another on the same one")
    print(f"p99 {calm * 1000:.1f} ms in the calm, {beside * 1000:.1f} ms beside hostile traffic")
    print(
        f"memory {rest.memory:.0f} MB at first, {end.memory:.0f} MB at the end; files {rest.files} and {end.files}; "
        f"tasks {rest.tasks}, at most {max(sample.tasks for sample in samples)}, {end.tasks} at the end"
    )
    print("\n".join(wrong) or "memory flat, files flat, tasks flat, nothing left")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
