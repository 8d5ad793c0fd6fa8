"""B18: what each target is sent in a minute at most, with a clock that only the test moves."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest
from tests.gateway.asking import PATHS, body
from tests.gateway.running import Hands, Running, ask_and_leave, gateway, provider, wait_for
from tests.gateway.upstream import GOOD, Upstream, refusal, upstream

from dragoman.store.clock import Clocks

CHAT = PATHS["openai-chat"]
HUGE = {**GOOD, "usage": {"prompt_tokens": 3, "completion_tokens": 900, "total_tokens": 903}}


@contextmanager
def limited(folder: Path, limits: Any, up: Upstream, clock: Hands | None = None, **more: Any) -> Iterator[Running]:
    """A gateway with the model `one`, limited so, and `two` at another place without limits."""
    providers = {name: provider("openai-compatible-strict", up.url) for name in ("a", "b")}
    models = {"one": {"target": "a/one", "rate_limits": limits, **more}, "two": {"target": "b/two"}}
    config = {"providers": providers, "models": models, "routes": {"both": {"models": ["one", "two"]}}}
    with gateway(config, folder, Clocks(steady=clock or Hands())) as running:
        yield running


def ask(running: Running, model: str = "one", dialect: str = "openai-chat", **more: Any) -> httpx.Response:
    return running.post(PATHS[dialect].format(model=model), body(dialect, model, **more))


def statuses(running: Running, times: int, **more: Any) -> list[int]:
    return [ask(running, **more).status_code for _ in range(times)]


@pytest.fixture
def up() -> Iterator[Upstream]:
    with upstream() as one:
        yield one


@pytest.mark.parametrize("dialect", PATHS)
def test_B18_a_full_model_is_refused_in_the_clients_dialect_with_the_seconds_to_wait(
    up: Upstream, tmp_path: Path, dialect: str
) -> None:
    clock = Hands()
    with limited(tmp_path, {"requests_per_minute": 2, "when_full": "refuse"}, up, clock) as running:
        assert statuses(running, 2) == [200, 200]
        clock.now += 20
        refused = ask(running, dialect=dialect)
        assert refused.status_code == 429
        assert refused.headers["retry-after"] == "40"
        assert 'limit of 2 requests per minute for \\"a/one\\" is reached' in refused.text
        assert len(up.seen) == 2
        clock.now += 41
        assert statuses(running, 3, dialect=dialect) == [200, 200, 429]


LIMITS = {
    "input": ({"input_tokens_per_minute": 40}, "input tokens"),
    "output": ({"output_tokens_per_minute": 1000, "output_reserve": 101}, "output tokens"),
}


@pytest.mark.parametrize("limit", LIMITS)
def test_B18_tokens_are_limited_by_what_answers_really_used(up: Upstream, tmp_path: Path, limit: str) -> None:
    limits, name = LIMITS[limit]
    up.answer = lambda seen: (200, {**HUGE, "usage": {**HUGE["usage"], "prompt_tokens": 39}})  # type: ignore[dict-item]
    with limited(tmp_path, {**limits, "when_full": "refuse"}, up) as running:
        assert ask(running).status_code == 200
        wait_for(lambda: running.busy() == (0, 0))
        refused = ask(running, max_tokens=150)
        assert refused.status_code == 429
        assert f" {name} per minute" in refused.text


def test_B18_the_reserve_is_what_a_request_needs_at_least(up: Upstream, tmp_path: Path) -> None:
    up.answer = lambda seen: (200, HUGE)
    limits = {"output_tokens_per_minute": 1000, "output_reserve": 500, "when_full": "refuse"}
    with limited(tmp_path, limits, up) as running:
        assert ask(running).status_code == 200  # 900 of 1000 are used
        wait_for(lambda: running.busy() == (0, 0))
        assert ask(running).status_code == 429  # may need 500
        assert ask(running, max_tokens=200).status_code == 429
        assert ask(running, max_tokens=90).status_code == 200  # cannot need more than 90


def test_B18_the_reserve_of_requests_under_way_counts_and_is_given_back(tmp_path: Path) -> None:
    may_answer = threading.Event()

    def slow(seen: Any) -> Any:
        may_answer.wait(60)
        return 200, GOOD  # two tokens of output

    limits = {"output_tokens_per_minute": 1000, "output_reserve": 600, "when_full": "refuse"}
    with upstream(slow) as up, limited(tmp_path, limits, up) as running, ThreadPoolExecutor(1) as threads:
        first = threads.submit(httpx.post, running.url + CHAT, json=body("openai-chat", "one"), timeout=30)
        wait_for(lambda: len(up.seen) == 1)
        assert ask(running).status_code == 429
        may_answer.set()
        assert first.result().status_code == 200
        wait_for(lambda: running.busy() == (0, 0))
        assert ask(running).status_code == 200


def test_B18_a_failed_send_gives_its_output_back_and_a_retry_counts_as_a_request(up: Upstream, tmp_path: Path) -> None:
    up.answer = lambda seen: (500, refusal("broken")) if len(up.seen) == 1 else None
    limits = {"requests_per_minute": 3, "output_tokens_per_minute": 1000, "output_reserve": 600, "when_full": "refuse"}
    with limited(tmp_path, limits, up) as running:
        assert ask(running).status_code == 200
        assert len(up.seen) == 2
        wait_for(lambda: running.busy() == (0, 0))
        assert statuses(running, 2) == [200, 429]
        assert len(up.seen) == 3


def test_B18_a_retry_without_room_gives_the_clients_the_providers_own_error(up: Upstream, tmp_path: Path) -> None:
    up.answer = lambda seen: (503, refusal("we are closed"))
    with limited(tmp_path, {"requests_per_minute": 1, "when_full": "refuse"}, up) as running:
        answer = ask(running)
        assert (answer.status_code, len(up.seen)) == (503, 1)
        assert "we are closed" in answer.text
        assert running.entry(answer).attempts == 1


@pytest.mark.slow
def test_B18_requests_wait_for_their_turn_in_order(up: Upstream, tmp_path: Path) -> None:
    clock = Hands()
    limits = {"requests_per_minute": 1, "max_wait": 50_000}
    with limited(tmp_path, limits, up, clock) as running, ThreadPoolExecutor(3) as threads:
        assert ask(running).status_code == 200
        later = []
        for number in range(3):
            question = {**body("openai-chat", "one"), "user": str(number)}
            later.append(threads.submit(httpx.post, running.url + CHAT, json=question, timeout=60))
            wait_for(lambda number=number: running.services.models.limits.waiting == number + 1)  # type: ignore[misc]
        assert len(up.seen) == 1
        for sent in range(3):
            clock.now += 60.5
            wait_for(lambda sent=sent: len(up.seen) == sent + 2)  # type: ignore[misc]
            assert running.services.models.limits.waiting <= 2 - sent + 1
        assert [one.result().status_code for one in later] == [200] * 3
        assert [one.body.get("user") for one in up.seen[1:]] == ["0", "1", "2"]
        wait_for(lambda: running.busy() == (0, 0))
        assert '"queued_ms":' in running.log.getvalue()
        metrics = running.get("/metrics").text
        assert 'dragoman_rate_limited_total{target="a/one",limit="requests",outcome="queued"} 3' in metrics
        assert "dragoman_rate_limited_waiting_requests 0" in metrics


def test_B18_the_line_is_bounded_and_so_is_the_wait(up: Upstream, tmp_path: Path) -> None:
    clock = Hands()
    limits = {"output_tokens_per_minute": 2, "max_wait": 0.3, "max_waiting": 1, "output_reserve": 2}
    with limited(tmp_path, limits, up, clock) as running, ThreadPoolExecutor(1) as threads:
        assert ask(running).status_code == 200
        wait_for(lambda: running.busy() == (0, 0))
        waits = threads.submit(httpx.post, running.url + CHAT, json=body("openai-chat", "one"), timeout=30)
        wait_for(lambda: running.services.models.limits.waiting == 1 or waits.done())
        refused = [ask(running), waits.result()]
        assert [one.status_code for one in refused] == [429, 429]
        assert all(int(one.headers["retry-after"]) >= 59 for one in refused)
        assert running.services.models.limits.waiting == 0
        assert len(up.seen) == 1


def test_B18_nobody_waits_for_what_cannot_come_in_time(up: Upstream, tmp_path: Path) -> None:
    with limited(tmp_path, {"requests_per_minute": 1, "max_wait": 59}, up) as running:
        assert ask(running).status_code == 200
        refused = ask(running)  # an hour-glass that does not run: only a refusal at once ends this
        assert (refused.status_code, refused.headers["retry-after"]) == (429, "60")


def test_B18_a_client_that_leaves_the_line_leaves_no_trace(up: Upstream, tmp_path: Path) -> None:
    limits = {"requests_per_minute": 1, "max_wait": 500}
    with limited(tmp_path, limits, up) as running:
        assert ask(running).status_code == 200
        ask_and_leave(running, CHAT, body("openai-chat", "one"), lambda: running.services.models.limits.waiting == 1)
        wait_for(lambda: running.services.models.limits.waiting == 0 and running.busy() == (0, 0))
        assert len(up.seen) == 1


@pytest.mark.parametrize("way", ["refuse", "queue"])
def test_B18_a_fallback_takes_over_from_a_full_model(up: Upstream, tmp_path: Path, way: str) -> None:
    limits = {"requests_per_minute": 1, "when_full": way, "max_wait": 0.2}
    with limited(tmp_path, limits, up, fallbacks=["two"]) as running:
        answers = [ask(running) for _ in range(3)]
        assert [one.headers["x-dragoman-model"] for one in answers] == ["a/one", "b/two", "b/two"]
        assert [running.entry(one).attempts for one in answers] == [1, 1, 1]


def test_B18_deployments_of_one_name_have_their_own_limits_and_a_route_fills_them_all(
    up: Upstream, tmp_path: Path
) -> None:
    providers = {name: provider("openai-compatible-strict", up.url) for name in ("a", "b", "c")}
    limits = {"a": 2, "b": 3, "c": 1}
    models = {
        name: {"target": f"{name}/same", "rate_limits": {"requests_per_minute": most, "when_full": "refuse"}}
        for name, most in limits.items()
    }
    config = {"providers": providers, "models": models, "routes": {"same": {"strategy": "least_busy"}}}
    with gateway(config, tmp_path, Clocks(steady=Hands())) as running:
        answers = [ask(running, "same") for _ in range(7)]
        served = [one.headers["x-dragoman-model"][0] for one in answers[:6]]
        assert {name: served.count(name) for name in limits} == limits
        assert answers[6].status_code == 429
        assert len(up.seen) == 6


@pytest.mark.slow
def test_B18_a_pinned_turn_waits_for_its_model_and_others_go_elsewhere(up: Upstream, tmp_path: Path) -> None:
    clock = Hands()
    said = {"role": "assistant", "content": None, "tool_calls": [_CALL]}
    up.answer = lambda seen: (200, {**GOOD, "choices": [{"index": 0, "message": said, "finish_reason": "tool_calls"}]})
    limits = {"requests_per_minute": 1, "max_wait": 5000}
    with limited(tmp_path, limits, up, clock) as running, ThreadPoolExecutor(1) as threads:
        question: list[Any] = [{"role": "user", "content": "Look."}]
        first = running.post(CHAT, {"model": "both", "messages": question, "tools": [_TOOL]})
        assert first.headers["x-dragoman-model"] == "a/one"
        result = [*question, said, {"role": "tool", "tool_call_id": "call_1", "content": "trees"}]
        turn = {"model": "both", "messages": result, "tools": [_TOOL]}
        pinned = threads.submit(httpx.post, running.url + CHAT, json=turn, timeout=60)
        wait_for(lambda: running.services.models.limits.waiting == 1)
        other = running.post(CHAT, {"model": "both", "messages": [{"role": "user", "content": "Else."}]})
        assert other.headers["x-dragoman-model"] == "b/two"
        clock.now += 61
        assert pinned.result().headers["x-dragoman-model"] == "a/one"


_CALL = {"id": "call_1", "type": "function", "function": {"name": "look", "arguments": "{}"}}
_TOOL = {"type": "function", "function": {"name": "look", "parameters": {"type": "object", "properties": {}}}}


def test_B18_names_that_clients_make_up_do_not_pile_up_and_do_not_lead_around(up: Upstream, tmp_path: Path) -> None:
    clock = Hands()
    limits = {"requests_per_minute": 1, "when_full": "refuse"}
    models = {"team-*": {"target": "a/*", "rate_limits": limits}}
    config = {"providers": {"a": provider("openai-compatible-strict", up.url)}, "models": models}
    with gateway(config, tmp_path, Clocks(steady=clock)) as running:
        assert [ask(running, name).status_code for name in ("team-x", "a/x", "team-x", "team-y")] == [
            200,
            429,
            429,
            200,
        ]
        limiter = running.services.models.limits
        for number in range(5000):
            limiter._line(f"a/{number}")
        assert len(limiter._lines) <= 4097


@pytest.mark.parametrize("name", ["one", "a/one", "on"])
def test_B18_another_name_for_the_target_is_no_way_around(up: Upstream, tmp_path: Path, name: str) -> None:
    with limited(tmp_path, {"requests_per_minute": 1, "when_full": "refuse"}, up) as running:
        assert [ask(running, one).status_code for one in ("one", name)] == [200, 429]


def test_B18_embeddings_count_too(up: Upstream, tmp_path: Path) -> None:
    with limited(tmp_path, {"requests_per_minute": 1, "when_full": "refuse"}, up) as running:
        wanted = {"model": "one", "input": "x"}
        assert [running.post("/v1/embeddings", wanted).status_code for _ in range(2)] == [200, 429]


def test_B18_a_dry_run_is_no_send(up: Upstream, tmp_path: Path) -> None:
    with limited(tmp_path, {"requests_per_minute": 1, "when_full": "refuse"}, up) as running:
        dry = {"request": body("openai-chat", "one"), "from": "openai-chat", "to": "one"}
        assert [running.post("/dragoman/adapt", dry).status_code for _ in range(3)] == [200] * 3
        assert ask(running).status_code == 200


@pytest.mark.slow
def test_B18_of_many_at_once_exactly_as_many_are_sent_as_there_is_room_for(up: Upstream, tmp_path: Path) -> None:
    with limited(tmp_path, {"requests_per_minute": 7, "when_full": "refuse"}, up) as running:
        with ThreadPoolExecutor(16) as threads:
            asked = [threads.submit(httpx.post, running.url + CHAT, json=body("openai-chat", "one")) for _ in range(60)]
            found = [one.result().status_code for one in asked]
        assert (found.count(200), found.count(429), len(up.seen)) == (7, 53, 7)
