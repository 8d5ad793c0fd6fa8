"""Answers that a client asks for and does not read: the real server, its clock, and its memory."""

from __future__ import annotations

import socket
from pathlib import Path

import pytest
import yaml
from tests.corpus import FULL
from tests.gateway.running import wait_for
from tests.gateway.serving import CLIENT, serving
from tests.gateway.upstream import upstream

LARGE = 12_000_000
"""More than the buffers of the sockets on the way hold."""


def resident(process: int) -> int:
    """Bytes of memory that a process uses."""
    line = next(one for one in Path(f"/proc/{process}/status").read_text().splitlines() if one.startswith("VmRSS"))
    return int(line.split()[1]) * 1024


@pytest.mark.skipif(not FULL, reason="how soon memory comes back depends on the machine: DRAGOMAN_FULL=1 runs it")
def test_answers_that_nobody_reads_are_given_up(tmp_path: Path) -> None:
    with upstream(lambda seen: (200, b'{"object":"list","data":"' + b"x" * LARGE + b'"}')) as behind:
        made = {"profile": "openai", "base_url": behind.url, "api_key": "k"}
        config = {"providers": {"p": made}, "models": {"m": {"target": "p/m"}}, "server": {"write_timeout": 1}}
        (tmp_path / "dragoman.yaml").write_text(yaml.safe_dump(config))
        with serving(tmp_path) as served:
            host, port = served.url.removeprefix("http://").split(":")
            body = b'{"model":"m","input":"x"}'
            head = f"POST /v1/embeddings HTTP/1.1\r\nhost: {host}\r\ncontent-length: {len(body)}\r\n\r\n"
            before = resident(served.process.pid)
            lines = [socket.create_connection((host, int(port)), timeout=20) for _ in range(8)]
            for line in lines:
                line.sendall(head.encode() + body)
            wait_for(lambda: resident(served.process.pid) > before + 4 * LARGE, 20)
            wait_for(lambda: resident(served.process.pid) < before + 3 * LARGE, 20)
            for line in lines:
                assert drained(line) < LARGE, "the answer was kept to its end"
            assert CLIENT.get(f"{served.url}/health").status_code == 200


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
