"""Large bodies beside the event loop: who leaves is noticed while the work waits or goes on, and costs no provider."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.gateway.running import Running, ask_and_leave, gateway, provider, wait_for
from tests.gateway.upstream import Upstream, upstream

from dragoman.engine.exchange import target_attempt
from dragoman.gateway.endpoints import count_tokens, generate, relay
from dragoman.wire.json_size import LARGE

PATIENCE = 60.0
CHAT, COUNT, EMBEDDINGS = "/v1/chat/completions", "/v1/responses/input_tokens", "/v1/embeddings"
ASKED = {
    CHAT: {"model": "m", "messages": [{"role": "user", "content": "a" * 2 * LARGE}]},
    COUNT: {"model": "m", "input": "a" * 2 * LARGE},
    EMBEDDINGS: {"model": "m", "input": "a" * 2 * LARGE},
}


class Gate:
    """A function that waits in its thread until the test lets it go, and how often it was begun."""

    def __init__(self, own: Callable[..., Any]) -> None:
        self.begun = 0
        self.opened = threading.Event()
        self._own = own

    def __call__(self, *given: Any, **named: Any) -> Any:
        self.begun += 1
        assert self.opened.wait(10 * PATIENCE)
        return self._own(*given, **named)


@pytest.fixture
def behind() -> Iterator[Upstream]:
    with upstream(lambda seen: (200, {})) as one:
        yield one


@pytest.fixture
def running(behind: Upstream, tmp_path: Path) -> Iterator[Running]:
    config = {"providers": {"p": provider("openai", behind.url)}, "models": {"m": {"target": "p/gpt-4o"}}}
    with gateway(config, tmp_path) as one:
        yield one


@pytest.mark.parametrize(
    ("path", "module", "name"),
    [
        (CHAT, generate, "_parse"),
        (CHAT, target_attempt, "compile_ask"),
        (COUNT, count_tokens, "parse_count_request"),
        (EMBEDDINGS, relay, "_parse"),
    ],
)
def test_a_client_that_leaves_a_large_body_spares_its_provider(
    running: Running, behind: Upstream, monkeypatch: pytest.MonkeyPatch, path: str, module: Any, name: str
) -> None:
    gate = Gate(getattr(module, name))
    monkeypatch.setattr(module, name, gate)
    try:
        ask_and_leave(running, path, ASKED[path], lambda: gate.begun == 1)
        wait_for(lambda: running.busy() == (0, 0))  # while the thread is still at work
    finally:
        gate.opened.set()
    wait_for(lambda: not running.services.dispatcher.heavy._running)
    assert behind.seen == []


def test_bodies_of_clients_that_have_left_are_not_read(
    running: Running, behind: Upstream, monkeypatch: pytest.MonkeyPatch
) -> None:
    gate, heavy = Gate(generate._parse), running.services.dispatcher.heavy
    monkeypatch.setattr(generate, "_parse", gate)
    try:
        ask_and_leave(running, CHAT, ASKED[CHAT], lambda: gate.begun == 1)
        for _ in range(3):
            ask_and_leave(running, CHAT, ASKED[CHAT], lambda: bool(heavy._waiting))
            wait_for(lambda: not heavy._waiting)
    finally:
        gate.opened.set()
    wait_for(lambda: not heavy._running)
    assert (gate.begun, behind.seen) == (1, [])
