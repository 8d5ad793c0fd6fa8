"""Answers that a client asks for and does not read: the real server, its clock, and the sockets of the kernel."""

from __future__ import annotations

import json
import re
import socket
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from tests.gateway.running import wait_for
from tests.gateway.serving import CLIENT, Served, serving
from tests.gateway.upstream import Answer, Seen, upstream

LARGE = 12_000_000
"""More than the buffers of the sockets on the way hold."""
USER = [{"role": "user", "content": "Hi"}]
ASKED: dict[str, tuple[str, dict[str, Any]]] = {
    "relayed": ("/v1/embeddings", {"input": "x"}),
    "whole, of the same dialect": ("/v1/chat/completions", {"messages": USER}),
    "whole, translated": ("/v1/messages", {"messages": USER, "max_tokens": 9}),
    "stream, of the same dialect": ("/v1/chat/completions", {"messages": USER, "stream": True}),
    "stream, translated": ("/v1/messages", {"messages": USER, "max_tokens": 9, "stream": True}),
}


def answer(seen: Seen) -> Answer:
    """Twelve megabytes, whole or as a stream."""
    if "input" in seen.body:
        return 200, b'{"object":"list","data":"' + b"x" * LARGE + b'"}'
    made: dict[str, Any] = {"id": "c", "created": 1, "model": "m"}
    if not seen.body.get("stream"):
        message = {"role": "assistant", "content": "x" * LARGE}
        choice = {"index": 0, "message": message, "finish_reason": "stop"}
        return 200, {**made, "object": "chat.completion", "choices": [choice]}
    choice = {"index": 0, "delta": {"content": "x" * (LARGE // 400)}, "finish_reason": None}
    event = f"data: {json.dumps({**made, 'object': 'chat.completion.chunk', 'choices': [choice]})}\n\n"
    return 200, (event.encode() * 100,) * 4


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    with upstream(answer) as behind:
        made = {"profile": "openai", "base_url": behind.url, "api_key": "k"}
        config = {"providers": {"p": made}, "models": {"m": {"target": "p/m"}}, "server": {"write_timeout": 1}}
        folder: Path = tmp_path_factory.mktemp("unread")
        (folder / "dragoman.yaml").write_text(yaml.safe_dump(config))
        with serving(folder) as one:
            yield one


def measured(served: Served, name: str) -> int:
    found = re.search(rf"^{name} (\d+)$", CLIENT.get(f"{served.url}/metrics").text, re.MULTILINE)
    assert found is not None, name
    return int(found[1])


def asked(served: Served, path: str, body: dict[str, Any]) -> socket.socket:
    """A connection on which a question was sent. Nobody reads the answer."""
    host, port = served.url.removeprefix("http://").split(":")
    content = json.dumps({"model": "m", **body}).encode()
    head = f"POST {path} HTTP/1.1\r\nhost: {host}\r\ncontent-length: {len(content)}\r\n\r\n"
    line = socket.create_connection((host, int(port)), timeout=60)
    line.sendall(head.encode() + content)
    return line


@pytest.mark.slow
@pytest.mark.parametrize("kind", ASKED)
def test_an_answer_that_nobody_reads_is_given_up(served: Served, kind: str) -> None:
    before = measured(served, "dragoman_aborted_connections_total")
    lines = [asked(served, *ASKED[kind]) for _ in range(3)]
    wait_for(lambda: measured(served, "dragoman_aborted_connections_total") == before + 3, 60)
    for line in lines:
        assert drained(line) < LARGE, "the answer was kept to its end"
    wait_for(lambda: measured(served, "dragoman_active_requests") == 0, 60)


def drained(line: socket.socket) -> int:
    """The bytes that were on the way when the connection was reset. Fails if it ended in order.

    After a FIN the kernel of the gateway would keep megabytes for the client, for as long as the client likes.
    """
    size = 0
    with line:
        try:
            while piece := line.recv(1 << 20):
                size += len(piece)
        except ConnectionResetError:
            return size
    raise AssertionError("the connection was closed, and not reset")
