"""Rate limits: the headers of each vendor, and refusals with the time to wait."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import anthropic
import openai
import orjson
import pytest
from click.testing import CliRunner

from dragoman.cli.commands.providers.emulate import emulate
from dragoman.emulators.catalogue import names, provider
from dragoman.emulators.emulator_core import EmulatorCore, PlannedResponse
from dragoman.emulators.rate_limits import BadLimitError, parse_limits, render_duration
from dragoman.testing import emulator
from dragoman.wire.error_bodies import parse_failure

LONG = "word " * 4000  # 5,000 tokens


class Asker:
    """One emulator with limits, at a time that the test sets."""

    def __init__(self, name: str, limits: str = "") -> None:
        self.now = 1_767_225_600.0
        self.core = EmulatorCore(provider(name), clock=lambda: self.now, limits=parse_limits(limits))

    def ask(self, body: Any = None, key: str = "one") -> PlannedResponse:
        path, _, query = self.core.provider.example[0].partition("?")
        fields = dict(pair.split("=") for pair in query.split("&")) if query else {}
        raw = orjson.dumps(body or self.core.provider.example[1])
        return self.core.respond("POST", path, fields, {"authorization": key}, raw)


HEADERS = {
    "anthropic": {
        "anthropic-ratelimit-requests-limit": "60",
        "anthropic-ratelimit-requests-remaining": "59",
        "anthropic-ratelimit-requests-reset": "2026-01-01T00:00:01Z",
        "anthropic-ratelimit-input-tokens-remaining": "2000000",
        "anthropic-ratelimit-tokens-limit": "2400000",
    },
    "openai": {
        "x-ratelimit-limit-requests": "60",
        "x-ratelimit-remaining-requests": "59",
        "x-ratelimit-reset-requests": "1s",
        "x-ratelimit-limit-tokens": "30000000",
    },
    "azure-openai": {
        "x-ratelimit-remaining-requests": "59",
        "x-ratelimit-reset-requests": "1",
        "x-ratelimit-renewalperiod-tokens": "60",
    },
    "xai": {"x-ratelimit-limit-requests": "60", "x-ratelimit-remaining-requests": "59"},
    "groq": {"x-ratelimit-reset-requests": "1s"},
    "mistral": {"x-ratelimit-limit-req-minute": "60", "x-ratelimit-remaining-req-minute": "59"},
    "together": {"x-ratelimit-limit": "60", "x-ratelimit-remaining": "59", "x-ratelimit-reset": "1"},
}


@pytest.mark.parametrize("name", HEADERS)
def test_an_answer_tells_what_is_left(name: str) -> None:
    headers = Asker(name, "requests=60").ask().headers
    assert headers.items() >= HEADERS[name].items()


@pytest.mark.parametrize("name", names())
def test_every_emulator_refuses_what_exceeds_a_limit_until_time_has_passed(name: str) -> None:
    asker = Asker(name, "requests=2")
    assert [asker.ask().status for _ in range(3)] == [200, 200, 429]
    assert asker.ask(key="two").status == 200
    asker.now += 30.0
    assert asker.ask().status == 200


@pytest.mark.parametrize(
    ("name", "seconds"),
    [("anthropic", 30), ("openai", 30), ("openai-responses", 30), ("azure-openai", 30), ("groq", 30), ("gemini", 30)],
)
def test_a_refusal_says_how_long_to_wait(name: str, seconds: int) -> None:
    asker = Asker(name, "requests=2")
    asker.ask()
    asker.ask()
    refused = asker.ask()
    failure = parse_failure(refused.status, refused.headers, refused.body)
    assert failure.retry_after == pytest.approx(seconds, abs=0.1)
    assert ("retry-after" in refused.headers) is (name != "gemini")


@pytest.mark.parametrize("limits", ["requests=2", "tokens=100"])
@pytest.mark.parametrize("name", names())
def test_no_refusal_tells_a_limit_or_a_time_that_is_not_so(name: str, limits: str) -> None:
    asker = Asker(name, limits)
    refused = next(answer for answer in (asker.ask() for _ in range(50)) if answer.status == 429)
    failure = parse_failure(refused.status, refused.headers, refused.body)
    words = refused.body.decode()
    if failure.retry_after is not None:
        asker.now += failure.retry_after - 1
        assert asker.ask().status == 429
        asker.now += 2
        assert asker.ask().status == 200
    named = re.findall(r"(?i)(?:limit(?:ed to|:)?|\bof) (\d+)", words)
    assert set(named) <= {limits.partition("=")[2]} or (name, limits) == ("cohere", "tokens=100")


def test_the_guide_says_who_tells_what() -> None:
    """Of each emulator: whether headers tell what is left, and whether a refusal tells the time to wait."""
    guide = (Path(__file__).parents[2] / "docs" / "guide" / "emulators.md").read_text("utf-8")
    table = guide.partition("| emulator | headers of an answer |")[2].partition("\n\n")[0]
    rows = [[cell.strip() for cell in line.split("|")[1:-1]] for line in table.splitlines()[2:]]
    stated = {name: (row[1] != "none", row[2] != "–") for row in rows for name in re.findall(r"`([\w-]+)`", row[0])}
    told = {}
    for name in names():
        asker = Asker(name, "requests=1")
        answer, refused = asker.ask(), asker.ask()
        wait = parse_failure(refused.status, refused.headers, refused.body).retry_after
        told[name] = (any("ratelimit" in header for header in answer.headers), wait is not None)
    assert {name: tells for name, tells in told.items() if any(tells)} == stated


def test_the_words_of_refusals_are_those_of_reported_ones() -> None:
    """As users of Anthropic, Groq and Vertex report them."""

    def refuse(name: str) -> PlannedResponse:
        asker = Asker(name, "requests=1")
        asker.ask()
        return asker.ask()

    claude, groq, vertex = refuse("anthropic"), refuse("groq"), refuse("vertex")
    assert b"of 1 requests per minute. For details, refer to: https://docs.claude.com" in claude.body
    assert b"You can see the response headers for current usage." in claude.body
    assert (
        claude.headers.items()
        >= {
            "anthropic-ratelimit-requests-limit": "1",
            "anthropic-ratelimit-requests-remaining": "0",
            "anthropic-ratelimit-requests-reset": "2026-01-01T00:01:00Z",
            "retry-after": "60",
        }.items()
    )
    assert b"service tier `on_demand` on requests per minute (RPM): Limit 1, Used 1, Requested 1." in groq.body
    assert b"Please try again in 1m0s. Need more tokens? Upgrade to Dev Tier today" in groq.body
    assert "retry-after-ms" not in groq.headers
    error = orjson.loads(vertex.body)["error"]
    assert error["message"].startswith("Resource exhausted. Please try again later.")
    assert "details" not in error


def test_gemini_says_it_in_its_body_alone() -> None:
    asker = Asker("gemini", "tokens=100")
    refused = asker.ask({"contents": [{"parts": [{"text": LONG}]}]})
    error = orjson.loads(refused.body)["error"]
    assert refused.headers == {}
    assert error["details"][1]["retryDelay"] == "2940s"
    assert "limit: 100, model: gemini-2.5-flash\nPlease retry in 2940s." in error["message"]


def test_openai_names_the_limit_and_what_was_used() -> None:
    asker = Asker("openai", "tokens=6000")
    asked = {"model": "gpt-4o", "messages": [{"role": "user", "content": LONG}]}
    asker.ask(asked)
    refused = asker.ask(asked)
    error = orjson.loads(refused.body)["error"]
    assert "on tokens per min (TPM): Limit 6000, Used 5" in error["message"]
    assert (error["type"], error["code"]) == ("tokens", "rate_limit_exceeded")
    assert refused.headers["retry-after-ms"].isdecimal()


def test_what_claude_reads_from_its_cache_is_free() -> None:
    asker = Asker("anthropic", "input=6000")
    block = {"type": "text", "text": LONG, "cache_control": {"type": "ephemeral"}}
    request = {"model": "claude-sonnet-4-6", "max_tokens": 50, "messages": [{"role": "user", "content": [block]}]}
    assert [asker.ask(request).status for _ in range(5)] == [200] * 5
    block.pop("cache_control")
    assert asker.ask(request).status == 429


def test_a_refused_request_uses_no_step_and_no_limit() -> None:
    asker = Asker("openai", "requests=1")
    statuses = []
    for _ in range(4):
        statuses.append(asker.ask().status)
        asker.now += 20
    assert statuses == [200, 429, 429, 200]


def test_the_official_sdks_see_the_limits() -> None:
    with emulator("openai", limits={"requests": 1}) as running:
        client = openai.OpenAI(base_url=running.base_url, api_key="any", max_retries=0)
        asked: Any = {"model": "gpt-4o", "messages": [{"role": "user", "content": "Hi"}]}
        raw = client.chat.completions.with_raw_response.create(**asked)
        assert raw.headers["x-ratelimit-remaining-requests"] == "0"
        with pytest.raises(openai.RateLimitError) as refused:
            client.chat.completions.create(**asked)
        assert float(refused.value.response.headers["retry-after"]) <= 60
    with emulator("anthropic", limits="requests=1") as running:
        claude = anthropic.Anthropic(base_url=running.base_url, api_key="any", max_retries=0)
        request: Any = {"model": "claude-sonnet-4-6", "max_tokens": 9, "messages": asked["messages"]}
        assert claude.messages.with_raw_response.create(**request).headers["anthropic-ratelimit-requests-limit"] == "1"
        with pytest.raises(anthropic.RateLimitError, match="of 1 requests per minute"):
            claude.messages.create(**request)


@pytest.mark.parametrize(
    ("seconds", "written"), [(0.0, "0s"), (0.006, "6ms"), (1, "1s"), (8.64, "8.64s"), (360, "6m0s")]
)
def test_durations(seconds: float, written: str) -> None:
    assert render_duration(seconds) == written


@pytest.mark.parametrize("wrong", ["request=5", "requests=many", "requests=0", "requests"])
def test_a_limit_that_cannot_be_parsed(wrong: str) -> None:
    with pytest.raises(BadLimitError, match="requests"):
        parse_limits(wrong)
    shown = CliRunner().invoke(emulate, ["openai", "--limits", wrong])
    assert shown.exit_code == 1
    assert "limit" in shown.output
