"""What requests cost: reported or computed, in the ledger, the header, the log and the metrics."""

from __future__ import annotations

import csv
import hashlib
import json
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import httpx
import pytest
from click.testing import CliRunner
from tests.event_streams import stream_message, write_events
from tests.gateway.asking import PATHS, body
from tests.gateway.running import Running, gateway, provider, wait_for
from tests.gateway.upstream import GOOD, Upstream, upstream

from dragoman.cli import cli
from dragoman.emulators.serving.background_server import RunningEmulator
from dragoman.errors import OptionError
from dragoman.store.ledger_views import parse_since
from dragoman.testing import emulator

HOMES = {
    "gpt": ("openai", "gpt-4o"),
    "claude": ("anthropic", "claude-sonnet-4-5"),
    "gem": ("gemini", "gemini-2.5-flash"),
    "router": ("openrouter", "anthropic/claude-sonnet-4.5"),
}
PRICES = {"gpt": (2.5, 10), "claude": (3, 15), "gem": (0.3, 2.5)}
"""Per million tokens, as published."""
KEYS: dict[str, dict[str, Any]] = {"anna": {}, "anna-2": {}, "bert": {}, "boss": {"admin": True}}


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
    models["hourly"] = {"target": "hours/claude-sonnet-4-5"}
    models["rounds"] = {"target": "hours/claude-sonnet-4-5", "price": {"input": 1, "output": 2}}
    models["own"] = {"target": "plain/house-model", "price": {"input": 100, "output": 200, "cached": 10}}
    models["unknown"] = {"target": "plain/house-model"}
    models["cheap-gpt"] = {"target": "gpt/gpt-4o", "price": {"input": 1, "output": 1}}
    providers = {name: provider(home, emulators[name].base_url) for name, (home, _) in HOMES.items()}
    providers["plain"] = provider("openai-compatible-strict", plain.url)
    providers["hours"] = provider("anthropic", plain.url)
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


@pytest.mark.parametrize("stream", [False, True])
def test_a_cache_that_is_kept_for_an_hour_costs_more(running: Running, plain: Upstream, stream: bool) -> None:
    created = {"ephemeral_5m_input_tokens": 1000, "ephemeral_1h_input_tokens": 2000}
    usage = {"input_tokens": 500, "cache_creation_input_tokens": 3000, "cache_read_input_tokens": 4000}
    message = {
        "id": "msg_1", "type": "message", "role": "assistant", "model": "claude-sonnet-4-5",
        "content": [{"type": "text", "text": "Good."}], "stop_reason": "end_turn", "stop_sequence": None,
        "usage": {**usage, "cache_creation": created, "output_tokens": 100},
    }  # fmt: skip
    lines = write_events(stream_message(message))
    plain.answer = lambda seen: (200, lines if stream else message)
    answer = ask(running, "openai-chat", "hourly", stream=stream)
    plain.answer = lambda seen: None
    assert answer.status_code == 200
    wait_for(lambda: running.busy() == (0, 0))
    # 500 at 3, 4000 read at 0.30, 1000 written at 3.75, 2000 for an hour at 6, 100 out at 15
    assert running.entry(answer).cost == pytest.approx(0.01995)


@pytest.mark.parametrize("dialect", ["anthropic", "openai-chat"])
@pytest.mark.parametrize("stream", [False, True])
def test_rounds_that_the_counts_leave_out_are_paid_for(
    running: Running, plain: Upstream, dialect: str, stream: bool
) -> None:
    """A summary by the same model, and the advice of another one at its own price."""
    rounds = [
        {"type": "compaction", "input_tokens": 180_000, "output_tokens": 3500},
        {"type": "message", "input_tokens": 23_000, "output_tokens": 1000},
        {"type": "advisor_message", "model": "claude-opus-4-8", "input_tokens": 2000, "output_tokens": 20},
    ]
    message = {
        "id": "msg_1", "type": "message", "role": "assistant", "model": "claude-sonnet-4-5",
        "content": [{"type": "text", "text": "Good."}], "stop_reason": "end_turn", "stop_sequence": None,
        "usage": {"input_tokens": 23_000, "output_tokens": 1000, "iterations": rounds},
    }  # fmt: skip
    lines = write_events(stream_message(message))
    plain.answer = lambda seen: (200, lines if stream else message)
    answer = ask(running, dialect, "rounds", stream=stream)
    plain.answer = lambda seen: None
    assert answer.status_code == 200
    wait_for(lambda: running.busy() == (0, 0))
    entry = running.entry(answer)
    assert (entry.input_tokens, entry.output_tokens) == (203_000, 4500)
    # 203,000 at 1 and 4500 at 2 as the file has it, 2000 at 5 and 20 at 25 as published, all by a million
    assert entry.cost == pytest.approx(0.203 + 0.009 + 0.01 + 0.0005)


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
        running.services.records.lines.flush()

    return flush


def _charged(running: Running) -> float:
    sample = 'dragoman_cost_total{target="plain/house-model",estimated="false"} '
    found = [line for line in running.get("/metrics", "boss").text.splitlines() if line.startswith(sample)]
    return sum(float(line.removeprefix(sample)) for line in found)


# --- totals and lists


@pytest.fixture(scope="module")
def busy(running: Running, plain: Upstream) -> Running:
    """A gateway on which anna asked three times, and bert twice: once for a model without a price, once in vain."""
    for _ in range(3):
        ask(running, "openai-chat", "own", "anna-2")
    ask(running, "openai-chat", "unknown", "bert")
    plain.answer = lambda seen: (400, {"error": {"message": "no", "type": "invalid_request_error"}})
    ask(running, "openai-chat", "own", "bert")
    plain.answer = lambda seen: None
    return running


def test_usage_by_key_is_what_the_entries_add_up_to(busy: Running) -> None:
    told = busy.get("/dragoman/usage?by=key&since=1h", "boss").json()
    groups = {group["name"]: group for group in told["groups"]}
    assert (groups["anna-2"]["requests"], groups["anna-2"]["errors"]) == (3, 0)
    assert (groups["anna-2"]["input_tokens"], groups["anna-2"]["output_tokens"]) == (9, 6)
    assert groups["anna-2"]["cost"] == pytest.approx(0.0021)  # three times 3 x 100 + 2 x 200, by a million
    bert = groups["bert"]
    assert (bert["requests"], bert["errors"], bert["unpriced"], bert["cost"]) == (2, 1, 1, 0)
    for name in ("requests", "input_tokens", "unpriced"):
        assert told["total"][name] == sum(group[name] for group in told["groups"])
    assert told["total"]["cost"] == pytest.approx(sum(group["cost"] for group in told["groups"]))


@pytest.mark.parametrize("by", ["key", "model", "day", "target"])
def test_every_grouping_has_the_same_total(busy: Running, by: str) -> None:
    totals = [busy.get(f"/dragoman/usage?by={one}", "boss").json()["total"] for one in ("key", by)]
    costs = [total.pop("cost") for total in totals]
    times = [total.pop("seconds") for total in totals]
    estimates = [total.pop("estimated_cost") for total in totals]
    assert totals[0] == totals[1]
    assert (costs[0], times[0], estimates[0]) == pytest.approx((costs[1], times[1], estimates[1]))


def test_usage_is_for_admins(busy: Running) -> None:
    assert busy.get("/dragoman/usage", "anna").status_code == 403


def test_a_caller_lists_its_own_requests_and_an_admin_all(busy: Running) -> None:
    own = busy.get("/dragoman/requests", "bert").json()["requests"]
    assert [(one["key"], one["model"], one["status"]) for one in own] == [
        ("bert", "own", 400),
        ("bert", "unknown", 200),
    ]
    assert busy.get("/dragoman/requests?key_name=anna-2", "bert").json()["requests"] == []
    assert len(busy.get("/dragoman/requests?key_name=anna-2", "boss").json()["requests"]) == 3


def test_lists_have_filters_and_pages(busy: Running) -> None:
    failed = busy.get("/dragoman/requests?key_name=bert&status=failed&since=1h&model=own", "boss").json()
    assert [one["error_kind"] for one in failed["requests"]] == ["bad-request"]
    seen, after = [], ""
    for _ in range(3):
        query = {"key_name": "anna-2", "limit": "1", **({"after": after} if after else {})}
        page = busy.http.get(
            busy.url + "/dragoman/requests", params=query, headers={"authorization": "Bearer boss"}
        ).json()
        seen += [one["id"] for one in page["requests"]]
        after = page["next"]
    assert len(set(seen)) == 3
    assert after is None


@pytest.mark.parametrize(
    ("path", "parameter"),
    [
        ("/dragoman/usage?by=colour", "by"),
        ("/dragoman/usage?since=tomorrow", "since"),
        ("/dragoman/usage?sinse=7d", "sinse"),
        ("/dragoman/requests?status=200", "status"),
        ("/dragoman/requests?limit=-1", "limit"),
        ("/dragoman/requests?limit=" + "9" * 5000, "limit"),
    ],
)
def test_a_wrong_parameter_is_named(busy: Running, path: str, parameter: str) -> None:
    answer = busy.get(path, "boss")
    assert (answer.status_code, answer.json()["error"]["param"]) == (400, parameter)


def test_the_commands_tell_what_the_gateway_tells(busy: Running) -> None:
    busy.do(busy.services.store.flush)
    told = [json.loads(command("usage", "--by", "key", "--format", "json", *place)) for place in places(busy)]
    assert told[0] == told[1]
    assert told[0]["total"]["requests"] >= 5
    listed = [json.loads(command("requests", "--of", "bert", "--json", *place)) for place in places(busy)]
    assert listed[0] == listed[1]
    assert [one["model"] for one in listed[0]["requests"]] == ["own", "unknown"]


def test_usage_as_csv_and_as_a_table(busy: Running) -> None:
    place = places(busy)[1]
    rows = list(csv.DictReader(command("usage", "--by", "key", "--format", "csv", *place).splitlines()))
    (anna,) = [row for row in rows if row["key"] == "anna-2"]
    assert (anna["requests"], anna["input"], anna["cost"], anna["unpriced"]) == ("3", "9", "0.002100", "0")
    table = command("usage", "--by", "key", *place)
    assert any(line.split()[:2] == ["anna-2", "3"] for line in table.splitlines())
    assert "total" in table
    assert table.split()[:2] == ["key", "requests"]
    assert command("requests", "--of", "nobody", *place) == "no requests\n"


def test_sums_of_a_full_ledger_say_so(plain: Upstream, tmp_path: Path) -> None:
    config = {"providers": {"plain": provider("openai-compatible-strict", plain.url)}, "keys": keys(KEYS)}
    with gateway({**config, "store": {"keep_requests": 3}}, tmp_path) as one:
        for told in (False, True):
            ask(one, "openai-chat", "plain/house-model")
            ask(one, "openai-chat", "plain/house-model")
            one.do(one.services.store.flush)
            assert one.get("/dragoman/usage", "boss").json()["is_cut"] is told
            for place in places(one):
                warning = CliRunner().invoke(cli, ["usage", *place], standalone_mode=False).stderr
                assert ("store.keep_requests" in warning) is told


@pytest.mark.slow
def test_commands_refuse_what_they_cannot_read(busy: Running) -> None:
    for name in ("usage", "requests"):
        with pytest.raises(OptionError, match="neither a span"):
            command(name, "--since", "soon", *places(busy)[0])
        with pytest.raises(OptionError, match="not known"):
            command(name, "--url", busy.url, "--key", "wrong")


def places(running: Running) -> list[list[str]]:
    return [["--config", str(running.file)], ["--url", running.url, "--key", "boss"]]


def command(*words: str) -> str:
    result = CliRunner().invoke(cli, words, standalone_mode=False)
    if result.exception is not None:
        raise result.exception
    return result.stdout


@pytest.mark.parametrize(
    ("text", "moment"),
    [
        ("30m", 1_000_000 - 1800),
        ("24h", 1_000_000 - 86_400),
        ("7d", 1_000_000 - 604_800),
        ("2w", 0.0),
        ("1970-01-02", 86_400.0),
        ("1970-01-02T01:00:00", 90_000.0),
        ("1970-01-02T01:00:00+01:00", 86_400.0),
    ],
)
def test_since_is_a_span_or_a_date_in_utc(text: str, moment: float) -> None:
    assert parse_since(text, 1_000_000.0) == moment
