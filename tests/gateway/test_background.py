"""`background` of the Responses API on any model: queued, polled, cancelled, streamed later."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import httpx
import openai
import pytest
from tests.gateway.running import Running, gateway, provider, wait_for

from dragoman.config.client_keys import sha256_of
from dragoman.conversation.events import Failed, Started
from dragoman.conversation.failures import Failure, FailureKind
from dragoman.dialects.dialect import AnswerContext
from dragoman.dialects.openai_responses.endpoints.background import BACKGROUND
from dragoman.dialects.registry import dialect
from dragoman.emulators.serving.background_server import RunningEmulator
from dragoman.gateway.state import background_answers
from dragoman.store.contracts import stored_responses
from dragoman.store.contracts.stored_responses import StoredResponse, StoredResponses
from dragoman.testing import emulator
from dragoman.upstream import dispatch

KEYS = {name: {"sha256": sha256_of(f"sk-{name}"), "concurrent": 1} for name in ("ann", "bob")}
ANN = {"authorization": "Bearer sk-ann"}
ORDER = ["queued", "in_progress", "completed"]
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


@pytest.mark.parametrize("streamed", [False, True])
def test_it_is_one_request_of_the_ledger_by_the_id_that_its_client_from_others(
    stage: tuple[Running, RunningEmulator], streamed: bool
) -> None:
    running, behind = stage
    one = client(running)
    behind.script("Roses are red.")
    with one.responses.with_streaming_response.create(**ASK, stream=streamed) as told:
        id = told.headers["x-dragoman-request-id"]
        told.read()
    wait_for(lambda: httpx.get(f"{running.url}/dragoman/requests/{id}", headers=ANN).status_code == 200)
    page = httpx.get(f"{running.url}/dragoman/requests?limit=2", headers=ANN).json()["requests"]
    assert (page[0]["id"], page[0]["model"], page[0]["status"]) == (id, "claude", 200)
    assert page[0]["output_tokens"] > 0
    assert all(row["model"] for row in page), "and no row for the queueing"


def test_events_are_streamed_and_streamed_again_from_any_number(stage: tuple[Running, RunningEmulator]) -> None:
    running, behind = stage
    one = client(running)
    behind.script("Roses are red, violets are blue.")
    with one.responses.create(**ASK, stream=True) as stream:
        events = list(stream)
    id = events[0].response.id  # type: ignore[union-attr]
    assert events[-1].type == "response.completed"
    assert events[-1].response.id == id
    wait_for(lambda: id not in running.services.conversations.jobs)
    again = list(one.responses.retrieve(id, stream=True, starting_after=2))
    assert again == events[3:]
    plain = one.responses.create(**ASK)
    with pytest.raises(openai.BadRequestError, match="can be streamed"):
        one.responses.retrieve(plain.id, stream=True)
    wait_until_over(one, plain.id)


def test_its_client_learns_the_id_before_the_provider_says_a_word(
    stage: tuple[Running, RunningEmulator], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(dispatch, "HELD_SECONDS", 3600.0)  # the head of the provider's stream is held for so long
    running, behind = stage
    one = client(running)
    behind.script({"text": "Never.", "fault": "stall"})
    with one.responses.create(**ASK, stream=True, timeout=60) as stream:
        first = next(iter(stream))
        assert (first.type, first.sequence_number) == ("response.created", 0)
        assert (first.response.status, first.response.background) == ("queued", True)
        assert one.responses.cancel(first.response.id).status == "cancelled"


def test_the_sdk_follows_a_stream_from_its_first_event_to_its_failure(stage: tuple[Running, RunningEmulator]) -> None:
    running, behind = stage
    behind.script({"text": "Never.", "fault": "401"})
    with client(running).responses.stream(model="claude", input="Hi", background=True) as events:
        told = [(event.type, event.sequence_number) for event in events]
    assert told == [("response.created", 0), ("response.failed", 1)]


def test_an_answer_is_cancelled_once_and_for_all(stage: tuple[Running, RunningEmulator]) -> None:
    running, behind = stage
    one = client(running)
    behind.script({"text": "Never.", "fault": "stall"})
    before = len(behind.requests)
    queued = one.responses.create(**ASK)
    wait_for(lambda: len(behind.requests) > before)
    assert one.responses.cancel(queued.id).status == "cancelled"
    wait_for(lambda: queued.id not in running.services.conversations.jobs)
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


@pytest.mark.parametrize("kind", FailureKind)
def test_a_failed_job_has_the_code_of_a_failed_stream(kind: FailureKind) -> None:
    failure = Failure(kind, "It broke.", code="a_providers_own")
    kept = json.loads(BACKGROUND.render_ended(b'{"id":"resp_1"}', "failed", failure))
    stream = dialect("openai-responses").answers.stream_renderer(AnswerContext(id="resp_1"))
    told = stream.render([Started("resp_1"), Failed(failure)])
    last = json.loads(told[told.rindex(b"data: ") + 6 :])
    assert last["response"]["error"] == kept["error"]
    assert kept["error"]["code"]


def test_a_job_whose_process_died_has_failed_and_is_not_run_again(stage: tuple[Running, RunningEmulator]) -> None:
    running, behind = stage
    one = client(running)
    behind.script("Roses.")
    queued = one.responses.create(**ASK)
    wait_until_over(one, queued.id)
    wait_for(lambda: queued.id not in running.services.conversations.jobs)
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


# Several processes on one store.


@contextmanager
def two(folder: Path) -> Iterator[tuple[Running, Running, RunningEmulator]]:
    with emulator("anthropic") as behind:
        config = {
            "providers": {"claude": provider("anthropic", behind.base_url)},
            "models": {"claude": {"target": "claude/claude-opus-5"}},
            "keys": KEYS,
        }
        with gateway(config, folder) as one, gateway(config, folder) as other:
            yield one, other, behind


def test_a_job_that_another_process_looks_at_lives(tmp_path: Path) -> None:
    with two(tmp_path) as (one, other, behind):
        seen = []
        for number in range(5):
            behind.script(f"Poem {number}.")
            id = client(one).responses.create(**ASK).id
            seen.append([client(other).responses.retrieve(id).status])
            while seen[-1][-1] in ORDER[:2]:
                seen[-1].append(client(other).responses.retrieve(id).status)
            wait_for(lambda: not one.services.conversations.jobs)
        assert [found[-1] for found in seen] == ["completed"] * 5
        assert [sorted(found, key=ORDER.index) for found in seen] == seen, "it never goes back"


def test_a_job_ends_when_another_process_cancels_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(background_answers, "_BEAT", 0.05)
    with two(tmp_path) as (one, other, behind):
        behind.script({"text": "Never.", "fault": "stall"})
        queued = client(one).responses.create(**ASK)
        wait_for(lambda: bool(behind.requests))
        assert client(other).responses.cancel(queued.id).status == "cancelled"
        wait_for(lambda: not one.services.conversations.jobs)
        for running in (one, other):
            assert client(running).responses.retrieve(queued.id).status == "cancelled"


def is_unknown(running: Running, id: str) -> bool:
    """Another process hears of a removal within a second or two."""
    try:
        client(running).responses.retrieve(id)
    except openai.NotFoundError:
        return True
    return False


@pytest.mark.parametrize("by_another", [False, True])
def test_a_job_that_is_removed_ends_and_leaves_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, by_another: bool
) -> None:
    monkeypatch.setattr(background_answers, "_BEAT", 0.05)
    with two(tmp_path) as (one, other, behind):
        behind.script({"text": "Never.", "fault": "stall"})
        with client(one).responses.create(**ASK, stream=True) as stream:
            id = next(iter(stream)).response.id
        client(other if by_another else one).responses.delete(id)
        wait_for(lambda: not one.services.conversations.jobs)
        for running in (one, other):
            wait_for(lambda running=running: is_unknown(running, id))  # type: ignore[misc]
            for name in (id, f"{id}#events"):
                assert running.do(partial(running.services.store.responses.find_latest, "ann", name)) is None


class _Busy:
    """Responses of one process. `act` happens between its look at an answer and its writing of a state with a word."""

    def __init__(self, own: StoredResponses, act: Callable[[], Awaitable[Any]], word: bytes = b"") -> None:
        self._own = own
        self._act: Callable[[], Awaitable[Any]] | None = act
        self._word = word

    def __getattr__(self, name: str) -> Any:
        return getattr(self._own, name)

    async def swap(self, caller: str, id: str, old: StoredResponse, new: StoredResponse) -> StoredResponse | None:
        if self._act is not None and self._word in new.response:
            act, self._act = self._act, None
            await act()
        return await self._own.swap(caller, id, old, new)


@pytest.mark.parametrize("word", [b"", b'"completed"'], ids=["begins", "ends"])
def test_a_removal_in_the_moment_of_a_write_wins(tmp_path: Path, word: bytes) -> None:
    with two(tmp_path) as (one, other, behind):
        behind.script("Roses are red.")
        own, ids = one.services.store.responses, []

        async def delete() -> None:
            ids.extend(one.services.conversations.jobs)
            await background_answers.remove(other.services, "ann", ids[0])

        one.services.store.responses = _Busy(own, delete, word)  # type: ignore[assignment]
        client(one).responses.create(**ASK)
        wait_for(lambda: bool(ids) and not one.services.conversations.jobs)
        for running in (one, other):
            for name in (ids[0], f"{ids[0]}#events", f"{ids[0]}#beat"):
                assert running.do(partial(running.services.store.responses.find_latest, "ann", name)) is None


def test_a_cancellation_in_the_moment_of_a_write_wins(tmp_path: Path) -> None:
    with two(tmp_path) as (one, other, behind):
        behind.script("Roses are red.")
        own, told = one.services.store.responses, []

        async def cancel() -> None:
            id = next(iter(one.services.conversations.jobs))
            form, found = dialect("openai-responses").background, await own.find_latest("ann", id)
            assert form is not None
            assert found is not None
            told.append(await background_answers.cancel(other.services, "ann", id, form, found))

        one.services.store.responses = _Busy(own, cancel)  # type: ignore[misc]
        id = client(one).responses.create(**ASK).id
        wait_for(lambda: bool(told) and not one.services.conversations.jobs)
        for running in (one, other):
            assert client(running).responses.retrieve(id).status == "cancelled"


def test_one_that_another_process_has_removed_does_not_come_back_as_failed(tmp_path: Path) -> None:
    """A process may know it for two more seconds, and finds no beat."""
    with two(tmp_path) as (one, other, behind):
        behind.script({"text": "Never.", "fault": "stall"})
        id = client(one).responses.create(**ASK).id
        assert client(other).responses.retrieve(id).status in ORDER[:2]
        client(one).responses.delete(id)
        assert is_unknown(other, id)
        assert one.do(partial(one.services.store.responses.find_latest, "ann", id)) is None


def test_an_answer_that_is_too_large_to_be_kept_has_failed(
    stage: tuple[Running, RunningEmulator], monkeypatch: pytest.MonkeyPatch
) -> None:
    running, behind = stage
    monkeypatch.setattr(stored_responses, "MOST_BYTES", 20_000)
    behind.script("x" * 30_000)
    done = wait_until_over(client(running), client(running).responses.create(**ASK).id)
    assert done.status == "failed"
    assert "larger than what is kept" in done.error.message


def test_events_are_streamed_by_another_process_when_they_are_whole(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(background_answers, "_LOOK", 0.01)
    with two(tmp_path) as (one, other, behind):
        behind.script({"text": "Roses are red.", "fault": "slow;bytes=40"})
        with client(one).responses.create(**ASK, stream=True) as stream:
            events = iter(stream)
            first = next(events)
            with client(other).responses.retrieve(first.response.id, stream=True, starting_after=0) as again:
                heard = list(again)
            told = [first, *events]
        assert [event.type for event in heard] == [event.type for event in told][1:]
        with pytest.raises(openai.BadRequestError, match="begun with `background` and `stream`"):
            client(other).responses.retrieve(wait_for_queued(one).id, stream=True)


def wait_for_queued(running: Running) -> Any:
    return client(running).responses.create(**ASK)
