"""Answers that a client asks for and does not read: the real server and its clock.

Whether the memory comes back is measured by `make hostile`: how soon an allocator returns it is the machine's affair.
"""

from __future__ import annotations

import json
import socket
from pathlib import Path

import pytest
import yaml
from tests.corpus import FULL
from tests.gateway.running import wait_for
from tests.gateway.serving import CLIENT, serving
from tests.gateway.upstream import GOOD, upstream

LARGE = 12_000_000
"""More than the buffers of the sockets on the way hold."""
ANSWER = json.dumps(GOOD).replace("Good.", "x" * LARGE).encode()


@pytest.mark.skipif(not FULL, reason="how soon memory comes back depends on the machine: DRAGOMAN_FULL=1 runs it")
def test_answers_that_nobody_reads_are_given_up(tmp_path: Path) -> None:
    with upstream(lambda seen: (200, ANSWER)) as behind:
        made = {"profile": "openai", "base_url": behind.url, "api_key": "k"}
        config = {"providers": {"p": made}, "models": {"m": {"target": "p/m"}}, "server": {"write_timeout": 1}}
        (tmp_path / "dragoman.yaml").write_text(yaml.safe_dump(config))
        with serving(tmp_path) as served:
            host, port = served.url.removeprefix("http://").split(":")
            body = b'{"model":"m","messages":[{"role":"user","content":"x"}]}'
            head = f"POST /v1/chat/completions HTTP/1.1\r\nhost: {host}\r\ncontent-length: {len(body)}\r\n\r\n"
            lines = [socket.create_connection((host, int(port)), timeout=20) for _ in range(8)]
            for line in lines:
                line.sendall(head.encode() + body)
            wait_for(lambda: len(behind.seen) == len(lines), 60)
            wait_for(lambda: all(map(is_ended, lines)), 60)
            for line in lines:
                assert drained(line) < LARGE, "the answer was kept to its end"
            assert CLIENT.get(f"{served.url}/health").status_code == 200


def is_ended(line: socket.socket) -> bool:
    """Whether the other side has ended a connection, told without reading from it."""
    established = 1
    return line.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 1)[0] != established


def drained(line: socket.socket) -> int:
    """The bytes that were on the way when the connection ended."""
    size = 0
    with line:
        try:
            while piece := line.recv(1 << 20):
                size += len(piece)
        except ConnectionError:
            pass
    return size
