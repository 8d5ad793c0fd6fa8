"""Servers that leave a connection open behind an answer that is over."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path
from time import monotonic
from typing import Any

import pytest
from tests.event_streams import stream_message, write_events
from tests.gateway.asking import PATHS, body
from tests.gateway.running import gateway, provider
from tests.gateway.upstream import Answer, Seen, upstream

from dragoman.testing import emulator

CLAUDE = {
    "id": "msg_1",
    "type": "message",
    "role": "assistant",
    "model": "m",
    "content": [{"type": "text", "text": "Good."}],
    "stop_reason": "end_turn",
    "stop_sequence": None,
    "usage": {"input_tokens": 9, "output_tokens": 2},
}
LINES = write_events(stream_message(CLAUDE))
PINGS = b'event: ping\ndata: {"type":"ping"}\n\n'
LONG = 20.0
"""Longer than anybody waits."""


@pytest.mark.parametrize("pings", [False, True])
@pytest.mark.parametrize("client", ["openai-chat", "openai-responses", "gemini"])
def test_an_answer_that_is_over_does_not_wait_for_its_connection(client: str, pings: bool, tmp_path: Path) -> None:
    done = threading.Event()

    def linger() -> Iterator[bytes]:
        yield from LINES
        begun = monotonic()
        while monotonic() - begun < LONG and not done.wait(0.1):
            if pings:
                yield PINGS

    def answer(seen: Seen) -> Answer:
        return 200, linger()

    with upstream(answer) as server, gateway(_config(server.url), tmp_path) as running:
        begun = monotonic()
        told = _ask(running, client)
        assert monotonic() - begun < LONG / 2
        done.set()
        assert "Good." in told


def test_a_connection_that_ends_with_its_answer_is_used_again(tmp_path: Path) -> None:
    with emulator("anthropic") as server, gateway(_config(server.base_url), tmp_path) as running:
        for _ in range(3):
            assert "response.completed" in _ask(running, "openai-responses")
        stats = [one.stats for one in running.services.dispatcher.transports.values()]
        assert [(one.open, one.idle) for one in stats] == [(1, 1)]


def _ask(running: Any, client: str) -> str:
    path = PATHS[client].format(model="claude").replace("generateContent", "streamGenerateContent?alt=sse")
    answer = running.post(path, body(client, "claude", stream=True))
    assert answer.status_code == 200
    return str(answer.text)


def _config(url: str) -> dict[str, Any]:
    return {
        "providers": {"claude": provider("anthropic", url)},
        "models": {"claude": {"target": "claude/claude-sonnet-4-5"}},
    }
