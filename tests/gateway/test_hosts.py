"""The name that a client calls the gateway by: without keys, a foreign one may be a web page's (DNS rebinding)."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.gateway.asking import body
from tests.gateway.running import Running, gateway, provider
from tests.gateway.test_security import talk
from tests.gateway.upstream import upstream

PATH = "/v1/chat/completions"


@pytest.fixture(scope="module")
def behind() -> Iterator[str]:
    with upstream() as running:
        yield running.url


def config(behind: str, **more: Any) -> dict[str, Any]:
    return {"providers": {"p": provider("openai", behind)}, "models": {"m": {"target": "p/gpt-4o"}}, **more}


def status(running: Running, host: str, **headers: str) -> int:
    return running.post(PATH, body("openai-chat", "m"), host=host, **headers).status_code


OWN = ["localhost", "LOCALHOST:8642", "127.0.0.1:1", "127.8.9.1", "[::1]:8642", "localhost."]
FOREIGN = ["evil.example", "evil.example:8642", "127.0.0.1.evil.example", "localhost.evil.example", "10.0.0.7", "", "["]


@pytest.mark.parametrize("host", OWN)
def test_loopback_names_are_answered(one: Running, host: str) -> None:
    assert status(one, host) == 200


@pytest.mark.parametrize("host", FOREIGN)
def test_foreign_names_are_refused(one: Running, host: str) -> None:
    assert status(one, host) == 403
    assert one.get("/v1/models", host=host).status_code == 403
    assert one.get("/metrics", host=host).status_code == 403
    assert set(one.get("/health", host=host).json()) == {"status", "uptime"}, "a stranger sees no more"


def test_the_refusal_says_what_to_do(one: Running) -> None:
    told = one.get("/v1/models", host="evil.example").json()["error"]["message"]
    assert '"evil.example"' in told
    assert "server.hosts" in told


def test_a_program_that_names_no_host_is_answered(one: Running) -> None:
    assert talk(one, b"GET /v1/models HTTP/1.0\r\n\r\n").startswith(b"HTTP/1.1 200 ")


@pytest.fixture(scope="module")
def one(behind: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    with gateway(config(behind), tmp_path_factory.mktemp("hosts")) as running:
        yield running


def test_configured_names_are_answered_and_others_are_not(behind: str, tmp_path: Path) -> None:
    with gateway(config(behind, server={"hosts": ["Gateway.internal", "[fd00::7]"]}), tmp_path) as running:
        for host in ("gateway.internal:8642", "GATEWAY.INTERNAL", "[fd00::7]:1", "localhost"):
            assert status(running, host) == 200
        assert status(running, "other.internal") == 403


def test_where_there_are_keys_the_name_does_not_matter(behind: str, tmp_path: Path) -> None:
    keys = {"ann": {"sha256": hashlib.sha256(b"any").hexdigest()}}
    with gateway(config(behind, keys=keys), tmp_path) as running:
        assert status(running, "evil.example") == 200


def test_a_gateway_that_is_open_to_all_answers_to_any_name(behind: str, tmp_path: Path) -> None:
    with gateway(config(behind, server={"allow_public_without_keys": True}), tmp_path) as running:
        assert status(running, "evil.example") == 200


@pytest.mark.parametrize("method", ["GET", "POST"])
@pytest.mark.parametrize(
    ("page", "allowed"),
    [
        ({}, True),
        ({"sec-fetch-site": "none"}, True),
        ({"sec-fetch-site": "same-origin"}, True),
        ({"sec-fetch-site": "cross-site"}, False),
        ({"sec-fetch-site": "cross-site", "origin": "http://127.0.0.1:3000"}, True),
        ({"sec-fetch-site": "cross-site", "origin": "https://evil.example"}, False),
        ({"origin": "https://evil.example"}, False),
    ],
)
def test_a_foreign_page_may_not_use_a_gateway_without_keys(
    one: Running, method: str, page: dict[str, str], allowed: bool
) -> None:
    answer = one.http.request(method, f"{one.url}/v1/health-check", headers=page)
    assert answer.status_code == (200 if allowed else 403)


def test_reading_asks_no_provider(tmp_path: Path) -> None:
    with upstream() as asked:
        routes = {"best": {"models": ["m"], "strategy": "order"}}
        with gateway(config(asked.url, routes=routes), tmp_path) as one:
            assert one.get("/v1/health-check").json()["status"] == "unknown"
            assert not asked.seen
            assert one.post("/v1/health-check", b"").json()["models"]
            assert asked.seen
            assert one.get("/v1/health-check").json()["models"]
