"""Attacks on what came later: the list of requests, health checks, router and summary models, and dry runs."""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote

import httpx
import pytest
from tests.gateway.running import QUICK, Running, gateway, provider, wait_for
from tests.gateway.upstream import GOOD, Upstream, refusal

from dragoman.engine.routing.candidates import Candidate
from dragoman.engine.routing.router_model import parse_choice

KEYS: dict[str, dict[str, Any]] = {
    "boss": {"admin": True},
    "ann": {},
    "bob": {},
    "wide": {"allowed_endpoints": ["/v1/*", "/dragoman/*"]},
    "checker": {"allowed_endpoints": ["/v1/health-status"]},
}
SECRET = "sk-provider-secret-0123456789abcdef"


@pytest.fixture(scope="module")
def running(behind: Upstream, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    made = provider("openai-compatible-lenient", behind.url, api_key=SECRET, retries={**QUICK, "attempts": 1})
    config = {
        "providers": {"p": made},
        "models": {"a": {"target": "p/a"}, "b": {"target": "p/b"}, "judge": {"target": "p/judge"}},
        "routes": {"smart": {"models": ["a", "b"], "strategy": "model", "default": "b"}},
        "router": {"model": "judge", "timeout": 30},
        "keys": {name: {"sha256": hashlib.sha256(name.encode()).hexdigest(), **more} for name, more in KEYS.items()},
    }
    with gateway(config, tmp_path_factory.mktemp("surfaces")) as one:
        yield one


@pytest.fixture(autouse=True)
def good(behind: Upstream) -> None:
    behind.answer = lambda seen: None


def ask(running: Running, key: str, model: str = "a") -> httpx.Response:
    return running.post("/v1/chat/completions", {"model": model, "messages": [{"role": "user", "content": "Hi"}]}, key)


# --- the list of requests


@pytest.mark.parametrize(
    "query",
    [
        "",
        "key_name=bob",
        "key_name=",
        "key_name=%25",
        "target=p/a",
        "model=a",
        "status=ok&since=1w",
        "after=9e99%20z",
        "after=inf%20req",
        "after=nan%20req",
        "after=1%27%20OR%20%271%27=%271",
        "key_name=" + quote("bob' OR '1'='1"),
        "target=" + quote("p/a' UNION SELECT entry FROM requests --"),
        "limit=999999",
        "limit=0",
        "since=0001-01-01",
        "since=0001-01-01T00:00:00%2B23:59",
        "since=9999-12-31T23:59:59-23:59",
        "since=999999w",
    ],
)
def test_no_key_sees_the_requests_of_another(running: Running, query: str) -> None:
    assert ask(running, "bob").status_code == ask(running, "ann").status_code == 200
    answered = running.get(f"/dragoman/requests?{query}", "ann")
    assert answered.status_code == 200, answered.text
    assert {row["key"] for row in answered.json()["requests"]} <= {"ann"}


@pytest.mark.parametrize(
    "query",
    [
        "limit=-1",
        "limit=9999999",
        "limit=%D9%A3",
        "limit=1e3",
        "since=x",
        "since=1y",
        "status=any",
        "caller=bob",
        "x=1",
    ],
)
def test_a_bad_filter_is_refused_and_widens_nothing(running: Running, query: str) -> None:
    assert running.get(f"/dragoman/requests?{query}", "ann").status_code == 400


def test_pages_of_one_key_end_and_hold_each_request_once(running: Running) -> None:
    for _ in range(5):
        ask(running, "ann")
        ask(running, "bob")
    seen: list[str] = []
    after = ""
    while True:
        page = running.get(f"/dragoman/requests?limit=2{after}", "ann").json()
        seen += [row["id"] for row in page["requests"]]
        assert len(page["requests"]) <= 2
        if page["next"] is None:
            break
        after = f"&after={quote(page['next'])}"
    assert len(seen) == len(set(seen)) >= 5


# --- who may look


@pytest.mark.parametrize(
    "path", ["/metrics", "/dragoman/usage", "/dragoman/lessons", "/v1/health-status", "/v1/health-check"]
)
def test_a_pattern_opens_no_endpoint_of_admins(running: Running, behind: Upstream, path: str) -> None:
    asked = len(behind.seen)
    for key in ("ann", "wide"):
        assert running.get(path, key).status_code == 403
    assert len(behind.seen) == asked, "a health check spends money"
    assert running.get(path, "boss").status_code == 200


def test_a_key_may_be_made_for_one_endpoint(running: Running) -> None:
    assert running.get("/v1/health-status", "checker").status_code == 200
    assert running.get("/v1/health-check", "checker").status_code == 403


# --- what router models and health checks are told


def says(text: str) -> dict[str, Any]:
    message = {"role": "assistant", "content": text}
    return {**GOOD, "choices": [{"index": 0, "message": message, "finish_reason": "stop"}]}


@pytest.mark.parametrize(
    "text",
    [
        '{"model":' * 3000,
        '{"model":' * 3000 + "1" + "}" * 3000,
        "[" * 9000 + "]" * 9000,
        "{" + "x" * 2_000_000 + "}",
        '{"model": "judge"}',
        '{"model": "p/secret", "reasoning": "\\ud800"}',
        '{"model": ["a"]}',
        "{}" * 100_000,
        "\0" * 1000,
        "",
    ],
)
def test_a_hostile_router_model_gets_the_default_chosen(running: Running, behind: Upstream, text: str) -> None:
    behind.answer = lambda seen: (200, says(text)) if seen.body["model"] == "judge" else None
    answered = ask(running, "ann", "smart")
    assert answered.status_code == 200, answered.text
    assert answered.headers["x-dragoman-model"] == "p/b"


def test_deep_answers_of_a_router_model_are_no_choice() -> None:
    candidates = [Candidate(name="a", target="p/a"), Candidate(name="b", target="p/b")]
    for text in ('{"a":' * 4000 + "1" + "}" * 4000, '{"model":' * 2000):
        assert parse_choice(text, candidates) is None


def test_a_health_check_tells_no_secret_and_little_of_a_long_error(running: Running, behind: Upstream) -> None:
    behind.answer = lambda seen: (400, refusal(f"key {SECRET} " + "no " * 100_000))
    found = running.post("/v1/health-check", b"", "boss")
    assert found.json()["status"] == "down"
    assert SECRET not in found.text
    assert len(found.text) < 10_000


def test_health_checks_go_on_after_garbage(running: Running, behind: Upstream) -> None:
    for garbage in (b"\0" * 5000, b"{" * 5000, b"[" * 200_000, b"\xff" * 100):
        behind.answer = lambda seen, garbage=garbage: (200, garbage)
        assert running.post("/v1/health-check", b"", "boss").status_code == 200
    behind.answer = lambda seen: (500, refusal("no"))
    assert running.post("/v1/health-check", b"", "boss").json()["status"] == "down"


@pytest.mark.slow
def test_the_rounds_of_health_checks_go_on_after_a_fault_of_their_own(behind: Upstream, tmp_path: Path) -> None:
    config = {
        "providers": {"p": provider("openai-compatible-lenient", behind.url, retries={**QUICK, "attempts": 1})},
        "models": {"a": {"target": "p/a"}},
        "routes": {"r": {"models": ["a"]}},
        "health_checks": {"interval": 1},
    }
    one = Running(config, tmp_path).start()
    try:
        services = one.services
        wait_for(lambda: bool(services.models.checks.results) and services.models.checks.is_healthy("a"))
        whole, services.live.routes = services.live.routes, None  # type: ignore[assignment]
        wait_for(lambda: '"crash"' in _written(one))
        behind.answer = lambda seen: (500, refusal("no"))
        services.live.routes = whole
        wait_for(lambda: not services.models.checks.is_healthy("a"))
    finally:
        one.stop()


def _written(running: Running) -> str:
    running.services.records.lines.flush()
    return running.log.getvalue()


# --- summaries


def test_a_summary_without_end_is_cut(behind: Upstream, tmp_path: Path) -> None:
    config = {
        "providers": {"p": provider("openai-compatible-lenient", behind.url, retries={**QUICK, "attempts": 1})},
        "models": {"a": {"target": "p/a"}},
        "history": {"compact": {"model": "p/writer", "above_tokens": 100, "max_summary_tokens": 500}},
    }
    behind.answer = lambda seen: (200, says("x" * 2_000_000)) if seen.body["model"] == "writer" else None
    turns = [{"role": role, "content": f"{turn} " * 100} for turn in range(30) for role in ("user", "assistant")]
    with gateway(config, tmp_path) as one:
        for last in ("And now?", "Go on."):
            turns.append({"role": "user", "content": last})
            one.post("/v1/chat/completions", {"model": "a", "messages": turns})
            assert one.loop is not None
            asyncio.run_coroutine_threadsafe(one.services.conversations.summaries.wait(), one.loop).result(60)
    asked = [seen.body["messages"] for seen in behind.seen if seen.body["model"] == "writer"]
    assert len(asked) > 1
    assert max(len(messages[0]["content"]) for messages in asked) < 50_000
    sent = [seen.body["messages"] for seen in behind.seen if seen.body["model"] == "a"][-1]
    heading, _, summary = sent[0]["content"].partition("\n")
    assert heading.startswith("[Context Summary of ")
    assert summary == "x" * 4_000, "eight characters for each token that was allowed"


# --- dry runs


def test_a_deep_dry_run_is_refused(running: Running) -> None:
    for content in (b"[" * 50_000, b'{"request":' * 5_000, b'{"request":{"a":' + b"[" * 90_000):
        answered = httpx.post(f"{running.url}/dragoman/adapt", content=content, headers={"authorization": "Bearer ann"})
        assert answered.status_code == 400, answered.text
