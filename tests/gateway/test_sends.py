"""How often a provider gets the same body: what it may have read counts as a send."""

from __future__ import annotations

import json
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from tests.free_ports import stop_listening
from tests.gateway.asking import body
from tests.gateway.running import gateway, provider
from tests.gateway.upstream import GOOD

PATH = "/v1/chat/completions"
VECTORS = {"object": "list", "data": [], "model": "m", "usage": {"prompt_tokens": 1, "total_tokens": 1}}


class Reader:
    """Reads every request to its end; `answers` says for each, by its number, whether it is answered or hung up on."""

    def __init__(self, listening: socket.socket) -> None:
        self.bodies: list[bytes] = []
        self.answers: Callable[[int], bool] = lambda number: True
        self._listening = listening

    def serve(self) -> None:
        while True:
            try:
                line, _ = self._listening.accept()
            except OSError:
                return
            threading.Thread(target=self._connection, args=(line,), daemon=True).start()

    def _connection(self, line: socket.socket) -> None:
        with line, line.makefile("rb") as stream:
            while True:
                head = b""
                while (text := stream.readline()) not in (b"\r\n", b""):
                    head += text.lower()
                if b"content-length: " not in head:
                    return
                self.bodies.append(stream.read(int(head.split(b"content-length: ")[1].split(b"\r\n")[0])))
                if not self.answers(len(self.bodies)):
                    return
                said = json.dumps(VECTORS if b"embeddings" in head else GOOD).encode()
                line.sendall(b"HTTP/1.1 200 OK\r\ncontent-length: %d\r\n\r\n%b" % (len(said), said))


@contextmanager
def reader() -> Iterator[tuple[Reader, str]]:
    listening = socket.create_server(("127.0.0.1", 0))
    behind = Reader(listening)
    threading.Thread(target=behind.serve, daemon=True).start()
    try:
        yield behind, f"http://127.0.0.1:{listening.getsockname()[1]}/v1"
    finally:
        stop_listening(listening)


@pytest.mark.parametrize("attempts", [1, 2, 3])
def test_the_same_body_is_sent_as_often_as_there_are_attempts(tmp_path: Path, attempts: int) -> None:
    with reader() as (behind, url):
        behind.answers = lambda number: number == 1
        made = provider("openai-compatible-lenient", url, retries={"attempts": attempts, "base": 0.001})
        with gateway({"providers": {"p": made}, "models": {"m": {"target": "p/m"}}}, tmp_path) as running:
            assert running.post(PATH, body("openai-chat", "m")).status_code == 200
            refused = running.post(PATH, body("openai-chat", "m"))
            assert refused.status_code == 502
            assert len(behind.bodies) == 1 + attempts
            assert running.entry(refused).attempts == attempts


@pytest.mark.parametrize(
    ("path", "asked"), [(PATH, body("openai-chat", "m")), ("/v1/embeddings", {"model": "m", "input": "x"})]
)
def test_a_send_that_was_lost_on_a_kept_connection_is_made_again_and_counted(
    tmp_path: Path, path: str, asked: dict[str, Any]
) -> None:
    with reader() as (behind, url):
        behind.answers = lambda number: number != 2
        made = provider("openai-compatible-lenient", url)
        with gateway({"providers": {"p": made}, "models": {"m": {"target": "p/m"}}}, tmp_path) as running:
            assert running.entry(running.post(path, asked)).attempts == 1
            answered = running.post(path, asked)
            assert answered.status_code == 200
            assert len(behind.bodies) == 3
            assert running.entry(answered).attempts == 2
