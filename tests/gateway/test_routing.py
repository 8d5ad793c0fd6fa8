"""C23 to C29, A23: a route chooses a model for each request; real emulators answer."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import httpx
import pytest
from tests.gateway.running import QUICK, Running, gateway, provider

from dragoman.emulators.serving.background_server import RunningEmulator
from dragoman.testing import emulator

HOMES = {"gpt": "openai", "claude": "anthropic", "gem": "gemini", "judge": "openai"}
MODELS: dict[str, Any] = {
    "small": {"target": "gpt/gpt-4o-mini", "description": "quick", "ratings": {"coding": 1000}},
    "large": {"target": "claude/claude-sonnet-4-5", "description": "deep", "ratings": {"coding": 1400}, "cache_ttl": 5},
    "third": {"target": "gem/gemini-2.5-flash", "description": "broad", "ratings": {"coding": 1300}},
    "judge": {"target": "judge/gpt-4o", "hidden": True},
}
TOOL = {"type": "function", "function": {"name": "look", "parameters": {"type": "object", "properties": {}}}}


class World:
    def __init__(self, running: Running, emulators: dict[str, RunningEmulator]) -> None:
        self.running = running
        self.emulators = emulators

    def ask(self, model: str, *messages: Any, key: str = "", **more: Any) -> httpx.Response:
        body = {"model": model, "messages": list(messages) or [{"role": "user", "content": "Hi"}], **more}
        return self.running.post("/v1/chat/completions", body, key=key or "admin")

    def chosen(self, model: str, *messages: Any, **more: Any) -> str:
        answer = self.ask(model, *messages, **more)
        assert answer.status_code == 200, answer.text
        return answer.headers["x-dragoman-model"].partition("/")[0]


@pytest.fixture(scope="module")
def emulators() -> Iterator[dict[str, RunningEmulator]]:
    with ExitStack() as stack:
        yield {name: stack.enter_context(emulator(home)) for name, home in HOMES.items()}


@pytest.fixture
def world(emulators: dict[str, RunningEmulator], tmp_path: Path) -> Iterator[World]:
    for one in emulators.values():
        one.script()
        one.fault(None)
    providers = {
        name: provider(HOMES[name], one.base_url, retries={**QUICK, "attempts": 1}) for name, one in emulators.items()
    }
    names = ("admin", "cheap")
    config = {
        "providers": providers,
        "models": MODELS,
        "router": {"model": "judge", "timeout": 1.5},
        "routes": {
            "coding": {"models": ["small", "large"], "strategy": "rating"},
            "smart": {"models": ["third", "large", "small"], "strategy": "model", "default": "third"},
        },
        "keys": {
            name: {
                "sha256": hashlib.sha256(name.encode()).hexdigest(),
                "allowed_models": ["small"] if name == "cheap" else [],
                "admin": name == "admin",
            }
            for name in names
        },
    }
    with gateway(config, tmp_path) as running:
        yield World(running, emulators)


def decides(world: World, model: str) -> None:
    world.emulators["judge"].script(json.dumps({"reasoning": "Because.", "model": model}))


def test_C26_auto_a_named_route_a_prefix_and_unique_names_lead_to_models(world: World) -> None:
    decides(world, "third")
    assert world.chosen("auto") == "gem"
    assert world.chosen("coding") == "claude"
    assert world.chosen("claude/auto") == "claude"
    assert world.chosen("sma") == "gpt"
    assert world.chosen("claude-sonnet-4-5") == "claude"
    assert world.ask("my-agent/auto").status_code == 200, "a client's own name for the gateway"
    assert world.ask("cohere/auto").status_code == 404, "a provider that is not in the file"


def test_C25_the_router_model_decides_and_the_answer_says_why(world: World) -> None:
    decides(world, "large")
    answer = world.ask("smart", {"role": "user", "content": "Prove it."})
    assert answer.headers["x-dragoman-model"] == "claude/claude-sonnet-4-5"
    words = hashlib.blake2b(b'"Prove it."', digest_size=8).hexdigest()
    session = f"auto:{words}"
    assert answer.headers["x-dragoman-route"] == f'"smart";model="large";reason="Because.";session="{session}"'
    asked = world.emulators["judge"].requests[-1].body
    assert "user: Prove it." in asked["messages"][0]["content"]
    assert asked["temperature"] == 0


@pytest.mark.parametrize(
    ("trouble", "why"),
    [("nonsense", "named no candidate"), ("down", "failed (overloaded 503)"), ("slow", "did not answer in time")],
)
def test_C25_a_router_model_in_trouble_costs_its_timeout_and_the_default_is_taken(
    world: World, trouble: str, why: str
) -> None:
    judge = world.emulators["judge"]
    if trouble == "nonsense":
        judge.script("I would rather not say.")
    else:
        judge.fault("503" if trouble == "down" else "stall;seconds=30")
    answer = world.ask("smart")
    assert answer.status_code == 200
    assert answer.headers["x-dragoman-model"] == "gem/gemini-2.5-flash"
    assert f"the router model {why}: the default is taken" in answer.headers["x-dragoman-route"]


def test_C23_results_go_back_to_the_model_that_made_the_calls(world: World) -> None:
    decides(world, "large")
    question = {"role": "user", "content": "Look around, please."}
    world.emulators["claude"].script({"calls": [{"name": "look", "arguments": {}}]}, "Done.")
    first = world.ask("smart", question, tools=[TOOL])
    assert first.headers["x-dragoman-model"].startswith("claude/")
    said = first.json()["choices"][0]["message"]
    result = {"role": "tool", "tool_call_id": said["tool_calls"][0]["id"], "content": "trees"}
    decides(world, "small")
    second = world.ask("smart", question, said, result, tools=[TOOL])
    assert second.headers["x-dragoman-model"].startswith("claude/")
    assert "pinned" in second.headers["x-dragoman-route"]
    assert second.json()["choices"][0]["message"]["content"] == "Done."


def test_C23_a_pinned_model_that_is_unhealthy_is_left(world: World) -> None:
    question = {"role": "user", "content": "Look there."}
    world.emulators["claude"].script({"calls": [{"name": "look", "arguments": {}}]})
    said = world.ask("coding", question, tools=[TOOL]).json()["choices"][0]["message"]
    world.emulators["claude"].fault("500")
    for _ in range(6):
        world.ask("large", {"role": "user", "content": "Fail."})
    result = {"role": "tool", "tool_call_id": said["tool_calls"][0]["id"], "content": "trees"}
    assert world.chosen("coding", question, said, result, tools=[TOOL]) == "gpt"


def test_C28_a_session_stays_where_its_cache_is_warm_until_it_is_reset(world: World) -> None:
    decides(world, "large")
    turn = {"role": "user", "content": "A question of its own."}
    assert world.chosen("smart", turn, session_id="s1") == "claude"
    decides(world, "small")
    again = [turn, {"role": "assistant", "content": "Yes."}, {"role": "user", "content": "And?"}]
    assert world.chosen("smart", *again, session_id="s1") == "claude"
    decides(world, "small")
    reset = [*again, {"role": "assistant", "content": "So."}, {"role": "user", "content": "/reset"}]
    assert world.chosen("smart", *reset, session_id="s1") == "gpt"


def test_C30_a_model_that_fails_is_followed_by_the_nearest_in_rating(world: World) -> None:
    decides(world, "large")
    world.emulators["claude"].fault("503")
    assert world.chosen("smart") == "gem"


def test_a_key_gets_only_models_that_it_may_use(world: World) -> None:
    decides(world, "large")
    assert world.chosen("auto", key="cheap") == "gpt"
    assert world.ask("claude/auto", key="cheap").status_code == 403


def test_C29_a_check_finds_a_model_that_does_not_answer_and_routes_leave_it(world: World) -> None:
    headers = {"x-api-key": "admin"}
    url = world.running.url
    assert world.running.http.get(f"{url}/v1/health-status", headers=headers).json()["status"] == "unknown"
    world.emulators["claude"].fault("503")
    found = world.running.http.post(f"{url}/v1/health-check", headers=headers).json()
    assert found["status"] == "degraded"
    states = {one["model"]: one["healthy"] for one in found["models"]}
    assert states == {"small": True, "large": False, "third": True}
    assert world.running.http.get(f"{url}/v1/health-status", headers=headers).json()["models"] == found["models"]
    answer = world.ask("coding")
    assert answer.headers["x-dragoman-model"].startswith("gpt/")
    world.emulators["gpt"].fault("503")
    world.running.http.post(f"{url}/v1/health-check", headers=headers)
    refused = world.ask("coding")
    assert refused.status_code == 503
    assert "No healthy models available" in refused.json()["error"]["message"]
    world.emulators["claude"].fault(None)
    world.running.http.post(f"{url}/v1/health-check", headers=headers)
    assert world.chosen("coding") == "claude"
