"""`profile: auto`: a server is asked what it accepts, beside the first request, and again when its models change."""

from __future__ import annotations

import json
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from click.testing import CliRunner
from msgspec.structs import replace
from tests.gateway.running import Running, gateway, provider, wait_for
from tests.probe.telling_server import telling_server

from dragoman.cli import cli
from dragoman.emulators.serving.background_server import RunningEmulator
from dragoman.gateway.models.server_probes import PROBE, REFUSALS
from dragoman.probe.live.budget import ProbeBudget
from dragoman.store.contracts.lesson_records import LessonRecord
from dragoman.testing import emulator

FAST = ProbeBudget(requests=80, seconds=30.0, rate=1000.0)
LATE_SYSTEM = [
    {"role": "user", "content": "Hi"},
    {"role": "assistant", "content": "Hello."},
    {"role": "system", "content": "Be brief."},
    {"role": "user", "content": "Well?"},
]


@pytest.fixture
def server() -> Iterator[RunningEmulator]:
    with emulator("compatible-lenient", system_first=True) as running:
        yield running


@pytest.fixture
def running(server: RunningEmulator, tmp_path: Path) -> Iterator[Running]:
    config = {"providers": {"local": provider("auto", server.base_url)}}
    with gateway(config, tmp_path) as started:
        started.services.models.probes.budget = FAST
        yield started


def ask(running: Running, **more: object) -> list[dict[str, str]]:
    """Send a request; the changes that were made to it."""
    answer = running.post("/v1/chat/completions", {"model": "local/some-model", "messages": LATE_SYSTEM, **more})
    assert answer.status_code == 200, answer.text
    return [
        {"rule": change["rule"], "did": change["did"]}
        for change in json.loads(running.entry(answer).report())["changes"]
    ]


def chat_requests(server: RunningEmulator) -> int:
    return sum(request.path.endswith("/chat/completions") for request in server.requests)


def probe_lines(running: Running) -> list[str]:
    running.services.records.lines.flush()
    return [line for line in running.log.getvalue().splitlines() if '"event":"probe"' in line]


def kept(running: Running, target: str = "local/some-model") -> list[LessonRecord]:
    """What a gateway sees in the store, which it may share."""
    records = running.do(running.services.store.lessons.all)
    return [one for one in records if one.target == target]


def stored(running: Running, target: str = "local/some-model") -> list[LessonRecord]:
    return [one for one in kept(running, target) if one.name == PROBE]


def probed(running: Running, target: str = "local/some-model") -> LessonRecord:
    wait_for(lambda: stored(running, target) != [])
    running.do(running.services.models.probes.wait)
    (record,) = stored(running, target)
    return record


def test_the_first_request_goes_out_as_it_was_written_and_the_next_one_knows_better(
    running: Running, server: RunningEmulator
) -> None:
    """The first one meets a refusal, which is cured; what was asked meanwhile spares the next one that."""
    before = ask(running, logit_bias={}, x_note=1)
    assert {change["rule"] for change in before} == {"late-system"}
    record = probed(running)
    assert (record.facts["system_place"], record.facts["unknown_settings"]) == ("opening", "accepts")
    sent = chat_requests(server)
    after = ask(running, logit_bias={}, x_note=1)
    assert {change["rule"] for change in after} == {"late-system"}
    assert chat_requests(server) == sent + 1


def test_of_two_gateways_on_one_store_one_asks_and_both_know(server: RunningEmulator, tmp_path: Path) -> None:
    """They are used at the same moment. What one finds reaches the other by the store."""
    config = {"providers": {"local": provider("auto", server.base_url)}}
    with gateway(config, tmp_path) as one, gateway(config, tmp_path) as two:
        for each in (one, two):
            each.services.models.probes.budget = FAST
        with ThreadPoolExecutor() as pool:
            list(pool.map(ask, (one, two)))
        wait_for(lambda: stored(one) == stored(two) != [])
        for each in (one, two):
            each.do(each.services.models.probes.wait)
        assert sorted(len(probe_lines(each)) for each in (one, two)) == [0, 1]
        assert [change["rule"] for each in (one, two) for change in ask(each)] == ["late-system", "late-system"]


def test_a_server_of_another_dialect_is_asked_in_it(tmp_path: Path) -> None:
    (tmp_path / "house.toml").write_text(
        'like = "anthropic-compatible-strict"\ndialect = "anthropic"\ntitle = "house"\nprobed = true\n'
    )
    with emulator("anthropic") as server:
        root = server.base_url.removesuffix("/v1")
        config = {"profiles": ["house.toml"], "providers": {"local": provider("house", root)}}
        with gateway(config, tmp_path) as running:
            running.services.models.probes.budget = FAST
            body = {"model": "local/some-model", "max_tokens": 9, "messages": [{"role": "user", "content": "Hi"}]}
            assert running.post("/v1/messages", body).status_code == 200
            record = probed(running)
    assert (record.facts["orphan_result"], record.facts["cache_hints"]) == ("refuses", "accepts")


def test_what_was_found_is_shown_with_the_words_behind_it(running: Running) -> None:
    ask(running)
    probed(running)
    shown = running.get("/dragoman/lessons").json()["lessons"]
    assert {one["target"] for one in shown if one["name"] == PROBE} == {"local/some-model"}
    why = {one["name"] for one in shown if one["target"] == f"local/some-model{REFUSALS}"}
    assert "a system message after an assistant's turn: System message must be at the beginning." in why
    (line,) = (json.loads(line) for line in probe_lines(running))
    assert (line["target"], line["ended"]) == ("local/some-model", "")
    assert line["requests"] < 40


def test_the_command_line_explains_what_was_found(running: Running) -> None:
    ask(running)
    probed(running)
    args = ["explain", "local/some-model", "--config", str(running.file), "--url", running.url, "--key", "any"]
    text = CliRunner().invoke(cli, args, prog_name="dragoman").stdout
    assert "because of where a system message may stand: opening [system_place]" in text
    assert "“System message must be at the beginning.”" in text
    running.do(running.services.store.flush)
    stored = CliRunner().invoke(cli, args[:4], prog_name="dragoman").stdout
    assert stored == text


def test_it_is_asked_once_until_its_models_change(running: Running, server: RunningEmulator) -> None:
    running.services.models.probes.look_seconds = 0.0
    ask(running)
    first = probed(running)
    count = chat_requests(server)
    ask(running)
    assert probed(running).learnt == first.learnt
    assert chat_requests(server) == count + 1
    # as if it had been asked while it had other models
    lessons = running.services.store.lessons
    running.do(lambda: lessons.put(replace(first, request_id="probe-0", facts={"tools": "refuses"})))
    ask(running)
    again = probed(running)
    assert again.learnt > first.learnt
    assert (again.facts, again.request_id) == (first.facts, first.request_id)


def test_a_server_that_cannot_be_asked_is_left_alone(tmp_path: Path) -> None:
    with emulator("compatible-lenient", fault="401") as broken:
        config = {"providers": {"local": provider("auto", broken.base_url)}}
        with gateway(config, tmp_path) as started:
            probes = started.services.models.probes
            probes.budget, probes.look_seconds = FAST, 0.0
            for _ in range(3):
                started.post("/v1/chat/completions", {"model": "local/some-model", "messages": LATE_SYSTEM[:1]})
                started.do(probes.wait)
            lines = probe_lines(started)
            assert kept(started) == []
    assert len(lines) == 1
    assert "does not take the key" in lines[0]


def test_other_providers_are_not_asked(server: RunningEmulator, tmp_path: Path) -> None:
    config = {"providers": {"local": provider("openai-compatible-lenient", server.base_url)}}
    with gateway(config, tmp_path) as started:
        ask(started)
        started.do(started.services.models.probes.wait)
        names = {one.name for one in kept(started)}
        assert (names, probe_lines(started)) == ({"system-opening"}, [])  # learnt from the refusal of this request
        assert [one.verdict for one in server.requests if one.body] == ["refused", "accepted"]


@pytest.mark.slow
def test_the_template_of_a_server_is_run_if_it_tells_it(tmp_path: Path) -> None:
    template = (
        "{% for m in messages %}{% if m.role == 'system' %}{{ raise_exception('No system.') }}{% endif %}"
        "{{ m.content }}{% endfor %}"
    )
    with telling_server(template) as (url, asked):
        config = {"providers": {"local": provider("auto", f"{url}/v1")}}
        with gateway(config, tmp_path) as started:
            started.post("/v1/chat/completions", {"model": "local/m", "messages": LATE_SYSTEM[:1]})
            started.do(started.services.models.probes.wait)
            record = probed(started, "local/m")
            assert record.facts["system_count"] == "none"
            (line,) = (json.loads(line) for line in probe_lines(started))
    assert (line["by"], line["requests"]) == ("template", 0)
    assert asked.count("/v1/chat/completions") == 1
