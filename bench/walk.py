"""What a request goes through: the files, functions and calls of our own code between its first byte and its last.

    python bench/walk.py [--calls] [--folders]

One request of a Chat client with five messages and a tool, Claude behind it, in a warm process with its state in
memory; the provider is a server in the same process that has its answer ready. It is traced twice: with a whole answer,
and with a stream of ten events that arrive together. A coroutine or generator that goes on after a wait is not called
again. `--calls` lists the calls in their order, indented by their depth; `--folders` counts them in each folder.
It fails if a walk is longer than it may be.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import sys
import tempfile
from collections import Counter
from itertools import pairwise
from pathlib import Path
from types import CodeType, FrameType
from typing import Any, NamedTuple

import paths
import questions

import dragoman
from dragoman.gateway.app import Gateway

HOME = str(Path(dragoman.__file__).parent) + "/"
WARM = 5
EVENTS = 10
REQUEST = {
    "model": "anthropic",
    "messages": [
        {"role": "system", "content": "You help with the weather."},
        {"role": "user", "content": "What is the weather in Paris?"},
        {
            "role": "assistant",
            "content": None,
            "tool_calls": [
                {"id": "call_1", "type": "function", "function": {"name": "weather", "arguments": '{"city":"Paris"}'}}
            ],
        },
        {"role": "tool", "tool_call_id": "call_1", "content": "18 degrees, sunny"},
        {"role": "user", "content": "And tomorrow?"},
    ],
    "tools": [
        {
            "type": "function",
            "function": {
                "name": "weather",
                "description": "The weather of a city",
                "parameters": {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]},
            },
        }
    ],
}


class Call(NamedTuple):
    """A call of a function of ours: its file, its name, and how many of our functions it is below."""

    file: str
    function: str
    depth: int


class Walk(NamedTuple):
    """What one request went through."""

    files: int
    functions: int
    calls: int
    changes: int
    """How often the next call was in another top folder than the last."""


MOST = {False: Walk(70, 300, 480, 100), True: Walk(75, 320, 650, 130)}
"""How long the walk may be with a whole answer, and with a stream."""


class Tracer:
    """Notes the calls of our own functions while it is switched on."""

    def __init__(self) -> None:
        self.calls: list[Call] = []
        self._codes: set[CodeType] = set()
        self._begun: set[FrameType] = set()

    def start(self) -> None:
        sys.setprofile(self._see)

    def stop(self) -> None:
        sys.setprofile(None)
        self._begun.clear()

    def _see(self, frame: FrameType, event: str, _: Any) -> None:
        code = frame.f_code
        if event != "call" or not code.co_filename.startswith(HOME) or frame in self._begun:
            return
        self._begun.add(frame)  # kept alive until the end: another frame must not take its place
        self._codes.add(code)
        self.calls.append(Call(code.co_filename.removeprefix(HOME), code.co_qualname, _find_depth(frame)))

    def sum_up(self) -> Walk:
        files = [call.file for call in self.calls]
        changes = sum(one != other for one, other in pairwise(map(_name_folder, files)))
        return Walk(len(set(files)), len(self._codes), len(self.calls), changes)


def _find_depth(frame: FrameType) -> int:
    depth, above = 0, frame.f_back
    while above is not None:
        depth += above.f_code.co_filename.startswith(HOME)
        above = above.f_back
    return depth


def _name_folder(file: str) -> str:
    return file.partition("/")[0]


def trace(stream: bool) -> Tracer:
    """The calls of one request, after a few that warmed the process."""
    tracer = Tracer()
    with tempfile.TemporaryDirectory() as folder:
        asyncio.run(_ask(Path(folder), stream, tracer))
    return tracer


async def _ask(folder: Path, stream: bool, tracer: Tracer) -> None:
    provider = await asyncio.start_server(_answer_streams if stream else _answer_whole, "127.0.0.1", 0)
    port = provider.sockets[0].getsockname()[1]
    gateway = Gateway(paths.open_with(folder, f"http://127.0.0.1:{port}"), watch=False)
    for _ in range(WARM):
        await _ask_once(gateway, stream)
    tracer.start()
    try:
        await _ask_once(gateway, stream)
    finally:
        tracer.stop()
    await gateway.close()
    provider.close()


async def _ask_once(gateway: Gateway, stream: bool) -> None:
    body = json.dumps(REQUEST | {"stream": stream}).encode()
    await paths.asker(gateway, questions.path("openai-chat", "anthropic", stream), body)()


async def _answer_whole(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    body = questions.whole("anthropic")
    head = b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: %d\r\n\r\n" % len(body)
    while await _read_request(reader):
        writer.write(head + body)


async def _answer_streams(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    pieces = [b"%x\r\n%b\r\n" % (len(frame), frame) for frame in questions.frames("anthropic", EVENTS)]
    head = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n"
    while await _read_request(reader):
        writer.write(b"".join((head, *pieces, b"0\r\n\r\n")))


async def _read_request(reader: asyncio.StreamReader) -> bool:
    """Whether another request came, which is read to its end."""
    try:
        head = await reader.readuntil(b"\r\n\r\n")
    except (asyncio.IncompleteReadError, ConnectionError):
        return False
    await reader.readexactly(int(head.lower().partition(b"content-length:")[2].partition(b"\r")[0]))
    return True


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--calls", action="store_true", help="list the calls in their order")
    parser.add_argument("--folders", action="store_true", help="count the calls in each folder")
    given = parser.parse_args()
    too_long = False
    for stream, most in MOST.items():
        tracer = trace(stream)
        walk = tracer.sum_up()
        print(f"{'stream' if stream else 'whole':7} {' / '.join(map(str, walk))}   ({' / '.join(Walk._fields)})")
        if given.folders:
            for name, count in Counter(_name_folder(call.file) for call in tracer.calls).most_common():
                print(f"    {name:14} {count}")
        if given.calls:
            for call in tracer.calls:
                print(f"{'  ' * call.depth}{call.file.removesuffix('.py')}  {call.function}")
        if any(found > limit for found, limit in zip(walk, most, strict=True)):
            too_long = True
            print(f"        it may have {' / '.join(map(str, most))}")
    sys.exit(too_long)


if __name__ == "__main__":
    main()
