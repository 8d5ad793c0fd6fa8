"""What coding agents expect of a gateway: each line of the tables in docs/guide/agents.md that is about HTTP."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from tests.gateway.asking import body
from tests.gateway.running import Running, gateway, provider
from tests.gateway.upstream import Upstream, refusal

REPOSITORY = Path(__file__).parents[2]
CODEX = {"originator": "codex_cli_rs"}
UNIFIED = "anthropic-ratelimit-unified-"
NAMED_CODEX = {"user_agent": "codex_exec/0.166.0 (Debian 12)"}
ASKED = {
    "openai-chat": ("/v1/chat/completions", {}),
    "openai-responses": ("/v1/responses", {}),
    "anthropic": ("/v1/messages", {}),
    "gemini": ("/v1beta/models/m:generateContent", {}),
    "codex": ("/v1/responses", {"stream": True}),
}
KEYS = {"limited": {"requests_per_minute": 2}, "spent": {"budget": {"day": 0}}, "spent-total": {"budget": {"total": 0}}}


@pytest.fixture(scope="module")
def running(behind: Upstream, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    keys = {name: {"sha256": hashlib.sha256(name.encode()).hexdigest(), **more} for name, more in KEYS.items()}
    keys["any"] = {"sha256": hashlib.sha256(b"any").hexdigest()}
    price = {"input": 1, "output": 1}
    providers = {"p": provider("openai-compatible", behind.url, cooldown={"failures": 1000})}
    models = {
        "m": {"target": "p/x", "price": price, "context_window": 8000},
        "chain": {"target": "p/x", "fallbacks": ["p/y"], "context_window": 8000},
    }
    config = {"providers": providers, "models": models, "keys": keys}
    with gateway(config, tmp_path_factory.mktemp("agents")) as one:
        yield one


def ask(running: Running, client: str, key: str = "any", model: str = "m", **headers: str) -> httpx.Response:
    path, more = ASKED[client]
    asked = body("openai-responses" if client == "codex" else client, model, **more)
    return running.post(
        path.replace("/m:", f"/{model}:"), asked, key, **(CODEX if client == "codex" else {}), **headers
    )


def last_event(answer: httpx.Response) -> tuple[str, dict[str, Any]]:
    """The name and the response of the last event of a Responses stream."""
    assert answer.headers["content-type"].startswith("text/event-stream"), answer.text
    name, data = answer.text.strip().split("\n\n")[-1].split("\n")
    return name.removeprefix("event: "), json.loads(data.removeprefix("data: "))["response"]


def refuse(behind: Upstream, status: int, message: str, **headers: str) -> None:
    behind.headers = {name.replace("_", "-"): value for name, value in headers.items()}
    behind.answer = lambda seen: (status, refusal(message))


# Waits


@pytest.mark.parametrize("client", ["openai-chat", "openai-responses", "anthropic", "gemini"])
def test_an_upstreams_wait_in_the_words_of_the_client(running: Running, behind: Upstream, client: str) -> None:
    refuse(behind, 429, "Slow down", retry_after_ms="12500", anthropic_ratelimit_requests_remaining="7")
    told = ask(running, client)
    assert (told.status_code, told.headers["retry-after"]) == (429, "13")
    assert not [name for name in told.headers if name.startswith("anthropic-ratelimit")]
    assert "x-should-retry" not in told.headers
    said = {"openai-chat": "try again in 12.5s", "openai-responses": "try again in 12.5s", "gemini": "retry in 12.5s"}
    assert said.get(client, "Slow down") in told.text
    assert told.headers.get("retry-after-ms") == ("12500" if client.startswith("openai") else None)
    if client == "gemini":
        assert told.json()["error"]["details"][0]["retryDelay"] == "12.5s"


@pytest.mark.parametrize("client", ["openai-chat", "anthropic", "codex"])
def test_no_client_is_parked_by_a_long_wait(running: Running, behind: Upstream, client: str) -> None:
    refuse(behind, 429, "Slow down", retry_after="61")
    told = ask(running, client)
    assert (told.status_code, told.headers["x-should-retry"], told.headers["retry-after"]) == (429, "false", "61")


@pytest.mark.parametrize("headers", [{}, NAMED_CODEX])
def test_codex_waits_after_a_failed_stream(running: Running, behind: Upstream, headers: dict[str, str]) -> None:
    refuse(behind, 429, "Slow down", retry_after_ms="12500")
    told = ask(running, "codex", **headers)
    name, response = last_event(told)
    assert (told.status_code, name, response["status"]) == (200, "response.failed", "failed")
    assert response["error"]["code"] == "rate_limit_exceeded"
    wait = re.search(r"(?i)try again in\s*(\d+(?:\.\d+)?)\s*(s|ms|seconds?)", response["error"]["message"])
    assert wait is not None
    assert wait.groups() == ("12.5", "s")
    assert told.text.startswith("event: response.created")


@pytest.mark.parametrize("client", ["openai-chat", "anthropic", "codex", "gemini"])
def test_a_limit_that_another_try_does_not_change_is_told_as_one(
    running: Running, behind: Upstream, client: str
) -> None:
    refuse(behind, 429, "Not today", x_should_retry="false")
    before = len(behind.seen)
    told = ask(running, client)
    assert (told.status_code, told.headers["x-should-retry"], len(behind.seen) - before) == (429, "false", 1)
    assert ("PerDay" in told.text) == (client == "gemini"), "Gemini's CLI reads no header"


def test_codex_reads_the_limit_of_a_plan(running: Running, behind: Upstream) -> None:
    limit = {"type": "usage_limit_reached", "plan_type": "plus", "resets_at": 1_795_000_000}
    behind.headers = {}
    behind.answer = lambda seen: (429, {"error": {"message": "The usage limit has been reached", **limit}})
    told = ask(running, "codex")
    assert told.status_code == 429
    assert {name: told.json()["error"][name] for name in limit} == limit


def test_codex_that_asks_for_no_stream_gets_an_error(running: Running, behind: Upstream) -> None:
    refuse(behind, 429, "Slow down", retry_after="12")
    assert ask(running, "openai-responses", **CODEX).status_code == 429


# A limit and a budget of ours


def test_our_limits_are_told_to_clients_of_openai(running: Running, behind: Upstream) -> None:
    behind.answer = lambda seen: None
    left = [ask(running, "openai-chat", "limited") for _ in range(3)]
    told = [[one.headers[f"x-ratelimit-{name}-requests"] for name in ("limit", "remaining")] for one in left]
    assert told == [["2", "1"], ["2", "0"], ["2", "0"]]
    assert [one.status_code for one in left] == [200, 200, 429]
    assert left[0].headers["x-ratelimit-reset-requests"] == "60s"
    throttled = ask(running, "anthropic", "limited")
    assert (throttled.status_code, throttled.json()["error"]["type"]) == (429, "rate_limit_error")
    assert 0 < int(throttled.headers["retry-after"]) <= 60
    assert not [name for name in throttled.headers if "ratelimit" in name]
    name, response = last_event(ask(running, "codex", "limited"))
    assert (name, response["error"]["code"]) == ("response.failed", "rate_limit_exceeded")


@pytest.mark.parametrize(("key", "period"), [("spent", "daily"), ("spent-total", None)])
def test_a_spent_budget_is_no_throttle(running: Running, behind: Upstream, key: str, period: str | None) -> None:
    told = ask(running, "anthropic", key)
    unified = {name.removeprefix(UNIFIED): value for name, value in told.headers.items() if name.startswith(UNIFIED)}
    assert (told.status_code, told.json()["error"]["type"]) == (429, "billing_error")
    assert told.headers.get_list("x-should-retry") == ["false"]
    assert (unified["status"], unified["overage-disabled-reason"]) == ("rejected", "org_spend_cap_reached")
    assert unified.get("overage-period") == period
    assert ("reset" in unified, "retry-after" in told.headers) == (period is not None, period is not None)
    assert not {"representative-claim", "overage-status"} & unified.keys()
    assert ask(running, "openai-chat", key).json()["error"]["code"] == "insufficient_quota"
    assert "PerDay" in ask(running, "gemini", key).text
    assert ask(running, "codex", key).status_code == 429


# Windows

TOO_LONG = "This model's maximum context length is 8000 tokens. However, your messages resulted in 9000 tokens."
NO_ROOM = (
    "This model's maximum context length is 8000 tokens. However, you requested 9000 tokens "
    "(7000 in the messages, 2000 in the completion). Please reduce the length of the messages or completion."
)
NO_NUMBERS = "Input is too long for requested model."


@pytest.mark.parametrize("model", ["m", "chain"])
@pytest.mark.parametrize(
    ("said", "heard"),
    [
        (TOO_LONG, r"^prompt is too long: 9000 tokens > 8000 maximum"),
        (NO_ROOM, r"^input length and `max_tokens` exceed context limit: 7000 \+ 2000 > 8000"),
        (NO_NUMBERS, r"^prompt is too long: 8001 tokens > 8000 maximum"),
    ],
)
def test_overflow_in_the_words_of_claude_code(
    running: Running, behind: Upstream, said: str, heard: str, model: str
) -> None:
    refuse(behind, 400, said)
    told = ask(running, "anthropic", model=model)
    assert (told.status_code, told.headers["x-should-retry"]) == (400, "false")
    assert re.match(heard, told.json()["error"]["message"]), told.text


@pytest.mark.parametrize("model", ["m", "chain"])
@pytest.mark.parametrize("said", [TOO_LONG, NO_ROOM, NO_NUMBERS])
def test_overflow_ends_a_turn_of_codex_so_that_the_next_compacts(
    running: Running, behind: Upstream, said: str, model: str
) -> None:
    refuse(behind, 400, said)
    told = ask(running, "codex", model=model)
    name, response = last_event(told)
    assert (told.status_code, name, response["error"]["code"]) == (200, "response.failed", "context_length_exceeded")


def streamed(finish: str, text: str) -> tuple[bytes, ...]:
    chunk = {"id": "c", "object": "chat.completion.chunk", "created": 1, "model": "m"}
    said = [{"delta": {"content": text}}] if text else []
    choices = [*said, {"delta": {}, "finish_reason": finish}]
    frames = [json.dumps({**chunk, "choices": [{"index": 0, **one}]}) for one in choices]
    return tuple(f"data: {frame}\n\n".encode() for frame in [*frames, "[DONE]"])


@pytest.mark.parametrize(
    ("finish", "text", "name", "status", "code"),
    [
        ("stop", "Hi", "response.completed", "completed", None),
        ("length", "Hi", "response.completed", "incomplete", None),
        ("length", "", "response.failed", "failed", "invalid_prompt"),
        ("content_filter", "Hi", "response.failed", "failed", "invalid_prompt"),
    ],
)
def test_codex_does_not_repeat_an_answer_that_was_cut_short(
    running: Running, behind: Upstream, finish: str, text: str, name: str, status: str, code: str | None
) -> None:
    """It repeats after `response.incomplete`, five times; SDKs get that event."""
    behind.answer = lambda seen: (200, streamed(finish, text))
    said, response = last_event(ask(running, "codex"))
    assert (said, response["status"], (response["error"] or {}).get("code")) == (name, status, code)
    plain = running.post("/v1/responses", body("openai-responses", "m", stream=True))
    assert last_event(plain)[0] == ("response.completed" if finish == "stop" else "response.incomplete")


@pytest.mark.parametrize(("path", "dialect"), [("/v1/messages", "anthropic"), ("/v1/responses", "openai-responses")])
def test_a_stream_whose_upstream_reports_no_usage_still_tells_its_tokens(
    running: Running, behind: Upstream, path: str, dialect: str
) -> None:
    behind.answer = lambda seen: (200, streamed("stop", "Hi"))
    told = running.post(path, body(dialect, "m", stream=True)).text
    counts = [int(count) for count in re.findall(r'"input_tokens":(\d+)', told)]
    outputs = [int(count) for count in re.findall(r'"output_tokens":(\d+)', told)]
    assert counts
    assert all(counts)
    assert outputs[-1] > 0


# Keys


def test_a_wrong_key_is_told_once(running: Running) -> None:
    told = ask(running, "anthropic", "wrong")
    assert (told.status_code, told.headers["x-should-retry"]) == (401, "false")
    assert told.json()["error"]["type"] == "authentication_error"


# What else the tables say


def test_unknown_headers_and_betas_never_fail(running: Running, behind: Upstream) -> None:
    behind.answer, behind.seen = lambda seen: None, []
    strange = {"anthropic_beta": "no-such-2026-01-01,claude-code-20250219", "x_claude_code_request_class": "main"}
    told = ask(running, "anthropic", anthropic_version="2023-06-01", x_app="cli", **strange)
    assert told.status_code == 200, told.text
    assert not {"anthropic-beta", "x-app", "x-claude-code-request-class"} & behind.seen[0].headers.keys()


def test_overflow_is_clear_to_gemini_cli(running: Running, behind: Upstream) -> None:
    refuse(behind, 400, TOO_LONG)
    error = ask(running, "gemini").json()["error"]
    assert (error["code"], error["status"]) == (400, "INVALID_ARGUMENT")
    assert error["message"].startswith(
        "The input token count (9000) exceeds the maximum number of tokens allowed (8000)"
    )


def test_every_line_of_the_page_has_its_test() -> None:
    lines = (REPOSITORY / "docs/guide/agents.md").read_text().splitlines()
    rows = [line for line in lines if line.startswith("| ") and not line.startswith("| it expects")]
    assert rows
    for row in rows:
        told = row.rstrip(" |").rpartition("| ")[2].strip("`")
        file, _, name = told.partition("::")
        assert told == "the same" or f"def {name}(" in (REPOSITORY / file).read_text(), row
