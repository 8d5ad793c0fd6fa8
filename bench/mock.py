"""Providers that answer at once and cost next to nothing: nginx for whole answers, a few lines of uvloop for streams.

    python bench/mock.py PORT [EVENTS]

The path's first step says how a stream comes: `/burst` all at once, `/paced` a frame at a time, and `/hold` begins,
then waits until the client leaves. What follows it is the provider's own path, by which its dialect is known.
"""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path

import questions
import uvloop

EVENTS = 400
PACED = 100
PAUSE = 0.005
_HEAD = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n"
_UNKNOWN = b"HTTP/1.1 404 Not Found\r\ncontent-length: 0\r\n\r\n"
_LAST = b"0\r\n\r\n"
_MARKS = {"openai-chat": b"chat/completions", "anthropic": b"/messages", "gemini": b"streamGenerateContent"}


def chunks(dialect: str, events: int) -> list[bytes]:
    return [b"%x\r\n%b\r\n" % (len(frame), frame) for frame in questions.frames(dialect, events)]


class Streams(asyncio.Protocol):
    """One connection. A request is read only as far as to know where it ends and what it wants."""

    burst: dict[bytes, bytes]
    paced: dict[bytes, list[bytes]]

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport: asyncio.Transport = transport  # type: ignore[assignment]
        self.loop = asyncio.get_running_loop()
        self.received = b""
        self.timer: asyncio.TimerHandle | None = None

    def connection_lost(self, fault: Exception | None) -> None:
        if self.timer is not None:
            self.timer.cancel()

    def data_received(self, data: bytes) -> None:
        self.received += data
        head, end, body = self.received.partition(b"\r\n\r\n")
        if not end:
            return
        at = head.lower().find(b"content-length:")
        length = int(head[at + 15 :].split(b"\r\n", 1)[0]) if at >= 0 else 0
        if len(body) >= length:
            self.received = b""
            self.answer(head.split(b"\r\n", 1)[0])

    def answer(self, line: bytes) -> None:
        mark = next((mark for mark in _MARKS.values() if mark in line), None)
        if mark is None:
            self.transport.write(_UNKNOWN)
        elif b" /burst/" in line:
            self.transport.write(self.burst[mark])
        elif b" /paced/" in line:
            self.transport.write(_HEAD)
            self.say(self.paced[mark], 0)
        else:
            self.transport.write(_HEAD + b"".join(self.paced[mark][:4]))

    def say(self, frames: list[bytes], number: int) -> None:
        if number == len(frames):
            self.transport.write(_LAST)
            return
        self.transport.write(frames[number])
        self.timer = self.loop.call_later(PAUSE, self.say, frames, number + 1)


async def serve(port: int, events: int) -> None:
    Streams.burst = {mark: _HEAD + b"".join(chunks(name, events)) + _LAST for name, mark in _MARKS.items()}
    Streams.paced = {mark: chunks(name, PACED) for name, mark in _MARKS.items()}
    server = await asyncio.get_running_loop().create_server(Streams, "127.0.0.1", port, backlog=2048)
    await server.serve_forever()


_NGINX = """
daemon off; worker_processes 1; pid {folder}/nginx.pid; error_log {folder}/error.log crit;
events {{ worker_connections 4096; }}
http {{
  access_log off; keepalive_requests 100000000; client_body_buffer_size 1m; client_max_body_size 0;
  client_body_temp_path {folder}/body; proxy_temp_path {folder}/proxy; fastcgi_temp_path {folder}/fastcgi;
  uwsgi_temp_path {folder}/uwsgi; scgi_temp_path {folder}/scgi;
  {http}
}}
"""
_ANSWERING = """
  default_type application/json;
  server {{
    listen 127.0.0.1:{port} backlog=2048;
    location ~ chat/completions$ {{ return 200 '{chat}'; }}
    location ~ /messages$ {{ return 200 '{anthropic}'; }}
    location ~ generateContent$ {{ return 200 '{gemini}'; }}
  }}
"""


def nginx(folder: Path, http: str) -> list[str]:
    """The command for an nginx with this `http` block."""
    folder.mkdir(parents=True, exist_ok=True)
    file = folder / "nginx.conf"
    file.write_text(_NGINX.format(folder=folder, http=http))
    return ["nginx", "-p", str(folder), "-e", str(folder / "error.log"), "-c", str(file)]


def answering(port: int) -> str:
    """nginx' configuration for whole answers in every provider's dialect."""
    told = {name: questions.whole(name).decode() for name in ("openai-chat", "anthropic", "gemini")}
    return _ANSWERING.format(port=port, chat=told["openai-chat"], anthropic=told["anthropic"], gemini=told["gemini"])


if __name__ == "__main__":
    given = [int(word) for word in sys.argv[1:]]
    uvloop.run(serve(given[0], [*given, EVENTS][1]))
