"""A ledger that loses no answered request: an answer ends when its request is written."""

from __future__ import annotations

import signal
import sqlite3
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
import yaml
from tests.gateway.asking import body
from tests.gateway.running import Running, gateway, provider
from tests.gateway.serving import serving
from tests.gateway.upstream import upstream

CHUNK = b'data: {"choices":[{"index":0,"delta":{"content":"Y"},"finish_reason":"stop"}]}\n\ndata: [DONE]\n\n'
COUNT = 5


def config(url: str, **store: Any) -> dict[str, Any]:
    made = {"p": provider("openai-compatible", url)}
    return {"providers": made, "models": {"m": {"target": "p/m"}}, "store": {"durable_ledger": True, **store}}


def rows(file: Path) -> set[str]:
    with sqlite3.connect(file) as connection:
        return {name for (name,) in connection.execute("SELECT id FROM requests")}


@pytest.mark.slow
@pytest.mark.parametrize("stream", [False, True])
def test_a_killed_gateway_loses_no_answered_request(tmp_path: Path, stream: bool) -> None:
    for number in range(COUNT):
        folder = tmp_path / str(number)
        folder.mkdir()
        with upstream(lambda seen: (200, (CHUNK,)) if stream else None) as behind:
            (folder / "dragoman.yaml").write_text(yaml.safe_dump(config(behind.url)))
            with serving(folder) as served:
                answered = [served.chat("m", stream=stream).headers["x-dragoman-request-id"] for _ in range(3)]
                served.process.send_signal(signal.SIGKILL)
                served.process.wait()
        assert rows(folder / "dragoman.sqlite3") == set(answered)


def in_the_file(running: Running, file: Path, **more: Any) -> bool:
    answer = running.post("/v1/chat/completions", body("openai-chat", "m", **more))
    return answer.headers["x-dragoman-request-id"] in rows(file)


def test_an_answer_ends_after_its_request_is_written_and_is_written_once(tmp_path: Path) -> None:
    file = tmp_path / "dragoman.sqlite3"
    with ExitStack() as stack:
        behind = stack.enter_context(upstream(lambda seen: (200, (CHUNK,)) if seen.body.get("stream") else None))
        running = stack.enter_context(gateway(config(behind.url, path=str(file)), tmp_path))
        assert in_the_file(running, file)
        assert in_the_file(running, file, stream=True)
        assert running.services.records.recent.count == 2
        assert len(rows(file)) == 2


def test_a_store_in_memory_waits_for_nothing(tmp_path: Path) -> None:
    with upstream() as behind, gateway(config(behind.url, kind="memory"), tmp_path) as running:
        assert running.post("/v1/chat/completions", body("openai-chat", "m")).status_code == 200
