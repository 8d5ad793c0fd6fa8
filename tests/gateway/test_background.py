"""`background` of the Responses API on any model: queued, polled, cancelled, streamed later."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import openai
import pytest
from tests.gateway.running import Running, gateway, provider, wait_for

from dragoman.config.client_keys import sha256_of
from dragoman.emulators.serving.background_server import RunningEmulator
from dragoman.store import StoredResponse
from dragoman.testing import emulator

KEYS = {name: {"sha256": sha256_of(f"sk-{name}"), "concurrent": 1} for name in ("ann", "bob")}
ASK: dict[str, Any] = {"model": "claude", "input": "Write a poem.", "background": True}


@contextmanager
def world(folder: Path) -> Iterator[tuple[Running, RunningEmulator]]:
    with emulator("anthropic") as behind:
        config = {
            "providers": {"claude": provider("anthropic", behind.base_url)},
            "models": {"claude": {"target": "claude/claude-opus-5"}},
            "keys": KEYS,
        }
        with gateway(config, folder) as running:
            yield running, behind


@pytest.fixture(scope="module")
def stage(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Running, RunningEmulator]]:
    with world(tmp_path_factory.mktemp("background")) as made:
        yield made


def client(running: Running, key: str = "ann") -> openai.OpenAI:
    return openai.OpenAI(base_url=f"{running.url}/v1", api_key=f"sk-{key}", max_retries=0)


def wait_until_over(one: openai.OpenAI, id: str) -> Any:
    wait_for(lambda: one.responses.retrieve(id).status not in ("queued", "in_progress"))
    return one.responses.retrieve(id)


def test_an_answer_is_queued_polled_and_continued(stage: tuple[Running, RunningEmulator]) -> None:
    running, behind = stage
    one = client(running)
    behind.script("Roses are red.", "Violets are blue.")
    before = len(behind.requests)
    queued = one.responses.create(**ASK)
    assert (queued.status, queued.background, queued.output) == ("queued", True, [])
    done = wait_until_over(one, queued.id)
    assert (done.id, done.status, done.output_text) == (queued.id, "completed", "Roses are red.")
    assert len(behind.requests) == before + 1
    more = one.responses.create(model="claude", input="Go on.", previous_response_id=queued.id)
    assert more.output_text == "Violets are blue."
    assert "Roses are red." in str(behind.requests[-1].body)
    with pytest.raises(openai.NotFoundError):
        client(running, "bob").responses.retrieve(queued.id)


def test_events_are_streamed_and_streamed_again_from_any_number(stage: tuple[Running, RunningEmulator]) -> None:
    running, behind = stage
    one = client(running)
    behind.script("Roses are red, violets are blue.")
    with one.responses.create(**ASK, stream=True) as stream:
        events = list(stream)
    id = events[0].response.id  # type: ignore[union-attr]
    assert events[-1].type == "response.completed"
    assert events[-1].response.id == id
    wait_for(lambda: id not in running.services.jobs)
    again = list(one.responses.retrieve(id, stream=True, starting_after=2))
    assert again == events[3:]
    plain = one.responses.create(**ASK)
    with pytest.raises(openai.BadRequestError, match="can be streamed"):
        one.responses.retrieve(plain.id, stream=True)
    wait_until_over(one, plain.id)


def test_an_answer_is_cancelled_once_and_for_all(stage: tuple[Running, RunningEmulator]) -> None:
    running, behind = stage
    one = client(running)
    behind.script({"text": "Never.", "fault": "stall"})
    before = len(behind.requests)
    queued = one.responses.create(**ASK)
    wait_for(lambda: len(behind.requests) > before)
    assert one.responses.cancel(queued.id).status == "cancelled"
    wait_for(lambda: queued.id not in running.services.jobs)
    assert one.responses.retrieve(queued.id).status == "cancelled"
    assert one.responses.cancel(queued.id).status == "cancelled"
    behind.script("Hello.")
    waited = one.responses.create(model="claude", input="Hi")
    with pytest.raises(openai.BadRequestError, match="synchronous"):
        one.responses.cancel(waited.id)


def test_what_the_provider_refuses_has_failed(stage: tuple[Running, RunningEmulator]) -> None:
    running, _ = stage
    one = client(running)
    queued = one.responses.create(**{**ASK, "model": "unknown"})
    done = wait_until_over(one, queued.id)
    assert done.status == "failed"
    assert "unknown" in done.error.message
    with pytest.raises(openai.BadRequestError, match="store"):
        one.responses.create(**ASK, store=False)


def test_a_job_whose_process_died_has_failed_and_is_not_run_again(stage: tuple[Running, RunningEmulator]) -> None:
    running, behind = stage
    one = client(running)
    behind.script("Roses.")
    queued = one.responses.create(**ASK)
    wait_until_over(one, queued.id)
    wait_for(lambda: queued.id not in running.services.jobs)
    asked, store = len(behind.requests), running.services.store.responses
    dead = StoredResponse(b"[]", queued.to_json().encode())
    running.do(lambda: store.put("ann", "resp_dead", dead))
    assert one.responses.retrieve("resp_dead").status == "failed"
    running.do(lambda: store.put("ann", "resp_alive", dead))
    running.do(lambda: store.put("ann", "resp_alive#beat", StoredResponse(b"", b"99999999999.0")))
    assert one.responses.retrieve("resp_alive").status == "queued"
    assert one.responses.cancel("resp_alive").status == "cancelled"
    assert len(behind.requests) == asked


def test_a_gateway_that_shuts_down_says_so(tmp_path: Path) -> None:
    with world(tmp_path) as (running, behind):
        behind.script({"text": "Never.", "fault": "stall"})
        queued = client(running).responses.create(**ASK)
        wait_for(lambda: bool(behind.requests))
    with world(tmp_path) as (running, _):
        assert client(running).responses.retrieve(queued.id).status == "failed"
