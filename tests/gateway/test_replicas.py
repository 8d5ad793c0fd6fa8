"""Two gateways on one Redis behave as one, and go on by themselves when it is gone."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from contextlib import ExitStack
from typing import Any

import httpx
import pytest
from tests.gateway.running import Running, gateway, provider, wait_for
from tests.gateway.test_vault import CALL, Chat, Stage
from tests.store.redis_server import RedisServer

from dragoman.gateway.records.store_alerts import StoreAlerts
from dragoman.testing import emulator

MODELS = {"gemini": "gemini-3-pro-preview", "anthropic": "claude-sonnet-4-5", "groq": "openai/gpt-oss-120b"}
STRICT = ("gemini", "anthropic")
HI = [{"role": "user", "content": "Hi"}]


class Replicas(Stage):
    """Gateways with the same file, and the emulators behind them."""

    def __init__(self, both: list[Running], emulators: dict[str, Any], server: RedisServer) -> None:
        super().__init__(both[0], emulators)
        self.both = both
        self.server = server

    def ask(self, number: int, model: str = "groq", key: str = "ann") -> httpx.Response:
        return self.both[number].post("/v1/chat/completions", {"model": model, "messages": HI}, key=key)

    def seen(self, name: str) -> int:
        return len(self.emulators[name].requests)


@pytest.fixture(scope="module")
def replicas(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Replicas]:
    with ExitStack() as stack:
        server = RedisServer()
        stack.callback(server.close)
        emulators = {
            name: stack.enter_context(emulator(name, signatures="strict" if name in STRICT else "lenient"))
            for name in MODELS
        }
        spare = emulators["spare"] = stack.enter_context(emulator("openai"))
        keys: dict[str, dict[str, Any]] = {
            name: {"sha256": hashlib.sha256(name.encode()).hexdigest()} for name in ("ann", "slow", "poor")
        }
        keys["ann"]["admin"] = True
        keys["slow"]["requests_per_minute"] = 6
        keys["poor"] |= {"budget": {"total": 1.0}}
        config = {
            "providers": {name: provider(name, one.base_url) for name, one in emulators.items() if name in MODELS}
            | {"spare": provider("openai", spare.base_url), "limited": provider("openai", spare.base_url)},
            "models": {name: {"target": f"{name}/{model}"} for name, model in MODELS.items()}
            | {
                "either": {"target": f"groq/{MODELS['groq']}", "fallbacks": ["spare/gpt-4o"]},
                "priced": {"target": "spare/gpt-4o-mini", "price": {"input": 0.0, "output": 40_000.0}},
            },
            "keys": keys,
            "store": {
                "hot": server.url,
                "redis": {"deadline_ms": 2_000},
            },
        }
        both = [stack.enter_context(gateway(config, tmp_path_factory.mktemp(f"replica-{n}"))) for n in range(2)]
        for running in both:
            wait_for(lambda running=running: running.get("/ready").json().get("replicas") == 2)  # type: ignore[misc]
        yield Replicas(both, emulators, server)


@pytest.mark.slow
@pytest.mark.parametrize("model", ["gemini", "anthropic"])
def test_a_tool_loop_goes_on_at_another_replica_with_its_reasoning(replicas: Replicas, model: str) -> None:
    """Each turn is answered by the other gateway. The emulator refuses a turn whose signature does not come back."""
    replicas.emulators[model].script(CALL, CALL, "It rains.")
    agent = Chat(replicas)
    agent.more = {"reasoning_effort": "high"} if model == "anthropic" else {}
    agent.ask(model, "Is it raining?")
    for turn in (1, 0):
        replicas.running = replicas.both[turn]
        agent.answer(model)
        changed = agent.headers.get("x-dragoman-changes", "")
        assert "signature" not in changed
        assert "reasoning" not in changed
        assert "missing" not in agent.headers["x-dragoman-added"]
    sent = json.dumps(replicas.sent(model))
    assert sent.count("thoughtSignature" if model == "gemini" else '"signature"') == 2
    replicas.running = replicas.both[0]


def test_a_limit_is_one_limit(replicas: Replicas) -> None:
    codes = [replicas.ask(number % 2, key="slow").status_code for number in range(10)]
    assert codes == [200] * 6 + [429] * 4


def test_a_budget_is_one_budget(replicas: Replicas) -> None:
    """Each answer costs some cents; whoever answered the last, the other knows."""
    codes = []
    for number in range(40):
        codes.append(replicas.ask(number % 2, "priced", "poor").status_code)
        for running in replicas.both:
            running.do(lambda running=running: running.services.store.flush())  # type: ignore[misc]
        if codes[-2:] == [429, 429]:
            break
    assert codes[0] == 200
    assert codes[-2:] == [429, 429]
    assert 429 not in codes[:-2]


@pytest.mark.slow
def test_a_stored_answer_is_continued_fetched_and_deleted_elsewhere(replicas: Replicas) -> None:
    one, two = (running.openai("ann") for running in replicas.both)
    replicas.emulators["groq"].script("Hello Anna.", "You are Anna.")
    first = one.responses.create(model="groq", input="I am Anna.")
    second = two.responses.create(model="groq", input="Who am I?", previous_response_id=first.id)
    assert second.output_text == "You are Anna."
    sent = replicas.sent("groq")["messages"]
    assert [message["role"] for message in sent] == ["user", "assistant", "user"]
    assert one.responses.retrieve(second.id).output_text == "You are Anna."
    two.responses.delete(first.id)
    wait_for(lambda: replicas.both[0].get(f"/v1/responses/{first.id}", key="ann").status_code == 404)


def test_the_limit_of_a_provider_that_one_replica_meets_quiets_the_other(replicas: Replicas) -> None:
    replicas.emulators["groq"].script({"fault": "429;retry-after=30"})
    met = replicas.ask(0, "either")
    assert met.headers["x-dragoman-model"] == "spare/gpt-4o"
    name = f"groq/{MODELS['groq']}"
    wait_for(lambda: name in replicas.both[1].get("/health", key="ann").json()["resting"])
    before = replicas.seen("groq")
    answered = replicas.ask(1, "either")
    assert answered.headers["x-dragoman-model"] == "spare/gpt-4o"
    assert replicas.seen("groq") == before
    replicas.both[1].services.store.cooldowns.clear(name)


@pytest.mark.slow
def test_lessons_and_what_servers_were_found_to_accept_are_shared(replicas: Replicas) -> None:
    from tests.store.contract.backends import Time, lesson

    time = Time()
    time.wall = 4_000_000_000.0
    record = lesson("found", time, target="groq/none", learnt=1_000_000_000.0)
    replicas.both[0].do(lambda: replicas.both[0].services.store.lessons.put(record))
    wait_for(lambda: replicas.both[1].services.store.lessons.find("groq/none") == (record,))
    replicas.both[1].do(lambda: replicas.both[1].services.store.lessons.forget("groq/none"))
    wait_for(lambda: replicas.both[0].services.store.lessons.find("groq/none") == ())


def test_ready_and_metrics_tell_replicas_and_the_digest_of_the_file(replicas: Replicas) -> None:
    shown = [running.get("/ready").json() for running in replicas.both]
    for running, one in zip(replicas.both, shown, strict=True):
        digest = hashlib.sha256(running.file.read_bytes()).hexdigest()[:12]
        assert one == {"ready": True, "reason": "", "config": digest, "shared_state": "ok", "replicas": 2}
        metrics = running.get("/metrics", key="ann").text
        assert f'dragoman_config_info{{digest="{digest}"}} 1' in metrics
        assert "dragoman_store_replicas 2" in metrics
        assert "dragoman_store_away 0" in metrics


def test_without_redis_both_go_on_and_say_so_once(replicas: Replicas) -> None:
    """The last test of this file: it ends the server."""
    replicas.emulators["gemini"].script(CALL, "It rains.")
    agent = Chat(replicas)
    agent.ask("gemini", "Is it raining?")
    running = replicas.running
    alerts = StoreAlerts(running.services.store, running.services.records)
    alerts.check()
    replicas.server.kill()
    wait_for(lambda: running.get("/ready").json()["shared_state"] == "away")
    assert running.get("/ready").status_code == 200
    assert "connect" in running.get("/ready", key="ann").json()["away"].lower()
    agent.answer("gemini")  # its state is in the near cache
    assert "missing" not in agent.headers["x-dragoman-added"]
    codes = [replicas.ask(0, key="slow").status_code for _ in range(4)]
    assert set(codes) <= {200, 429}
    for _ in range(3):
        alerts.check()
        replicas.ask(0)
    running.services.records.lines.flush()
    lines = [json.loads(line) for line in running.log.getvalue().splitlines()]
    events = [line["event"] for line in lines if line.get("event") in ("shared-state-away", "not-read", "not-written")]
    assert events == ["shared-state-away"]
    assert "dragoman_store_away 1" in running.get("/metrics", key="ann").text
