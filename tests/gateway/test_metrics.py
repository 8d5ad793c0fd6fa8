"""What `/metrics` tells: in Prometheus' own format, with one view over all workers, and what is made for it."""

from __future__ import annotations

import json
import os
import re
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from tests.gateway.asking import body
from tests.gateway.running import Running, gateway, provider, wait_for
from tests.gateway.serving import CLIENT, serving
from tests.gateway.test_serve import workers_of
from tests.gateway.upstream import Upstream

from dragoman.gateway.records.metrics import (
    FAMILIES,
    MetricKind,
    Metrics,
    MetricsSnapshot,
    render_metrics,
    sum_snapshots,
)
from dragoman.gateway.records.metrics_board import PLACE_BYTES, MetricsBoard
from dragoman.store.ledger_entry import Entry

DEPLOY = Path(__file__).parents[2] / "deploy"
SAMPLE = re.compile(r'([a-z_]+?)(_bucket|_sum|_count)?(?:\{((?:[a-z_]+="(?:[^"\\\n]|\\.)*",?)*)\})? (\S+)')
SUFFIXES = {"_bucket", "_sum", "_count"}


def told(text: str) -> dict[str, float]:
    """The samples of an exposition, once every line of it was found to be in order."""
    families = {family.name: family for family in FAMILIES}
    samples: dict[str, float] = {}
    name = ""
    lines = iter(text.splitlines())
    for line in lines:
        if line.startswith("# HELP "):
            name = line.split(" ")[2]
            assert line == f"# HELP {name} {families[name].help}"
            assert next(lines) == f"# TYPE {name} {families[name].kind}"
            continue
        found = SAMPLE.fullmatch(line)
        assert found is not None, line
        histogram = families[name].kind is MetricKind.HISTOGRAM
        assert found[1] + ("" if histogram else found[2] or "") == name, line
        assert bool(found[2]) or not histogram, line
        labels = re.findall(r'([a-z_]+)="', found[3] or "")
        assert tuple(label for label in labels if label != "le") == families[name].labels, line
        assert line.rpartition(" ")[0] not in samples, "the same sample twice"
        samples[line.rpartition(" ")[0]] = float(found[4])
    return samples


@pytest.fixture(scope="module")
def running(behind: Upstream, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    config = {"providers": {"p": provider("openai", behind.url)}, "models": {"m": {"target": "p/gpt-4o"}}}
    with gateway(config, tmp_path_factory.mktemp("metrics")) as one:
        yield one


def test_every_line_is_in_order_and_every_family_is_told(running: Running) -> None:
    asked = running.post("/v1/chat/completions", body("openai-chat", "m"))
    assert asked.status_code == 200
    answered = running.get("/metrics")
    assert answered.headers["content-type"].startswith("text/plain; version=0.0.4")
    samples = told(answered.text)
    assert [line.split(" ")[2] for line in answered.text.splitlines() if line.startswith("# TYPE")] == [
        family.name for family in FAMILIES
    ]
    assert samples['dragoman_requests_total{dialect="openai-chat",target="p/gpt-4o",status="200"}'] == 1
    assert samples['dragoman_tokens_total{target="p/gpt-4o",direction="input",estimated="false"}'] == 3
    assert samples['dragoman_request_duration_seconds_count{target="p/gpt-4o"}'] == 1
    assert samples['dragoman_time_to_first_byte_seconds_bucket{target="p/gpt-4o",le="+Inf"}'] == 1
    assert samples["dragoman_overhead_seconds_count"] == 1
    assert samples["dragoman_overhead_seconds_sum"] == pytest.approx(running.entry(asked).overhead_us / 1e6)
    assert samples["dragoman_workers"] == 1


def test_names_follow_the_conventions() -> None:
    for family in FAMILIES:
        assert re.fullmatch(r"dragoman_[a-z]+(_[a-z]+)*", family.name)
        assert family.name.endswith("_total") is (family.kind is MetricKind.COUNTER)
        assert family.name.endswith("_seconds") is (family.kind is MetricKind.HISTOGRAM)
        assert family.help.endswith(".")
        assert not {"\n", "\\"} & set(family.help)
        assert list(family.bounds) == sorted(set(family.bounds))


def request(
    target: str, seconds: float, first_byte: float | None = None, tokens: int = 0, dialect: str = "gemini"
) -> Entry:
    return Entry(
        id="req_1",
        time=0.0,
        client_dialect=dialect,
        target=target,
        duration=seconds,
        ttfb=first_byte,
        input_tokens=tokens,
        overhead_us=100,
    )


def test_labels_are_escaped_and_bounded() -> None:
    metrics = Metrics()
    for number in range(3000):
        target = f'p/"{number}\\\n'
        metrics.add(request(target, 0.1, dialect="openai-chat"), {})
    samples = told(render_metrics(metrics.snapshot({})))
    assert len([name for name in samples if name.startswith("dragoman_requests_total")]) <= 1001
    assert samples['dragoman_requests_total{dialect="openai-chat",target="other",status="200"}'] == 2000


def test_buckets_add_up_and_large_counters_are_exact() -> None:
    metrics = Metrics()
    for seconds in (0.01, 0.05, 0.2, 7.0, 1000.0):
        metrics.add(request("t", seconds, first_byte=seconds), {})
    metrics.add(request("t", 0.0, tokens=123_456_789_012), {})
    samples = told(render_metrics(metrics.snapshot({})))
    buckets = [value for name, value in samples.items() if name.startswith("dragoman_request_duration_seconds_bucket")]
    assert buckets == [3, 3, 4, 4, 4, 4, 4, 5, 5, 5, 5, 6]
    assert samples['dragoman_request_duration_seconds_sum{target="t"}'] == pytest.approx(1007.26)
    assert samples['dragoman_tokens_total{target="t",direction="input",estimated="false"}'] == 123_456_789_012


# --- several workers


def test_snapshots_add_up_and_what_all_share_does_not() -> None:
    one, two = Metrics(), Metrics()
    for metrics, count in ((one, 1), (two, 2)):
        for _ in range(count):
            metrics.add(request("t", 0.1), {})
    both = sum_snapshots([one.snapshot({"dragoman_lessons": 4}), two.snapshot({"dragoman_lessons": 4})])
    samples = told(render_metrics(both))
    assert samples['dragoman_requests_total{dialect="gemini",target="t",status="200"}'] == 3
    assert samples['dragoman_request_duration_seconds_count{target="t"}'] == 3
    assert samples["dragoman_lessons"] == 4


def test_a_worker_goes_on_from_the_counters_at_its_place_but_not_from_the_gauges() -> None:
    board = MetricsBoard(2)
    first = Metrics()
    first.request("gemini", "t", 200)
    board.place(0).write(first.snapshot({"dragoman_active_requests": 7, "dragoman_store_failed_entries_total": 3}))
    after = Metrics()
    after.before = board.place(0).read().counters()
    after.request("gemini", "t", 200)
    shown = after.snapshot({"dragoman_active_requests": 1, "dragoman_store_failed_entries_total": 1})
    samples = told(render_metrics(shown))
    assert samples['dragoman_requests_total{dialect="gemini",target="t",status="200"}'] == 2
    assert samples["dragoman_active_requests"] == 1
    assert samples["dragoman_store_failed_entries_total"] == 4


def test_the_board_is_shared_with_children_and_never_half_written() -> None:
    board = MetricsBoard(2)
    child = os.fork()
    if child == 0:
        for number in range(3000):
            board.place(1).write(MetricsSnapshot({"dragoman_lessons": [((str(number),) * 50, float(number))]}))
        os._exit(0)
    seen = []
    while os.waitpid(child, os.WNOHANG) == (0, 0):
        (found,) = board.place(0).others()
        for labels, value in found.values.get("dragoman_lessons", []):
            assert labels == (str(int(value)),) * 50
            seen.append(value)
    assert seen == sorted(seen)
    (last,) = board.place(0).others()
    assert last.values["dragoman_lessons"][0][1] == 2999


def test_a_snapshot_that_is_too_large_leaves_the_one_before_it() -> None:
    place = MetricsBoard(1).place(0)
    place.write(MetricsSnapshot({"a": [((), 1.0)]}))
    place.write(MetricsSnapshot({"b": [(("x" * PLACE_BYTES,), 1.0)]}))
    assert place.read() == MetricsSnapshot({"a": [((), 1.0)]})


def total(url: str) -> float:
    samples = told(CLIENT.get(f"{url}/metrics").text)
    return sum(value for name, value in samples.items() if name.startswith("dragoman_requests_total"))


@pytest.mark.slow
def test_every_worker_tells_the_same_and_nothing_is_lost_with_a_worker(behind: Upstream, tmp_path: Path) -> None:
    made = {"profile": "openai", "base_url": behind.url, "api_key": "k"}
    text = yaml.safe_dump({"providers": {"p": made}, "models": {"m": {"target": "p/gpt-4o"}}})
    (tmp_path / "dragoman.yaml").write_text(text)
    with serving(tmp_path, "--workers", "3") as served:
        wait_for(lambda: told(fresh(served.url))["dragoman_workers"] == 3, 60)
        seen = 0.0
        for number in range(1, 31):
            assert chat(served.url) == 200
            now = told(fresh(served.url))
            shown = now.get('dragoman_requests_total{dialect="openai-chat",target="p/gpt-4o",status="200"}', 0.0)
            assert seen <= shown <= number, "a counter went back, or counted twice"
            seen = shown
        wait_for(lambda: all(total(served.url) == 30 for _ in range(6)), 60)
        victim = min(workers_of(served.process.pid))
        os.kill(victim, signal.SIGKILL)
        wait_for(lambda: len(workers_of(served.process.pid) - {victim}) == 3, 60)
        wait_for(lambda: told(fresh(served.url))["dragoman_workers"] == 3, 60)
        assert all(total(served.url) == 30 for _ in range(6))


def fresh(url: str) -> str:
    """The metrics over a connection of their own, which any worker may take."""
    return CLIENT.get(f"{url}/metrics", headers={"connection": "close"}).text


def chat(url: str) -> int:
    asked = body("openai-chat", "m")
    return CLIENT.post(f"{url}/v1/chat/completions", json=asked, headers={"connection": "close"}).status_code


# --- what is made for the metrics

QUERY = re.compile(r"(dragoman_[a-z_]+)(?:\{([^}]*)\})?")


def queries(value: Any) -> Iterator[str]:
    """Every query in a dashboard or in alerts."""
    if isinstance(value, dict):
        for key, item in value.items():
            if key in ("expr", "query", "definition") and isinstance(item, str):
                yield item
            else:
                yield from queries(item)
    elif isinstance(value, list):
        for item in value:
            yield from queries(item)


def load(name: str) -> Any:
    text = (DEPLOY / name).read_text()
    return json.loads(text) if name.endswith(".json") else yaml.safe_load(text)


@pytest.mark.parametrize("name", ["grafana-dashboard.json", "prometheus-alerts.yml"])
def test_only_metrics_and_labels_that_exist_are_asked_for(name: str) -> None:
    known: dict[str, set[str]] = {}
    for family in FAMILIES:
        labels = set(family.labels)
        if family.kind is MetricKind.HISTOGRAM:
            known |= {family.name + "_bucket": labels | {"le"}, family.name + "_sum": labels}
            known[family.name + "_count"] = labels
        else:
            known[family.name] = labels
    found = [query for query in queries(load(name)) if "dragoman_" in query]
    assert len(found) >= 6
    for query in found:
        for metric, selector in QUERY.findall(query):
            assert metric in known, query
            assert set(re.findall(r"([a-z_]+)\s*(?:=~|!~|!=|=)", selector)) <= known[metric] | {"instance", "job"}, (
                query
            )
        grouped = {label.strip() for by in re.findall(r"by \(([^)]*)\)", query) for label in by.split(",")}
        allowed = set().union(*[known[metric] for metric, _ in QUERY.findall(query)]) | {"instance", "job"}
        assert grouped <= allowed, query
        assert query.count("(") == query.count(")"), query


def test_the_guide_lists_every_metric() -> None:
    guide = (DEPLOY.parent / "docs/guide/gateway.md").read_text()
    for family in FAMILIES:
        labels = "{" + ",".join(family.labels) + "}" if family.labels else ""
        assert f"| `{family.name}{labels}` | {family.kind}: " in guide


def test_alerts_say_what_is_wrong_and_what_to_do() -> None:
    rules = [rule for group in load("prometheus-alerts.yml")["groups"] for rule in group["rules"]]
    assert len({rule["alert"] for rule in rules}) == len(rules) >= 5
    for rule in rules:
        assert rule["labels"]["severity"] in ("page", "ticket")
        assert set(rule["annotations"]) == {"summary", "description"}


def test_panels_have_titles_units_and_places_of_their_own() -> None:
    board = load("grafana-dashboard.json")
    panels = [panel for panel in board["panels"] if panel["type"] != "row"]
    assert len({panel["id"] for panel in board["panels"]}) == len(board["panels"])
    for panel in panels:
        assert panel["title"]
        assert panel["fieldConfig"]["defaults"]["unit"]
        assert panel["datasource"]["uid"] == "${datasource}"
    cells = [
        (panel["gridPos"]["x"] + x, panel["gridPos"]["y"] + y)
        for panel in board["panels"]
        for x in range(panel["gridPos"]["w"])
        for y in range(panel["gridPos"]["h"])
    ]
    assert len(cells) == len(set(cells)), "panels overlap"
