"""Budgets over days, months and a clock that is set back; and what the gateway asks by itself for a key."""

from __future__ import annotations

import asyncio
import hashlib
import json
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import httpx
import pytest
from tests.gateway.running import QUICK, Running, gateway, provider, wait_for
from tests.gateway.upstream import GOOD, Upstream, upstream

from dragoman.store.clock import Clocks
from dragoman.testing import emulator

ANSWER = {**GOOD, "usage": {"prompt_tokens": 100, "completion_tokens": 100, "total_tokens": 200}}
PRICE = {"input": 1000, "output": 2000}
"""An answer costs 0.3."""


class Calendar:
    """A wall clock that only the test moves."""

    def __init__(self, moment: str) -> None:
        self.set(moment)

    def set(self, moment: str) -> None:
        self.now = datetime.fromisoformat(moment).replace(tzinfo=UTC).timestamp()

    def __call__(self) -> float:
        return self.now


@contextmanager
def budgeted(folder: Path, budget: dict[str, Any], up: Upstream, clock: Calendar) -> Iterator[Running]:
    config = {
        "providers": {"plain": provider("openai-compatible-strict", up.url)},
        "models": {"own": {"target": "plain/house", "price": PRICE}},
        "keys": {"anna": {"sha256": hashlib.sha256(b"anna").hexdigest(), "budget": budget}},
    }
    with gateway(config, folder, Clocks(wall=clock)) as running:
        yield running


def ask(running: Running, **more: Any) -> httpx.Response:
    body = {"model": "own", "messages": [{"role": "user", "content": "Hi"}], **more}
    answer = running.post("/v1/chat/completions", body, "anna")
    wait_for(lambda: running.busy() == (0, 0))
    return answer


@pytest.fixture
def up() -> Iterator[Upstream]:
    with upstream(lambda seen: (200, ANSWER)) as one:
        yield one


ENDS = [
    # budget, before, the last second of it, told as its end, first second of the next
    ("day", "2026-03-14T10:00:00", "2026-03-14T23:59:59", "2026-03-15T00:00:00Z", "2026-03-15T00:00:00"),
    ("day", "2026-12-31T10:00:00", "2026-12-31T23:59:59", "2027-01-01T00:00:00Z", "2027-01-01T00:00:00"),
    ("month", "2026-01-31T10:00:00", "2026-01-31T23:59:59", "2026-02-01T00:00:00Z", "2026-02-01T00:00:00"),
    ("month", "2028-02-10T10:00:00", "2028-02-29T23:59:59", "2028-03-01T00:00:00Z", "2028-03-01T00:00:00"),
    ("month", "2026-12-01T00:00:00", "2026-12-31T23:59:59", "2027-01-01T00:00:00Z", "2027-01-01T00:00:00"),
]


@pytest.mark.sampled(4)
@pytest.mark.parametrize(("period", "begins", "last", "told", "following"), ENDS)
def test_a_budget_ends_at_midnight_utc_and_not_a_second_earlier(
    up: Upstream, tmp_path: Path, period: str, begins: str, last: str, told: str, following: str
) -> None:
    clock = Calendar(begins)
    with budgeted(tmp_path, {period: 0.5}, up, clock) as running:
        assert [ask(running).status_code for _ in range(3)] == [200, 200, 429]
        clock.set(last)
        refused = ask(running)
        assert refused.status_code == 429
        assert (f"it ends {told}" in refused.text, refused.headers["retry-after"]) == (True, "1")
        clock.set(following)
        assert [ask(running).status_code for _ in range(3)] == [200, 200, 429]


def test_a_day_that_is_over_still_counts_for_the_month(up: Upstream, tmp_path: Path) -> None:
    clock = Calendar("2026-05-01T12:00:00")
    with budgeted(tmp_path, {"day": 0.5, "month": 1.0}, up, clock) as running:
        assert [ask(running).status_code for _ in range(3)] == [200, 200, 429]
        clock.set("2026-05-02T12:00:00")
        answers = [ask(running) for _ in range(3)]
        assert [one.status_code for one in answers] == [200, 200, 429]
        assert "in month 2026-05" in answers[2].text
        clock.set("2026-05-03T12:00:00")
        assert "in month 2026-05" in ask(running).text


def test_a_request_over_midnight_belongs_to_the_day_on_which_it_began(tmp_path: Path) -> None:
    clock = Calendar("2026-05-01T23:59:59")

    def at_midnight(seen: Any) -> Any:
        clock.set("2026-05-02T00:00:01")
        return 200, ANSWER

    with upstream(at_midnight) as up, budgeted(tmp_path, {"day": 0.3}, up, clock) as running:
        assert ask(running).status_code == 200  # of yesterday
        assert ask(running).status_code == 200  # of today
        assert ask(running).status_code == 429
        clock.set("2026-05-01T23:59:59")
        assert ask(running).status_code == 429


def test_a_clock_that_is_set_back_gives_nothing_away(up: Upstream, tmp_path: Path) -> None:
    clock = Calendar("2026-05-02T12:00:00")
    with budgeted(tmp_path, {"day": 0.5, "total": 0.8}, up, clock) as running:
        assert [ask(running).status_code for _ in range(3)] == [200, 200, 429]
        clock.set("2026-05-01T12:00:00")  # another day, with a budget of its own; the total stays what it is
        answers = [ask(running) for _ in range(2)]
        assert [one.status_code for one in answers] == [200, 429]
        assert "in total is spent (0.9)" in answers[1].text
        clock.set("2026-05-02T13:00:00")
        assert ask(running).status_code == 429


def test_what_is_spent_survives_a_restart(up: Upstream, tmp_path: Path) -> None:
    clock = Calendar("2026-05-02T12:00:00")
    with budgeted(tmp_path, {"day": 0.5}, up, clock) as running:
        assert [ask(running).status_code for _ in range(2)] == [200, 200]
    with budgeted(tmp_path, {"day": 0.5}, up, clock) as running:
        assert ask(running).status_code == 429


@pytest.mark.parametrize(
    ("budget", "judge", "asked"),
    [
        ({"total": 100}, {"price": PRICE}, True),
        ({"total": 1.0}, {"price": {"input": 100_000, "output": 1}}, False),  # a decision costs more than there is
        ({"total": 100}, {}, False),  # nobody tells what a decision costs
    ],
)
def test_a_router_model_is_not_asked_for_a_key_that_cannot_pay_it(
    tmp_path: Path, budget: dict[str, Any], judge: dict[str, Any], asked: bool
) -> None:
    with upstream(lambda seen: (200, ANSWER)) as up, emulator("openai") as router:
        router.script(json.dumps({"reasoning": "Because.", "model": "second"}))
        config = {
            "providers": {
                "plain": provider("openai-compatible-strict", up.url),
                "judge": provider("openai-compatible-strict", router.base_url),
            },
            "models": {
                "first": {"target": "plain/first", "price": PRICE},
                "second": {"target": "plain/second", "price": PRICE},
                "judge": {"target": "judge/small", "hidden": True, **judge},
            },
            "router": {"model": "judge"},
            "keys": {"anna": {"sha256": hashlib.sha256(b"anna").hexdigest(), "budget": budget}},
        }
        with gateway(config, tmp_path) as running:
            answer = ask(running, model="auto")
            assert answer.status_code == 200
            assert answer.headers["x-dragoman-model"] == ("plain/second" if asked else "plain/first")
            assert len(router.requests) == asked


def test_no_summary_is_made_for_a_key_that_cannot_pay_it_and_others_get_theirs(tmp_path: Path) -> None:
    with ExitStack() as stack:
        talker, writer = (stack.enter_context(emulator("openai")) for _ in range(2))
        writer.script(*["Sum."] * 20)
        keys = {"anna": {"budget": {"total": 1}}, "ben": {}}
        config = {
            "providers": {
                "talker": provider("openai", talker.base_url),
                "writer": provider("openai", writer.base_url, retries={**QUICK, "attempts": 1}),
            },
            "models": {
                "own": {"target": "talker/gpt-4o", "price": {"input": 0.001, "output": 0.001}},
                "writer": {"target": "writer/gpt-4o-mini", "price": {"input": 100_000, "output": 1}},
            },
            "history": {"compact": {"model": "writer", "above_tokens": 1000}},
            "keys": {name: {"sha256": hashlib.sha256(name.encode()).hexdigest(), **of} for name, of in keys.items()},
        }
        running = stack.enter_context(gateway(config, tmp_path))
        for turn in range(4):  # more than the failures in a row after which a writer is left alone
            assert _long(running, "anna", turn).status_code == 200
        assert len(writer.requests) == 0
        running.services.records.lines.flush()
        assert running.log.getvalue().count('"skipped":"the key') == 4
        assert _long(running, "ben", 9).status_code == 200
        assert len(writer.requests) > 0


def _long(running: Running, key: str, turn: int) -> httpx.Response:
    old = [{"role": role, "content": f"{turn} words " * 40} for role in ("user", "assistant") * 10]
    body = {"model": "own", "messages": [*old, {"role": "user", "content": "So?"}]}
    answer = running.post("/v1/chat/completions", body, key)
    assert running.loop is not None
    asyncio.run_coroutine_threadsafe(running.services.conversations.summaries.wait(), running.loop).result(60)
    return answer


@pytest.mark.slow
def test_a_hundred_at_once_do_not_overspend_by_more_than_those_under_way(tmp_path: Path) -> None:
    """Each is booked at its input, 0.1, when it is admitted: at most ten are under way against a budget of 1."""

    async def burst(url: str) -> list[int]:
        body = {"model": "own", "messages": [{"role": "user", "content": "word " * 90}]}
        async with httpx.AsyncClient(timeout=60, limits=httpx.Limits(max_connections=100)) as client:
            named = {"authorization": "Bearer anna"}
            asked = [client.post(f"{url}/v1/chat/completions", json=body, headers=named) for _ in range(100)]
            return [one.status_code for one in await asyncio.gather(*asked)]

    with upstream(lambda seen: (200, ANSWER)) as up:
        with budgeted(tmp_path, {"total": 1}, up, Calendar("2026-05-02T12:00:00")) as running:
            found = asyncio.run(burst(running.url))
        assert found.count(200) == len(up.seen)
        assert found.count(200) + found.count(429) == 100
        assert 1 <= found.count(200) <= 10
