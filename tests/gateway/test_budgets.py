"""What a key may spend: booked before, corrected after, refused with the date when it ends."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from typing import Any

import anthropic
import httpx
import openai
import pytest
from tests.gateway.asking import PATHS, body
from tests.gateway.running import Running, gateway, provider, wait_for
from tests.gateway.upstream import GOOD, Upstream, refusal, upstream

from dragoman.config.schema.keys import Budget
from dragoman.store.contracts.budgets import Exhausted, periods_at
from dragoman.testing import emulator

ANSWER = {**GOOD, "usage": {"prompt_tokens": 100, "completion_tokens": 100, "total_tokens": 200}}
COST = 0.3
"""Of one answer: 100 x 1000 + 100 x 2000, by a million."""
KEYS: dict[str, dict[str, Any]] = {
    **{f"day-{dialect}": {"budget": {"day": 1}} for dialect in PATHS},
    "month": {"budget": {"month": 0.5}},
    "total": {"budget": {"total": 0.5}},
    "sdk": {"budget": {"total": 0}},
    "warned": {"budget": {"day": 1, "warn": 0.5}},
    "many": {"budget": {"day": 1}},
    "stream": {"budget": {"total": 0.5}},
    "strict": {"budget": {"day": 100}},
    "lax": {"budget": {"day": 100}, "unpriced": "allow"},
    "failing": {"budget": {"day": 1}},
    "small": {"budget": {"day": 0.00001}},
    "routed": {"budget": {"total": 0.5}},
    "free": {},
    "boss": {"admin": True},
}


@pytest.fixture(scope="module")
def plain() -> Iterator[Upstream]:
    with upstream(lambda seen: (200, ANSWER)) as one:
        yield one


@pytest.fixture(scope="module")
def running(plain: Upstream, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    price = {"input": 1000, "output": 2000}
    with emulator("openai") as told, emulator("openrouter") as router:
        providers = {
            "plain": provider("openai-compatible-strict", plain.url),
            "told": provider("openai", told.base_url),
            "router": provider("openrouter", router.base_url),
        }
        models = {
            "own": {"target": "plain/house", "price": price},
            "told": {"target": "told/gpt-4o", "price": price},
            "unknown": {"target": "plain/other"},
            "falls": {"target": "plain/house", "price": price, "fallbacks": ["unknown"]},
            "reported": {"target": "router/some/model"},
        }
        routes = {"pick": {"models": ["own"]}}
        keys = {name: {"sha256": hashlib.sha256(name.encode()).hexdigest(), **more} for name, more in KEYS.items()}
        config = {"providers": providers, "models": models, "routes": routes, "keys": keys}
        with gateway(config, tmp_path_factory.mktemp("budgets")) as one:
            yield one


def ask(running: Running, key: str, model: str = "own", dialect: str = "openai-chat", **more: Any) -> httpx.Response:
    answer = running.post(PATHS[dialect].format(model=model), body(dialect, model, **more), key)
    wait_for(lambda: running.busy() == (0, 0))
    return answer


@pytest.mark.parametrize("dialect", PATHS)
def test_a_key_spends_its_budget_and_then_is_told_when_it_ends(running: Running, dialect: str) -> None:
    answers = [ask(running, f"day-{dialect}", dialect=dialect) for _ in range(6)]
    assert [answer.status_code for answer in answers] == [200, 200, 200, 200, 429, 429]  # 0.3, 0.6, 0.9 and 1.2
    tomorrow = datetime.now(UTC).date() + timedelta(days=1)
    assert f"it ends {tomorrow.isoformat()}T00:00:00Z" in answers[-1].text
    assert "budget of 1 in day" in answers[-1].text
    assert 0 < int(answers[-1].headers["retry-after"]) <= 86_400
    assert answers[-1].headers["x-should-retry"] == "false"


def test_a_month_ends_with_its_last_day(running: Running) -> None:
    answers = [ask(running, "month") for _ in range(3)]
    first = (datetime.now(UTC).replace(day=1) + timedelta(days=32)).replace(day=1).date()
    assert [answer.status_code for answer in answers] == [200, 200, 429]
    assert f"it ends {first.isoformat()}T00:00:00Z" in answers[-1].text
    assert int(answers[-1].headers["retry-after"]) > 0


def test_a_total_has_no_end_and_no_retry_after(running: Running) -> None:
    answers = [ask(running, "total") for _ in range(3)]
    assert [answer.status_code for answer in answers] == [200, 200, 429]
    assert "in total is spent (0.6); it does not end" in answers[-1].text
    assert "retry-after" not in answers[-1].headers


def test_official_clients_raise_their_own_error_and_do_not_try_again(running: Running) -> None:
    before = len(_entries(running, "sdk"))
    hello: Any = [{"role": "user", "content": "Hi"}]
    with pytest.raises(openai.RateLimitError):
        openai.OpenAI(base_url=f"{running.url}/v1", api_key="sdk").chat.completions.create(model="own", messages=hello)
    client = anthropic.Anthropic(base_url=running.url, api_key="sdk")
    with pytest.raises(anthropic.RateLimitError):
        client.messages.create(model="own", max_tokens=10, messages=hello)
    assert len(_entries(running, "sdk")) - before == 2


def test_a_warning_comes_before_the_end(running: Running) -> None:
    headers = [ask(running, "warned").headers.get("x-dragoman-budget-warning") for _ in range(3)]
    assert headers[:2] == [None, None]  # 0 and 0.3 were spent
    assert headers[2] is not None
    assert headers[2].startswith("day;spent=0.6")
    assert headers[2].endswith(";limit=1")


@pytest.mark.slow
def test_a_budget_is_overspent_by_no_more_than_the_requests_under_way(running: Running, plain: Upstream) -> None:
    before = len(plain.seen)
    with ThreadPoolExecutor(4) as threads:
        statuses = list(threads.map(lambda _: _status(running, "many"), range(40)))
    sent = len(plain.seen) - before
    assert sent == statuses.count(200)
    assert 1 <= sent * COST < 1 + 4 * COST
    wait_for(lambda: running.busy() == (0, 0))
    assert ask(running, "many").status_code == 429


def _status(running: Running, key: str) -> int:
    named = {"authorization": f"Bearer {key}"}
    return httpx.post(running.url + PATHS["openai-chat"], json=body("openai-chat", "own"), headers=named).status_code


def test_a_stream_is_asked_for_its_usage_and_counts(running: Running) -> None:
    """K24."""
    answer = ask(running, "stream", "told", stream=True)
    entry = running.entry(answer)
    assert (answer.status_code, entry.estimated) == (200, False)
    assert answer.headers["x-dragoman-added"].startswith("usage-asked")
    spent = _spent(running, "stream")
    assert spent == pytest.approx(entry.cost)
    assert spent == pytest.approx((entry.input_tokens + 2 * entry.output_tokens) / 1000)


def test_a_request_that_fails_gives_back_what_was_booked(running: Running, plain: Upstream) -> None:
    plain.answer = lambda seen: (400, refusal("no"))
    assert ask(running, "failing").status_code == 400
    plain.answer = lambda seen: (200, ANSWER)
    assert _spent(running, "failing") == pytest.approx(0.0)
    ask(running, "failing")
    assert _spent(running, "failing") == pytest.approx(COST)


def test_a_request_that_does_not_fit_is_not_sent(running: Running, plain: Upstream) -> None:
    before = len(plain.seen)
    answer = ask(running, "small")
    assert answer.status_code == 429
    assert "this request costs about" in answer.text
    assert len(plain.seen) == before


@pytest.mark.parametrize("model", ["unknown", "falls"])
def test_a_model_without_a_price_is_refused_to_a_key_with_a_budget(
    running: Running, plain: Upstream, model: str
) -> None:
    before = len(plain.seen)
    answer = ask(running, "strict", model)
    assert answer.status_code == 403
    assert '"plain/other" has no price; set `price` of the model' in answer.json()["error"]["message"]
    assert len(plain.seen) == before
    assert ask(running, "lax", model).status_code == 200
    assert ask(running, "free", model).status_code == 200


def test_a_provider_that_reports_its_cost_needs_no_price(running: Running) -> None:
    answer = ask(running, "strict", "reported")
    assert answer.status_code == 200
    assert _spent(running, "strict") == pytest.approx(running.entry(answer).cost)


def test_what_is_passed_on_has_no_price(running: Running, plain: Upstream) -> None:
    question = {"model": "own", "input": "Hi"}
    assert running.post("/v1/embeddings", question, "strict").status_code == 403
    plain.answer = lambda seen: (200, {"object": "list", "data": []})
    assert running.post("/v1/embeddings", question, "lax").status_code == 200
    plain.answer = lambda seen: (200, ANSWER)
    assert running.post("/v1/embeddings", question, "sdk").status_code in (403, 429)


def test_a_model_that_a_route_chooses_counts_too(running: Running) -> None:
    answers = [ask(running, "routed", "pick") for _ in range(3)]
    assert [answer.status_code for answer in answers] == [200, 200, 429]


def test_a_wrong_budget_is_an_error_of_the_file(tmp_path: Any) -> None:
    for wrong, where in (({"week": 5}, "week"), ({"day": -1}, "day"), ({"warn": 2}, "warn")):
        config = {"keys": {"anna": {"sha256": "0" * 64, "budget": wrong}}}
        with pytest.raises(Exception, match=where):
            Running(config, tmp_path)


def _entries(running: Running, key: str) -> list[Any]:
    found: list[Any] = running.get(f"/dragoman/requests?key_name={key}&limit=1000", "boss").json()["requests"]
    return found


def _spent(running: Running, key: str) -> float:
    """What is booked in total, read by a reservation of nothing."""
    periods = periods_at(Budget(), datetime.now(UTC).timestamp())
    verdict = running.do(lambda: running.services.store.budgets.reserve(key, periods, 0.0))
    assert not isinstance(verdict, Exhausted)
    return verdict[0]
