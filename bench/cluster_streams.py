"""1,000 streams across two replicas while both are restarted, one after the other: `bench/cluster.py --streams 1000`.

Streams last two to eight seconds, so that a restart meets many of them. The client asks the other replica where one
cannot be reached or says that it stops; it never asks again once an answer has begun. With the gateway's own
`shutdown_grace` no stream is lost. `--grace 3` is shorter than many streams: they end with one clear error.

What must hold:
  whole       with a grace longer than the longest stream: all of them
  ended       every stream is whole, or ends with one error and without a reason to finish
  not torn    no stream just stops, and none has a part of its text twice
  once        the provider was asked for no stream twice
  both        with a shorter grace: there were whole streams and streams that were ended
"""

from __future__ import annotations

import asyncio
import json
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import httpx
import msgspec
from replica import Replica, config_of
from tests.store.redis_server import RedisServer

REPLICAS = 2
LONGEST_STREAM = 10.0
"""Seconds: eight, and some for a busy machine."""
PACE = "slow;bytes=600;every=0.25"
STARTED_WITHIN = 25.0
"""Seconds in which the streams begin."""
LONGEST_SECONDS = 240.0
ATTEMPTS = 100


class StreamEnd(msgspec.Struct):
    """What a client saw of one stream. `torn`: how the connection failed after the answer had begun."""

    number: int
    tries: int = 0
    status: int = 0
    text: str = ""
    errors: tuple[str, ...] = ()
    finished: int = 0
    done: int = 0
    torn: str = ""

    @property
    def is_whole(self) -> bool:
        return not self.torn and not self.errors and (self.finished, self.done) == (1, 1) and self.has_text_once

    @property
    def has_text_once(self) -> bool:
        return self.text.count(asked_text(self.number)) == 1 and self.text.count(f"BEGIN-{self.number} ") == 1

    @property
    def is_ended_by_error(self) -> bool:
        begins_once = self.text.count(f"BEGIN-{self.number} ") <= 1
        return not self.torn and len(self.errors) == 1 and self.finished == 0 and begins_once


class StreamClients:
    """All clients, and what became of their streams."""

    def __init__(self, replicas: list[Replica]) -> None:
        self.replicas = replicas
        self.ends: list[StreamEnd] = []
        self.http = httpx.AsyncClient(timeout=60, limits=httpx.Limits(max_connections=None))

    async def run(self, count: int) -> None:
        began = time.monotonic()
        async with asyncio.TaskGroup() as group:
            for number in range(count):
                group.create_task(self._stream(number))
                await asyncio.sleep(max(0.0, began + number * STARTED_WITHIN / count - time.monotonic()))

    async def _stream(self, number: int) -> None:
        end = StreamEnd(number)
        self.ends.append(end)
        for tries in range(ATTEMPTS):
            end.tries = tries + 1
            try:
                if await self._ask(end, self.replicas[(number + tries) % REPLICAS]):
                    return
            except httpx.HTTPError as error:
                if end.status:
                    end.torn = repr(error)
                    return
            await asyncio.sleep(0.02 * (tries + 1))

    async def _ask(self, end: StreamEnd, replica: Replica) -> bool:
        """Whether this replica has answered, well or not."""
        messages = [{"role": "user", "content": asked_text(end.number)}]
        body = {"model": "plain", "stream": True, "messages": messages}
        headers = {"authorization": "Bearer loop"}
        async with self.http.stream("POST", replica.url + "/v1/chat/completions", json=body, headers=headers) as got:
            if got.status_code in (502, 503):
                return False
            end.status = got.status_code
            async for line in got.aiter_lines():
                if line.startswith("data: "):
                    note_line(end, line.removeprefix("data: "))
        return True


def asked_text(number: int) -> str:
    return f"BEGIN-{number} {'word ' * (10 + number % 4 * 10)}END-{number}."


def note_line(end: StreamEnd, data: str) -> None:
    if data == "[DONE]":
        end.done += 1
        return
    event = json.loads(data)
    if "error" in event:
        end.errors += (str(event["error"].get("message")),)
    for choice in event.get("choices", ()):
        end.text += choice["delta"].get("content") or ""
        end.finished += choice.get("finish_reason") is not None


async def restart(replicas: list[Replica], http: httpx.AsyncClient) -> None:
    """One after the other, the next when the one before is ready again."""
    for replica in replicas:
        await asyncio.sleep(5.0)
        replica.end(signal.SIGTERM)
        await replica.ended()
        replica.start()
        await replica.ready(http)


async def run_streams(count: int, grace: float) -> dict[str, Any]:
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="dragoman-streams-")))
        redis = RedisServer()
        stack.callback(redis.close)
        provider = start_provider()
        stack.callback(provider.wait)
        stack.callback(provider.kill)
        url = await _line(provider)
        config = config_of(dict.fromkeys(("openai", "gemini", "responses"), url), redis.port)
        config["server"]["shutdown_grace"] = grace
        replicas = [Replica(number, folder, config) for number in range(REPLICAS)]
        for replica in replicas:
            stack.callback(replica.end, signal.SIGKILL)
            replica.start()
        clients = StreamClients(replicas)
        async with clients.http, asyncio.timeout(LONGEST_SECONDS):
            for replica in replicas:
                await replica.ready(clients.http)
            began = time.monotonic()
            await asyncio.gather(clients.run(count), restart(replicas, clients.http))
            seconds = time.monotonic() - began
        assert provider.stdin is not None
        provider.stdin.write(b"\n")
        provider.stdin.flush()
        asked = json.loads(await _line(provider))
        return judge_streams(clients.ends, count, asked, seconds, all_whole=grace > LONGEST_STREAM)


def start_provider() -> subprocess.Popen[bytes]:
    return subprocess.Popen([sys.executable, __file__], stdin=subprocess.PIPE, stdout=subprocess.PIPE)


async def _line(process: subprocess.Popen[bytes]) -> str:
    assert process.stdout is not None
    return (await asyncio.to_thread(process.stdout.readline)).decode().strip()


def judge_streams(
    ends: list[StreamEnd], count: int, asked: dict[str, int], seconds: float, all_whole: bool
) -> dict[str, Any]:
    """What was found, and what of it must not be."""
    whole = [end for end in ends if end.is_whole]
    ended = [end for end in ends if end.is_ended_by_error]
    neither = [end for end in ends if not end.is_whole and not end.is_ended_by_error]
    twice = sorted(name for name, times in asked.items() if times > 1)
    checks = {
        "ended": len(whole) + len(ended) == count,
        "not torn": not neither,
        "once": not twice and len(asked) == count,
    }
    if all_whole:
        checks["whole"] = len(whole) == count
    else:
        checks["both"] = bool(whole) and bool(ended)
    return {
        "streams": len(ends),
        "whole": len(whole),
        "ended with one error": len(ended),
        "errors": Counter(error for end in ended for error in end.errors),
        "neither": len(neither),
        "first of them": [msgspec.to_builtins(end) for end in neither[:3]],
        "asked of the other replica": sum(end.tries > 1 for end in ends),
        "asked of the provider twice": twice[:10],
        "seconds": round(seconds, 1),
        "checks": checks,
    }


def provide() -> None:
    """A provider that answers slowly. Told a line, it says how often it was asked for each stream."""
    from dragoman.testing import emulator

    with emulator("openai", fault=PACE, answers="echo") as openai:
        print(openai.base_url, flush=True)
        sys.stdin.readline()
        texts = [str(request.body["messages"][-1]["content"]) for request in openai.requests]
        print(json.dumps(Counter(text.partition(" ")[0] for text in texts)), flush=True)
        sys.stdin.readline()


if __name__ == "__main__":
    provide()
