"""What a key spends is what its limit counts: streamed, in every dialect, whether or not the provider tells (K24)."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from contextlib import ExitStack
from typing import Any

import httpx
import pytest
from tests.event_streams import read_events
from tests.gateway.asking import PATHS, body
from tests.gateway.running import Running, gateway, provider, wait_for

from dragoman.emulators.serving.background_server import RunningEmulator
from dragoman.emulators.usage import count_text_tokens
from dragoman.testing import emulator

LIMIT = 1000
TEXT = "The dragoman waits at the gate. " * 38
SIZE = count_text_tokens(TEXT)
HOMES = {
    "gpt": ("openai", "gpt-4o"),
    "thinker": ("openai-responses", "gpt-4.1"),
    "claude": ("anthropic", "claude-sonnet-4-5"),
    "gem": ("gemini", "gemini-2.5-flash"),
}
SILENT = "silent"
"""A Chat provider that refuses to be asked for its usage."""
MODELS = (*HOMES, SILENT)


def _key(dialect: str, model: str) -> str:
    return f"key-{dialect}-{model}"


@pytest.fixture(scope="module")
def emulators() -> Iterator[dict[str, RunningEmulator]]:
    with ExitStack() as stack:
        yield {name: stack.enter_context(emulator(home)) for name, (home, _) in HOMES.items()}


@pytest.fixture(scope="module")
def running(emulators: dict[str, RunningEmulator], tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    models: dict[str, Any] = {name: {"target": f"{name}/{model}"} for name, (_, model) in HOMES.items()}
    models[SILENT] = {"target": "gpt/gpt-4o-mini", "facts": {"stream_usage": "refuses"}}
    keys = {_key(dialect, model): {"tokens_per_minute": LIMIT} for dialect in PATHS for model in (*MODELS, "cut")}
    keys["free"] = {}
    keys["boss"] = {"admin": True}
    config = {
        "providers": {name: provider(home, emulators[name].base_url) for name, (home, _) in HOMES.items()},
        "models": models,
        "keys": {name: {"sha256": hashlib.sha256(name.encode()).hexdigest(), **more} for name, more in keys.items()},
    }
    with gateway(config, tmp_path_factory.mktemp("limits")) as one:
        yield one


def _ask(running: Running, dialect: str, model: str, key: str, **more: Any) -> httpx.Response:
    path = PATHS[dialect].format(model=model)
    if dialect == "gemini":
        return running.post(path.replace("generateContent", "streamGenerateContent?alt=sse"), body(dialect, model), key)
    return running.post(path, body(dialect, model, stream=True, **more), key)


def _home(emulators: dict[str, RunningEmulator], model: str) -> RunningEmulator:
    return emulators["gpt" if model == SILENT else model]


@pytest.mark.sampled(5)
@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("dialect", PATHS)
def test_a_key_spends_its_limit_and_what_is_under_way(
    running: Running, emulators: dict[str, RunningEmulator], dialect: str, model: str
) -> None:
    home = _home(emulators, model)
    home.script(*[TEXT] * 12)
    before = len(home.requests)
    answers = []
    for _ in range(12):
        answered = _ask(running, dialect, model, _key(dialect, model))
        answers.append(answered)
        if answered.status_code == 429:
            break
        assert answered.status_code == 200
        wait_for(lambda: running.busy() == (0, 0))
        entry = running.entry(answered)
        assert entry.estimated is (model == SILENT)
        assert abs(entry.output_tokens - SIZE) <= SIZE * 0.25
    home.script()
    sent = len(home.requests) - before
    assert answers[-1].status_code == 429
    assert "tokens per minute" in answers[-1].text
    assert int(answers[-1].headers["retry-after"]) > 0
    assert sent >= 2
    assert sent * SIZE <= LIMIT + SIZE


def test_the_client_does_not_see_what_it_did_not_ask_for(
    running: Running, emulators: dict[str, RunningEmulator]
) -> None:
    emulators["gpt"].script(TEXT, TEXT)
    limited = _ask(running, "openai-chat", "gpt", _key("openai-chat", "cut"))
    assert emulators["gpt"].requests[-1].body["stream_options"] == {"include_usage": True}
    assert '"usage"' not in limited.text
    assert limited.headers["x-dragoman-added"].startswith("usage-asked")
    free = _ask(running, "openai-chat", "gpt", "free")
    assert "stream_options" not in emulators["gpt"].requests[-1].body
    emulators["gpt"].script()
    said = [_said(answer.text) for answer in (limited, free)]
    assert said == [TEXT, TEXT]


def _said(stream: str) -> str:
    chunks = read_events(stream)
    return "".join(choice["delta"].get("content") or "" for chunk in chunks for choice in chunk["choices"])


@pytest.mark.parametrize("model", HOMES)
@pytest.mark.parametrize("dialect", PATHS)
def test_a_cut_stream_is_booked_by_what_went_by(
    running: Running, emulators: dict[str, RunningEmulator], dialect: str, model: str
) -> None:
    home = emulators[model]
    home.script(TEXT)
    home.fault("cut;after=40")
    answered = _ask(running, dialect, model, "free")
    home.fault(None)
    home.script()
    wait_for(lambda: running.busy() == (0, 0))
    entry = running.entry(answered)
    assert entry.estimated
    assert entry.error_kind is not None
    assert 10 < entry.output_tokens <= SIZE
    assert entry.output_tokens < SIZE or model == "gem"  # its emulator tells the whole sum in every chunk
    assert entry.input_tokens > 0


def test_what_is_estimated_is_marked_wherever_it_is_shown(
    running: Running, emulators: dict[str, RunningEmulator]
) -> None:
    emulators["gpt"].script(TEXT)
    answered = _ask(running, "openai-chat", SILENT, "free")
    emulators["gpt"].script()
    identity = answered.headers["x-dragoman-request-id"]
    assert running.entry(answered).estimated
    report = running.get(f"/dragoman/requests/{identity}", key="free").json()
    assert report["estimated"] is True
    wait_for(lambda: identity in running.log.getvalue())
    lines = [json.loads(line) for line in running.log.getvalue().splitlines() if identity in line]
    [line] = [line for line in lines if line["event"] == "request"]
    assert line["estimated"] is True
    metrics = running.get("/metrics", key="boss").text
    assert 'dragoman_tokens_total{target="gpt/gpt-4o-mini",direction="output",estimated="true"}' in metrics
