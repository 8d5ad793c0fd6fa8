"""Cache hints of the gateway: for whom, when and where, and who may turn them off."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from tests.gateway.running import Running, gateway, provider
from tests.shapes.agent_loops import chat_agent, claude_code

from dragoman.testing import emulator

Wire = dict[str, Any]
LOOP = chat_agent(3)


@contextmanager
def serving(folder: Path, **config: Any) -> Iterator[tuple[Running, Any]]:
    with emulator("anthropic", answers="echo") as claude:
        base = {
            "providers": {"claude": provider("anthropic", claude.base_url)},
            "models": {"claude": {"target": "claude/claude-sonnet-4-6"}},
            **config,
        }
        with gateway(base, folder) as running:
            yield running, claude


def marks(body: Wire) -> list[str]:
    """Where hints stand, in the order in which Claude reads."""
    found = [f"tool {at}" for at, tool in enumerate(body.get("tools", [])) if "cache_control" in tool]
    system = body.get("system", [])
    found += ["system"] if isinstance(system, list) and any("cache_control" in block for block in system) else []
    for at, message in enumerate(body["messages"]):
        if isinstance(message["content"], list) and "cache_control" in message["content"][-1]:
            found.append(f"message {at}")
    return found


def ask(running: Running, body: Wire) -> Any:
    answered = running.post("/v1/chat/completions", {**body, "model": "claude"})
    assert answered.status_code == 200, answered.text
    return answered


def test_a_prompt_is_marked_from_its_second_turn_on(tmp_path: Path) -> None:
    with serving(tmp_path) as (running, claude):
        answers = [ask(running, body) for body in LOOP]
        assert [marks(one.body) for one in claude.requests] == [
            [],
            ["tool 5", "system", "message 0", "message 2"],
            ["tool 5", "system", "message 2", "message 4"],
        ]
        assert "cache-marks" not in answers[0].headers["x-dragoman-added"]
        assert "cache-marks;n=4" in answers[1].headers["x-dragoman-added"]
        assert "cache-marks" not in answers[1].headers.get("x-dragoman-changes", "")
        read = [one.json()["usage"]["prompt_tokens_details"]["cached_tokens"] for one in answers]
        assert read[:2] == [0, 0]
        assert read[2] > 2000


def test_another_conversation_with_the_same_opening_marks_the_opening_alone(tmp_path: Path) -> None:
    with serving(tmp_path) as (running, claude):
        first = LOOP[0]
        ask(running, first)
        ask(running, {**first, "messages": [first["messages"][0], {"role": "user", "content": "Another thing."}]})
        assert marks(claude.requests[1].body) == ["tool 5", "system"]


def test_a_short_prompt_is_left_alone(tmp_path: Path) -> None:
    with serving(tmp_path) as (running, claude):
        for _ in range(2):
            ask(running, {"messages": [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "Hi"}]})
        assert marks(claude.requests[1].body) == []


@pytest.mark.parametrize("cache", ["client", "off"])
def test_the_configuration_can_forbid_it(tmp_path: Path, cache: str) -> None:
    with serving(tmp_path, cache=cache) as (running, claude):
        for body in LOOP:
            ask(running, body)
        assert [marks(one.body) for one in claude.requests] == [[], [], []]


def test_off_takes_the_clients_hints_off_and_says_so(tmp_path: Path) -> None:
    with serving(tmp_path, cache="off") as (running, claude):
        answered = running.post("/v1/messages", {**claude_code(2)[1], "model": "claude"})
        assert answered.status_code == 200
        assert marks(claude.requests[0].body) == []
        assert "refused-hint;n=3" in answered.headers["x-dragoman-changes"]


def test_a_client_of_the_same_dialect_is_helped_only_if_asked_for(tmp_path: Path) -> None:
    bare = [{**body, "system": body["system"][0]["text"]} for body in claude_code(3)]
    for body in bare:
        for message in body["messages"]:
            message["content"] = [{k: v for k, v in one.items() if k != "cache_control"} for one in message["content"]]
    for cache, found in (({}, []), ({"cache": "auto"}, ["tool 5", "system", "message 2", "message 4"])):
        folder = tmp_path / str(len(cache))
        folder.mkdir()
        with serving(folder, **cache) as (running, claude):
            for body in bare:
                assert running.post("/v1/messages", {**body, "model": "claude"}).status_code == 200
            assert marks(claude.requests[-1].body) == found


def test_the_clients_own_hints_stay_as_they_are(tmp_path: Path) -> None:
    with serving(tmp_path, cache="auto") as (running, claude):
        for body in claude_code(3):
            answered = running.post("/v1/messages", {**body, "model": "claude"})
            assert "cache-marks" not in answered.headers.get("x-dragoman-added", "")
        assert marks(claude.requests[2].body) == ["system", "message 2", "message 4"]


def test_a_change_that_breaks_the_cache_says_so_and_the_ledger_says_why(tmp_path: Path) -> None:
    with serving(tmp_path, models={"claude": {"target": "claude/claude-opus-4-1"}}) as (running, _):
        for body in LOOP:
            ask(running, body)
        late = {**LOOP[-1], "messages": [*LOOP[-1]["messages"], {"role": "system", "content": "Be brief."}]}
        request_id = ask(running, late).headers["x-dragoman-request-id"]
        entry = running.get(f"/dragoman/requests/{request_id}").json()
        (told,) = [one["did"] for one in entry["changes"] if "breaks the cache" in one["did"]]
        assert told.startswith("moved to the opening; breaks the cache before the first message: ")
        assert told.endswith(" more")
        assert entry["cache_break"].startswith("late-system at /messages/6 (moved to the opening) changed ")
        assert 2000 < entry["resent_tokens"] <= entry["input_tokens"]
        assert entry["cache_lost"] > 0
        report = running.get("/dragoman/cache?since=1h").json()
        (session,) = report["sessions"]
        assert session["worst"]["id"] == request_id
        assert session["worst"]["why"] == entry["cache_break"]
        assert session["name"] == entry["session"]
        assert report["models"][0]["read"] == pytest.approx(session["cached_tokens"] / session["input_tokens"])
        metrics = running.get("/metrics").text
        again = 'dragoman_cache_tokens_total{target="claude/claude-opus-4-1",how="sent again"}'
        assert f"{again} {session['resent_tokens']}" in metrics
        assert 'dragoman_cache_cost_total{target="claude/claude-opus-4-1",how="lost"}' in metrics
        assert running.get("/dragoman/cache?sinse=1h").status_code == 400
