"""A Chat server that tells its chat template at `/props`, as llama.cpp does, and takes everything."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

GOOD = {
    "id": "x",
    "object": "chat.completion",
    "created": 1,
    "model": "m",
    "choices": [{"index": 0, "message": {"role": "assistant", "content": "A"}, "finish_reason": "stop"}],
}


@contextmanager
def telling_server(template: str) -> Iterator[tuple[str, list[str]]]:
    """Its address, and the paths that it was asked for."""
    asked: list[str] = []

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            asked.append(self.path)
            known: dict[str, Any] = {
                "/props": {"chat_template": template, "default_generation_settings": {"n_ctx": 4096}},
                "/v1/models": {"data": [{"id": "m"}]},
            }
            self._answer(known.get(self.path))

        def do_POST(self) -> None:
            asked.append(self.path)
            self.rfile.read(int(self.headers.get("content-length") or 0))
            self._answer(GOOD if self.path == "/v1/chat/completions" else None)

        def _answer(self, body: Any) -> None:
            content = json.dumps(body).encode()
            self.send_response(404 if body is None else 200)
            self.send_header("content-type", "application/json")
            self.send_header("content-length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        def log_message(self, format: str, *args: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}", asked
    finally:
        server.shutdown()
        server.server_close()
