"""Four replicas on one Redis and one PostgreSQL, under load, while things go wrong: what must hold, and the figures.

    python bench/cluster.py [--rate 40] [--seconds 10] [--json FILE]
    python bench/cluster.py --streams 1000 [--grace 30] [--json FILE]

Replicas are processes, each with a clock that is off by up to two seconds. Each reaches Redis through a proxy of this
script, which can stand still (a partition) or lead elsewhere (a failover). The client does what a balancer does: it
asks the next replica where one cannot be reached. Phases: steady, rolling restart, a replica killed, Redis standing
still, Redis killed and started empty, failover, partition, PostgreSQL killed, steady again.

What must hold:
  answered    every request is answered, though a balancer may have to ask twice
  limit       in no minute more requests of a key than its limit and 1 %; in a partition its replica's share on top
  budget      Redis has booked what was answered, give or take what was under way when a replica was killed
  ledger      PostgreSQL has every answered request, and each once; but for the last moment of a replica that was killed
  reasoning   no turn of a tool loop has lost its reasoning state, but to a replica that was killed or cut off
  sockets     conversations over WebSockets go on at another replica; half of them go over one to the provider too
"""

from __future__ import annotations

import argparse
import asyncio
import hashlib
import json
import random
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Awaitable, Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import httpx
import msgspec
import websockets
from cluster_streams import run_streams
from replica import LIMIT, PRICE, REPLICAS, Replica, config_of
from tests.free_ports import free_port
from tests.store.postgres_server import PostgresServer, programs
from tests.store.redis_server import RedisServer

CALL = {"reasoning": "Let me look.", "calls": [{"name": "look", "arguments": {"at": "it"}}]}
TOOL = {"type": "function", "function": {"name": "look", "parameters": {"type": "object", "properties": {}}}}
ATTEMPTS = 12
_ENDS = ("response.completed", "response.incomplete", "response.failed", "error")


class Answer(msgspec.Struct):
    """One request of the client: when it was answered, by whom, and after how long."""

    key: str
    at: float
    status: int
    seconds: float
    phase: str
    replica: int
    tries: int
    cost: float = 0.0
    id: str = ""


class Proxy:
    """Leads one replica to Redis. `stand_still` drops what comes, both ways; `lead` cuts and goes elsewhere."""

    def __init__(self, port: int) -> None:
        self.target = port
        self.port = free_port()
        self._open = asyncio.Event()
        self._open.set()
        self._writers: set[asyncio.StreamWriter] = set()

    async def start(self) -> None:
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", self.port)

    def stand_still(self) -> None:
        self._open.clear()

    def go_on(self) -> None:
        """A partition that ends: what was under way is gone."""
        self._open.set()
        self.cut()

    def lead(self, port: int) -> None:
        self.target = port
        self.cut()

    def cut(self) -> None:
        for writer in list(self._writers):
            writer.transport.abort()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await self._open.wait()
        try:
            there, to_there = await asyncio.open_connection("127.0.0.1", self.target)
        except OSError:
            writer.transport.abort()
            return
        self._writers |= {writer, to_there}
        await asyncio.gather(self._pump(reader, to_there), self._pump(there, writer), return_exceptions=True)
        self._writers -= {writer, to_there}

    async def _pump(self, source: asyncio.StreamReader, sink: asyncio.StreamWriter) -> None:
        try:
            while data := await source.read(65536):
                await self._open.wait()
                sink.write(data)
                await sink.drain()
        finally:
            sink.transport.abort()


class Cluster:
    """The replicas, Redis and its proxies, and the client with what it has seen."""

    def __init__(self, folder: Path, urls: dict[str, str]) -> None:
        self.redis, self.spare = RedisServer(), RedisServer()
        place = programs()
        self.postgres = None if place is None else PostgresServer(place)
        ledger = None if self.postgres is None else self.postgres.url("public")
        self.proxies = [Proxy(self.redis.port) for _ in range(REPLICAS)]
        self.replicas = [Replica(n, folder, config_of(urls, self.proxies[n].port, ledger)) for n in range(REPLICAS)]
        self.http = httpx.AsyncClient(timeout=20, limits=httpx.Limits(max_connections=200))
        self.answers: list[Answer] = []
        self.lost: list[tuple[str, str]] = []
        self.failed: list[str] = []
        self.talks = self.moved = 0
        self.turns = 0
        self.phase = "start"
        self.killed_in_flight = 0
        self.killed_at = 0.0
        self.partition: tuple[float, float] = (0.0, 0.0)
        self.recovery: dict[str, float] = {}
        self._next = 0
        self._running: set[asyncio.Task[None]] = set()
        self._at: Counter[int] = Counter()

    async def start(self) -> None:
        for proxy in self.proxies:
            await proxy.start()
        for replica in self.replicas:
            replica.start()
        shown = [await replica.ready(self.http) for replica in self.replicas]
        assert len({one["config"] for one in shown}) == REPLICAS  # each has a proxy of its own in its file
        await self.all_back()

    async def all_back(self) -> float:
        """Wait until every replica shares state again; how long that took."""
        started = time.monotonic()
        for replica in self.replicas:
            while True:
                shown = await replica.ready(self.http)
                if shown["shared_state"] == "ok" and shown["replicas"] >= REPLICAS:
                    break
                await asyncio.sleep(0.02)
        return time.monotonic() - started

    async def close(self) -> None:
        for replica in self.replicas:
            replica.end(signal.SIGTERM)
        for replica in self.replicas:
            await replica.ended()
        await self.http.aclose()
        self.redis.close()
        self.spare.close()
        if self.postgres is not None:
            self.postgres.stop()

    # The client.

    async def ask(self, key: str, body: dict[str, Any], start: int | None = None) -> tuple[Any, str]:
        """Ask one replica after the other until one answers."""
        self._next += 1
        first = self._next if start is None else start
        began = time.monotonic()
        for tries in range(ATTEMPTS):
            number = (first + tries) % REPLICAS
            self._at[number] += 1
            asked = time.monotonic()
            try:
                done = await self.http.post(
                    self.replicas[number].url + "/v1/chat/completions",
                    json=body,
                    headers={"authorization": f"Bearer {key}"},
                )
                if done.status_code not in (502, 503):
                    self._note(key, done, began if tries == 0 else asked, number, tries)
                    return done, done.headers.get("x-dragoman-changes", "")
            except httpx.HTTPError:
                await asyncio.sleep(0.05 * (tries // REPLICAS))
            finally:
                self._at[number] -= 1
        self.failed.append(f"{self.phase}: {key}")
        return None, ""

    def _note(self, key: str, done: httpx.Response, began: float, replica: int, tries: int) -> None:
        now = time.monotonic()
        cost = 0.0
        if done.status_code == 200:
            usage = done.json()["usage"]
            cost = (usage["prompt_tokens"] + usage["completion_tokens"]) * PRICE / 1e6
        id = done.headers.get("x-dragoman-request-id", "")
        self.answers.append(Answer(key, now, done.status_code, now - began, self.phase, replica, tries, cost, id))

    async def load(self, rate: float, stop: asyncio.Event) -> None:
        """So many requests a second, whatever becomes of them: half of them of the limited key."""
        kinds: list[Callable[[], Awaitable[None]]] = [
            self._limited,
            self._paid,
            self._limited,
            self._loop,
            self._limited,
            self._talk,
        ]
        number = 0
        began = time.monotonic()
        while not stop.is_set():
            task = asyncio.create_task(_run(kinds[number % len(kinds)]))
            self._running.add(task)
            task.add_done_callback(self._running.discard)
            number += 1
            await asyncio.sleep(max(0.0, began + number / rate - time.monotonic()))
        await asyncio.gather(*self._running)

    async def _limited(self) -> None:
        await self.ask("limited", {"model": "plain", "messages": [{"role": "user", "content": "Hi"}]})

    async def _paid(self) -> None:
        await self.ask("paid", {"model": "plain", "messages": [{"role": "user", "content": "Hi " * 5}]})

    async def _loop(self) -> None:
        """A tool loop, each turn at the next replica."""
        messages: list[Any] = [{"role": "user", "content": f"Look {random.random()}"}]
        first = random.randrange(REPLICAS)
        for turn in range(4):
            body = {"model": "thinking", "messages": messages, "tools": [TOOL]}
            done, changes = await self.ask("loop", body, first + turn)
            if done is None:
                return
            self.turns += 1
            if done.status_code != 200 or "signature" in changes or "reasoning" in changes:
                self.lost.append((self.phase, f"{done.status_code} {changes} {done.text[:100]}"))
                return
            message = done.json()["choices"][0]["message"]
            calls = message.get("tool_calls") or []
            if not calls:
                return
            messages.append({"role": "assistant", "content": None, "tool_calls": calls})
            messages += [{"role": "tool", "tool_call_id": call["id"], "content": "seen"} for call in calls]

    async def _talk(self) -> None:
        """A conversation over a WebSocket, half of them over one to the provider too. When its replica goes, it goes on
        at another, with all that was said."""
        model = random.choice(("plain", "lined"))
        said: list[Any] = []
        line, previous, number = None, None, random.randrange(REPLICAS)
        for turn in range(3):
            said.append({"role": "user", "content": f"Question {turn}"})
            for tries in range(ATTEMPTS):
                try:
                    line = line or await self._connect(number)
                    given = said[-1:] if previous else said
                    create = {"model": model, "input": given, "store": False, "previous_response_id": previous}
                    await line.send(json.dumps({"type": "response.create", **create}))
                    event = {"type": ""}
                    while event["type"] not in _ENDS:
                        event = json.loads(await asyncio.wait_for(line.recv(), 30))
                    if event["type"] == "response.completed":
                        previous = event["response"]["id"]
                        said += event["response"]["output"]
                        break
                except (OSError, TimeoutError, websockets.WebSocketException):
                    await asyncio.sleep(0.05 * (tries // REPLICAS))
                line, previous, number = None, None, (number + 1) % REPLICAS
                self.moved += 1
            else:
                self.failed.append(f"{self.phase}: a socket")
                return
        self.talks += 1
        if line is not None:
            await line.close()

    async def _connect(self, number: int) -> websockets.ClientConnection:
        address = self.replicas[number].url.replace("http", "ws") + "/v1/responses"
        return await websockets.connect(address, additional_headers={"authorization": "Bearer loop"}, proxy=None)

    # What goes wrong.

    async def rolling_restart(self) -> None:
        for replica in self.replicas:
            replica.end(signal.SIGTERM)
            await replica.ended()
            replica.start()
            await replica.ready(self.http)

    async def kill_replica(self) -> None:
        victim = self.replicas[1]
        self.killed_in_flight += self._at[1]
        self.killed_at = time.monotonic()
        victim.end(signal.SIGKILL)
        await victim.ended()
        await asyncio.sleep(1.0)
        victim.start()
        await victim.ready(self.http)

    async def stop_redis(self) -> None:
        self.redis.stop()
        await asyncio.sleep(3.0)
        self.redis.go_on()
        self.recovery["Redis stood still for 3 s"] = await self.all_back()

    async def empty_redis(self) -> None:
        await asyncio.to_thread(self.redis.kill)
        await asyncio.sleep(2.0)
        await asyncio.to_thread(self.redis.start)
        self.recovery["Redis killed, back empty"] = await self.all_back()

    async def fail_over(self) -> None:
        """The spare follows for a while, then takes over as the first one dies."""
        client = self.spare.client()
        await asyncio.to_thread(client.execute_command, "REPLICAOF", "127.0.0.1", str(self.redis.port))
        while (await asyncio.to_thread(client.info, "replication"))["master_link_status"] != "up":  # noqa: ASYNC110
            await asyncio.sleep(0.05)
        await asyncio.sleep(1.0)
        await asyncio.to_thread(self.redis.kill)
        await asyncio.sleep(0.5)
        await asyncio.to_thread(client.execute_command, "REPLICAOF", "NO", "ONE")
        for proxy in self.proxies:
            proxy.lead(self.spare.port)
        self.recovery["failover"] = await self.all_back()

    async def part(self, seconds: float) -> None:
        began = time.monotonic()
        self.proxies[2].stand_still()
        await asyncio.sleep(seconds)
        self.proxies[2].go_on()
        self.recovery["partition of one replica"] = await self.all_back()
        self.partition = (began, time.monotonic())

    async def kill_postgres(self) -> None:
        if self.postgres is None:
            return
        await asyncio.to_thread(self.postgres.kill)
        await asyncio.sleep(3.0)
        await asyncio.to_thread(self.postgres.start)
        self.recovery["PostgreSQL killed"] = await self.all_back()

    async def in_ledger(self) -> list[str] | None:
        """The ids that PostgreSQL has, when nothing more comes; None where there is no PostgreSQL."""
        if self.postgres is None:
            return None
        found: list[str] = []
        while True:
            before = len(found)
            text = await asyncio.to_thread(self.postgres.execute, "SELECT id FROM public.dragoman_requests")
            found = text.split()
            if len(found) == before:
                return found
            await asyncio.sleep(2.0)

    async def nothing(self) -> None:
        return None


async def _run(work: Callable[[], Awaitable[None]]) -> None:
    await work()


async def phases(cluster: Cluster, seconds: float, chosen: list[str]) -> None:
    todo: list[tuple[str, Callable[[], Awaitable[None]]]] = [
        ("steady", cluster.nothing),
        ("rolling restart", cluster.rolling_restart),
        ("replica killed", cluster.kill_replica),
        ("Redis stands still", cluster.stop_redis),
        ("Redis killed, back empty", cluster.empty_redis),
        ("failover", cluster.fail_over),
        ("partition", lambda: cluster.part(seconds)),
        ("PostgreSQL killed", cluster.kill_postgres),
        ("steady again", cluster.nothing),
    ]
    for name, work in todo:
        if chosen and name not in chosen:
            continue
        cluster.phase = name
        began = time.monotonic()
        await work()
        await asyncio.sleep(max(0.0, seconds - (time.monotonic() - began)))
        print(f"  {name}: {time.monotonic() - began:.0f} s", flush=True)


# Verdicts.


def busiest_minute(answers: list[Answer], since: float, until: float) -> int:
    """The most requests that were let through in any minute that begins within a span."""
    return max((len(one) for one in minutes(answers, since, until)), default=0)


def minutes(answers: list[Answer], since: float, until: float) -> Iterator[list[Answer]]:
    """What was let through in each minute that begins, with a request, within a span.

    Only the gateway knows the moment. Counted are those that began and ended in the minute: they were let through in it
    for sure, however long they waited before.
    """
    for start in (one.at - one.seconds for one in answers):
        if since <= start <= until:
            yield [one for one in answers if one.at - one.seconds >= start and one.at <= start + 60.0]


def missing_entries(cluster: Cluster, ledger: list[str]) -> list[Answer]:
    """Answered requests that the ledger lacks, but for what a killed replica had answered in its last moment."""
    known = set(ledger)
    answered = [one for one in cluster.answers if one.status == 200 and one.id not in known]
    return [one for one in answered if one.replica != 1 or not 0 <= cluster.killed_at - one.at < 1.0]


def judge(cluster: Cluster, spent: float, ledger: list[str] | None) -> dict[str, Any]:
    """What was found, and what of it must not be."""
    limited = [one for one in cluster.answers if one.key == "limited" and one.status == 200]
    began, ended = cluster.partition
    outside = max(busiest_minute(limited, 0.0, began - 60.0), busiest_minute(limited, ended, float("inf")))
    inside = busiest_minute(limited, began - 60.0, ended)
    before, after = minutes(limited, 0.0, began - 60.0), minutes(limited, ended, float("inf"))
    busiest = max((*before, *after), key=len, default=[])
    paid = [one for one in cluster.answers if one.key == "paid" and one.status == 200]
    answered = sum(one.cost for one in paid)
    each = answered / max(len(paid), 1)
    slack = (cluster.killed_in_flight + 1) * 2 * each
    excused = {"replica killed", "partition", "Redis killed, back empty", "failover", "Redis stands still"}
    lost = [one for one in cluster.lost if one[0] not in excused]
    checks = {
        "answered": not cluster.failed,
        "limit": outside <= LIMIT * 1.01 + 1,
        "limit in a partition": inside <= LIMIT * 1.01 + 1 + LIMIT // REPLICAS,
        "budget": abs(spent - answered) <= slack,
        "reasoning": not lost,
        "sockets": cluster.talks > 0,
    }
    if ledger is not None:
        checks["ledger"] = not missing_entries(cluster, ledger) and len(ledger) == len(set(ledger))
    return {
        "requests": len(cluster.answers),
        "unanswered": len(cluster.failed),
        "asked twice": sum(one.tries > 0 for one in cluster.answers),
        "limit per minute": LIMIT,
        "busiest minute": outside,
        "its requests by phase": Counter(one.phase for one in busiest),
        "busiest minute in a partition": inside,
        "spent by Redis": round(spent, 6),
        "spent by answers": round(answered, 6),
        "allowed difference": round(slack, 6),
        "entries in the ledger": None if ledger is None else len(ledger),
        "twice in it": None if ledger is None else len(ledger) - len(set(ledger)),
        "answered and not in it": None if ledger is None else len(missing_entries(cluster, ledger)),
        "tool turns": cluster.turns,
        "conversations over sockets": cluster.talks,
        "turns of them that moved": cluster.moved,
        "turns without their reasoning": Counter(phase for phase, _ in cluster.lost),
        "first of them": cluster.lost[:2],
        "seconds until all share state again": {name: round(one, 2) for name, one in cluster.recovery.items()},
        "p50 and p99 in ms": quantiles(cluster.answers),
        "checks": checks,
    }


def quantiles(answers: list[Answer]) -> dict[str, tuple[float, float]]:
    found = {}
    for phase in dict.fromkeys(one.phase for one in answers):
        times = [one.seconds * 1000 for one in answers if one.phase == phase]
        cuts = statistics.quantiles(times, n=100) if len(times) > 1 else [0.0] * 99
        found[phase] = (round(cuts[49], 1), round(cuts[98], 1))
    return found


async def run(rate: float, seconds: float, chosen: list[str]) -> dict[str, Any]:
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="dragoman-cluster-")))
        emulators = start_emulators()
        stack.callback(emulators.wait)
        stack.callback(emulators.kill)
        assert emulators.stdout is not None
        urls = json.loads(await asyncio.to_thread(emulators.stdout.readline))
        cluster = Cluster(folder, urls)
        try:
            await cluster.start()
            stop = asyncio.Event()
            load = asyncio.create_task(cluster.load(rate, stop))
            await phases(cluster, seconds, chosen)
            stop.set()
            await load
            await cluster.all_back()
            await asyncio.sleep(1.5)  # what is settled after an answer
            name = "dragoman:spent:" + hashlib.blake2b(b"paid", digest_size=16).hexdigest() + ":total"
            server = cluster.spare if "failover" in cluster.recovery else cluster.redis
            amounts = await asyncio.to_thread(server.client().hgetall, name)
            spent = float(amounts.get(b"added", 0)) + float(amounts.get(b"base", 0))
            figures = judge(cluster, spent, await cluster.in_ledger())
            figures["decided alone"] = await local_decisions(cluster)
            figures["crashes"] = crashes(folder)
            figures["checks"]["no crash"] = not figures["crashes"]
            emulators.terminate()
            turns, later = json.loads(await asyncio.to_thread(emulators.stdout.readline))
            figures["turns over sockets to a provider"] = turns
            figures["of them after another on the same one"] = later
            figures["checks"]["sockets to a provider"] = later > 0
            return figures
        finally:
            await cluster.close()


def start_emulators() -> subprocess.Popen[bytes]:
    return subprocess.Popen([sys.executable, __file__, "--emulate"], stdout=subprocess.PIPE)


def crashes(folder: Path) -> list[str]:
    """The first faults of the gateways' own, as their logs tell them."""
    lines = [line for log in folder.glob("replica-*/log") for line in log.read_text("utf-8", "replace").splitlines()]
    return [line[-600:] for line in lines if '"event":"crash"' in line][:3]


async def local_decisions(cluster: Cluster) -> list[int]:
    found = []
    for replica in cluster.replicas:
        text = (await cluster.http.get(replica.url + "/metrics", headers={"authorization": "Bearer boss"})).text
        found += [int(line.split()[1]) for line in text.splitlines() if line.startswith("dragoman_store_local_dec")]
    return found


def emulate() -> None:
    """The providers. Gemini refuses a turn whose signature does not come back. At the end, the turns over sockets are
    told: first ones, and those that go on from the one before."""
    from dragoman.testing import emulator

    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    with ExitStack() as stack:
        openai, gemini, responses = (
            stack.enter_context(emulator(name, **more))
            for name, more in (("openai", {}), ("gemini", {"signatures": "strict"}), ("openai-responses", {}))
        )
        gemini.script(*[CALL, CALL, "Done."] * 5_000)
        urls = {"openai": openai.base_url, "gemini": gemini.base_url, "responses": responses.base_url}
        print(json.dumps(urls), flush=True)
        try:
            signal.pause()
        finally:
            over = [one.body for one in responses.requests if one.headers.get("upgrade") == "websocket"]
            print(json.dumps([len(over), sum(len(one["input"]) > 1 for one in over)]), flush=True)


async def figures_of(given: argparse.Namespace) -> dict[str, Any]:
    if given.streams is None:
        return await run(given.rate, given.seconds, given.phase or [])
    return await run_streams(given.streams, given.grace)


def main() -> int:
    if sys.argv[1:2] == ["--emulate"]:
        emulate()
        return 0
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--rate", type=float, default=40.0, help="requests a second")
    options.add_argument("--seconds", type=float, default=12.0, help="of each phase")
    options.add_argument("--phase", action="append", help="only this one; may be given several times")
    options.add_argument("--json", type=Path, help="write the figures here, too")
    options.add_argument("--streams", type=int, help="so many streams across two restarted replicas instead")
    options.add_argument("--grace", type=float, default=30.0, help="seconds that a replica gives its streams to end")
    given = options.parse_args()
    figures = asyncio.run(figures_of(given))
    checks = figures.pop("checks")
    for name, value in figures.items():
        print(f"{name}: {dict(value) if isinstance(value, Counter) else value}")
    for name, holds in checks.items():
        print(f"{'ok  ' if holds else 'FAIL'} {name}")
    if given.json is not None:
        given.json.write_bytes(msgspec.json.format(msgspec.json.encode({**figures, "checks": checks})) + b"\n")
    return 0 if all(checks.values()) else 1


if __name__ == "__main__":
    sys.exit(main())
