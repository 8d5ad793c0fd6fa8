"""A small server behind the gateway: it refuses what a test tells it to, and sees every header as it came."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

Answer = tuple[int, Any]
"""A status, and a body: bytes, what becomes JSON, or a tuple or iterator of bytes that are sent one after the other."""


@dataclass
class Seen:
    path: str
    headers: dict[str, str]
    raw: bytes

    @property
    def body(self) -> Any:
        return json.loads(self.raw)


@dataclass
class Upstream:
    """`answer` judges each request; None is a good answer in the Chat dialect."""

    answer: Callable[[Seen], Answer | None]
    seen: list[Seen] = field(default_factory=list)
    url: str = ""
    headers: dict[str, str] = field(default_factory=dict)

    def bodies(self) -> list[Any]:
        return [one.body for one in self.seen]


GOOD = {
    "id": "chatcmpl-1",
    "object": "chat.completion",
    "created": 1,
    "model": "m",
    "choices": [{"index": 0, "message": {"role": "assistant", "content": "Good."}, "finish_reason": "stop"}],
    "usage": {"prompt_tokens": 3, "completion_tokens": 2, "total_tokens": 5},
}


def refusal(message: str, **more: Any) -> dict[str, Any]:
    return {"error": {"message": message, "type": "invalid_request_error", "param": None, "code": None, **more}}


class _QuietServer(ThreadingHTTPServer):
    """A client that hangs up is no news: its traceback would stand in the output of whichever test runs then."""

    def handle_error(self, request: Any, client_address: Any) -> None:
        return


@contextmanager
def upstream(answer: Callable[[Seen], Answer | None] = lambda seen: None) -> Iterator[Upstream]:
    running = Upstream(answer)

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            self.do_POST()

        def do_POST(self) -> None:
            length = int(self.headers.get("content-length", 0))
            named = {name.lower(): value for name, value in self.headers.items()}
            seen = Seen(self.path, named, self.rfile.read(length))
            running.seen.append(seen)
            status, body = running.answer(seen) or (200, GOOD)
            self.send_response(status)
            if isinstance(body, (tuple, Iterator)):
                self._stream(body)
                return
            content = body if isinstance(body, bytes) else json.dumps(body).encode()
            self.send_header("content-length", str(len(content)))
            for name, value in {"content-type": "application/json", **running.headers}.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(content)

        def _stream(self, pieces: Iterable[bytes]) -> None:
            self.send_header("content-type", "text/event-stream")
            self.send_header("connection", "close")
            self.end_headers()
            self.close_connection = True
            for piece in pieces:
                self.wfile.write(piece)
                self.wfile.flush()
                time.sleep(0.01)  # so that each is a chunk of its own

        def log_message(self, format: str, *args: Any) -> None:
            return

    server = _QuietServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    running.url = f"http://127.0.0.1:{server.server_address[1]}/v1"
    threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True).start()
    try:
        yield running
    finally:
        server.shutdown()
        server.server_close()
