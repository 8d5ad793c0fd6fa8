"""What requests cost: reported or computed, in the ledger, the header, the log and the metrics."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from contextlib import ExitStack
from typing import Any

import httpx
import pytest
from tests.gateway.asking import PATHS, body
from tests.gateway.running import Running, gateway, provider, wait_for
from tests.gateway.upstream import GOOD, Upstream, upstream

from dragoman.emulators.background_server import RunningEmulator
from dragoman.testing import emulator

HOMES = {
    "gpt": ("openai", "gpt-4o"),
    "claude": ("anthropic", "claude-sonnet-4-5"),
    "gem": ("gemini", "gemini-2.5-flash"),
    "router": ("openrouter", "anthropic/claude-sonnet-4.5"),
}
PRICES = {"gpt": (2.5, 10), "claude": (3, 15), "gem": (0.3, 2.5)}
"""Per million tokens, as published."""
KEYS: dict[str, dict[str, Any]] = {"anna": {}, "bert": {}, "boss": {"admin": True}}


@pytest.fixture(scope="module")
def emulators() -> Iterator[dict[str, RunningEmulator]]:
    with ExitStack() as stack:
        yield {name: stack.enter_context(emulator(home)) for name, (home, _) in HOMES.items()}


@pytest.fixture(scope="module")
def plain() -> Iterator[Upstream]:
    with upstream() as one:
        yield one


@pytest.fixture(scope="module")
def running(
    emulators: dict[str, RunningEmulator], plain: Upstream, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Running]:
    models: dict[str, Any] = {name: {"target": f"{name}/{model}"} for name, (_, model) in HOMES.items()}
    models["own"] = {"target": "plain/house-model", "price": {"input": 100, "output": 200, "cached": 10}}
    models["unknown"] = {"target": "plain/house-model"}
    models["cheap-gpt"] = {"target": "gpt/gpt-4o", "price": {"input": 1, "output": 1}}
    providers = {name: provider(home, emulators[name].base_url) for name, (home, _) in HOMES.items()}
    providers["plain"] = provider("openai-compatible", plain.url)
    config = {"providers": providers, "models": models, "keys": keys(KEYS)}
    with gateway(config, tmp_path_factory.mktemp("spend")) as one:
        yield one


def keys(named: dict[str, dict[str, Any]]) -> dict[str, Any]:
    return {name: {"sha256": hashlib.sha256(name.encode()).hexdigest(), **more} for name, more in named.items()}


def ask(running: Running, dialect: str, model: str, key: str = "anna", stream: bool = False) -> httpx.Response:
    path = PATHS[dialect].format(model=model)
    if dialect == "gemini":
        path = path.replace("generateContent", "streamGenerateContent?alt=sse") if stream else path
        return running.post(path, body(dialect, model), key)
    return running.post(path, body(dialect, model, stream=stream), key)


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("model", PRICES)
@pytest.mark.parametrize("dialect", PATHS)
def test_a_cost_follows_from_the_tokens_and_the_published_price(
    running: Running, dialect: str, model: str, stream: bool
) -> None:
    answer = ask(running, dialect, model, stream=stream)
    assert answer.status_code == 200
    wait_for(lambda: running.busy() == (0, 0))
    entry = running.entry(answer)
    sent, said = PRICES[model]
    assert entry.input_tokens > 0 < entry.output_tokens
    assert entry.cost == pytest.approx((entry.input_tokens * sent + entry.output_tokens * said) / 1_000_000)
    assert entry.reported_cost is False
    assert ("x-dragoman-cost" in answer.headers) is not stream
    if not stream:
        assert float(answer.headers["x-dragoman-cost"]) == pytest.approx(entry.cost, abs=1e-9)


@pytest.mark.parametrize("stream", [False, True])
def test_B14_a_cost_that_the_provider_reports_wins_over_the_price(running: Running, stream: bool) -> None:
    answer = ask(running, "openai-chat", "router", stream=stream)
    wait_for(lambda: running.busy() == (0, 0))
    entry = running.entry(answer)
    assert entry.cost == pytest.approx((entry.input_tokens + entry.output_tokens) / 1_000_000)  # what its emulator asks
    assert entry.reported_cost is True


def test_cached_and_written_tokens_have_their_own_prices(running: Running, plain: Upstream) -> None:
    details = {"prompt_tokens_details": {"cached_tokens": 60}}
    usage = {"prompt_tokens": 100, "completion_tokens": 10, "total_tokens": 110, **details}
    plain.answer = lambda seen: (200, {**GOOD, "usage": usage})
    answer = ask(running, "openai-chat", "own")
    plain.answer = lambda seen: None
    assert answer.headers["x-dragoman-cost"] == "0.0066"  # 40 x 100 + 60 x 10 + 10 x 200, by a million
    assert running.entry(answer).cost == pytest.approx(0.0066)


def test_the_price_of_the_file_wins_over_the_published_one(running: Running) -> None:
    entry = running.entry(ask(running, "openai-chat", "cheap-gpt"))
    assert entry.cost == pytest.approx((entry.input_tokens + entry.output_tokens) / 1_000_000)


def test_a_model_without_a_price_has_no_cost(running: Running) -> None:
    answer = ask(running, "openai-chat", "unknown")
    entry = running.entry(answer)
    assert (entry.cost, entry.unpriced) == (None, True)
    assert "x-dragoman-cost" not in answer.headers


def test_D6_a_cost_from_estimated_tokens_is_marked(running: Running, plain: Upstream) -> None:
    plain.answer = lambda seen: (200, {name: value for name, value in GOOD.items() if name != "usage"})
    answer = ask(running, "openai-chat", "own")
    plain.answer = lambda seen: None
    entry = running.entry(answer)
    assert entry.estimated
    assert entry.cost == entry.estimated_cost == pytest.approx((entry.input_tokens + 2 * entry.output_tokens) / 10_000)
    assert answer.headers["x-dragoman-estimate"] == "true"
    assert float(answer.headers["x-dragoman-cost"]) == pytest.approx(entry.cost)


def test_a_request_that_fails_costs_nothing(running: Running, plain: Upstream) -> None:
    plain.answer = lambda seen: (400, {"error": {"message": "no", "type": "invalid_request_error"}})
    answer = ask(running, "openai-chat", "own")
    plain.answer = lambda seen: None
    entry = running.entry(answer)
    assert (answer.status_code, entry.cost, entry.unpriced) == (400, None, False)


def test_the_log_and_the_metrics_tell_the_cost(running: Running) -> None:
    before = _charged(running)
    answer = ask(running, "openai-chat", "own")
    assert running.entry(answer).cost == pytest.approx(0.0007)  # 3 x 100 + 2 x 200, by a million
    assert _charged(running) - before == pytest.approx(0.0007)
    identity = answer.headers["x-dragoman-request-id"]
    running.do(_flushed(running))
    lines = [json.loads(line) for line in running.log.getvalue().splitlines() if identity in line]
    assert [line["cost"] for line in lines if line["event"] == "request"] == [0.0007]


def _flushed(running: Running) -> Any:
    async def flush() -> None:
        running.services.lines.flush()

    return flush


def _charged(running: Running) -> float:
    sample = 'dragoman_cost_total{target="plain/house-model",estimated="false"} '
    found = [line for line in running.get("/metrics", "boss").text.splitlines() if line.startswith(sample)]
    return sum(float(line.removeprefix(sample)) for line in found)
