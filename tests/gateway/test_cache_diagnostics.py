"""Providers are asked why they missed their prompt cache, and what they say is told."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from tests.gateway.running import Running, gateway, provider
from tests.shapes.agent_loops import chat_agent

from dragoman import Change
from dragoman.engine.library.report_summary import WrittenReport, find_report
from dragoman.gateway.records import recording
from dragoman.testing import emulator

Wire = dict[str, Any]
LOOP = chat_agent(4)
LONG = "You are a careful engineer. " * 400
BETA = "cache-diagnosis-2026-04-07"


@contextmanager
def serving(folder: Path, name: str, model: str, **config: Any) -> Iterator[tuple[Running, Any]]:
    with emulator(name, answers="echo") as vendor:
        base: Wire = {
            "providers": {"vendor": provider(name, vendor.base_url)},
            "models": {"m": {"target": f"vendor/{model}"}},
            **config,
        }
        with gateway(base, folder) as running:
            yield running, vendor


def ask(running: Running, body: Wire, path: str = "/v1/chat/completions") -> Any:
    answered = running.post(path, {**body, "model": "m"})
    assert answered.status_code == 200, answered.text
    return answered


def details(running: Running) -> list[Wire]:
    """All that is known of each request, the first one first."""
    listed = running.get("/dragoman/requests").json()["requests"][::-1]
    return [running.get(f"/dragoman/requests/{one['id']}").json() for one in listed]


def diagnoses(detail: Wire) -> list[str]:
    return [change["did"] for change in detail["changes"] if change["rule"] == "cache-diagnosis"]


@pytest.mark.parametrize("stream", [False, True])
def test_claude_is_asked_from_the_first_turn_on(tmp_path: Path, stream: bool) -> None:
    with serving(tmp_path, "anthropic", "claude-sonnet-4-6") as (running, claude):
        answers = [ask(running, {**body, "stream": stream}) for body in LOOP[:3]]
        asked = [one.body["diagnostics"]["previous_message_id"] for one in claude.requests]
        assert asked[0] is None
        assert all(isinstance(one, str) and one.startswith("msg_") for one in asked[1:])
        assert asked[1] != asked[2]
        assert all(BETA in one.headers["anthropic-beta"] for one in claude.requests)
        assert "cache-question;n=1" in answers[0].headers["x-dragoman-added"]
        assert "diagnostics" not in answers[2].text


def test_what_claude_says_stands_in_the_report_and_in_the_ledger(tmp_path: Path) -> None:
    with serving(tmp_path, "anthropic", "claude-sonnet-4-6") as (running, _):
        for body in LOOP[:3]:
            ask(running, body)
        system, *rest = LOOP[3]["messages"]
        answered = ask(running, {**LOOP[3], "messages": [{**system, "content": "Now: " + system["content"]}, *rest]})
        assert "cache-diagnosis;n=1" in answered.headers["x-dragoman-added"]
        *earlier, last = details(running)
        assert [diagnoses(one) for one in earlier] == [[], [], []]
        assert diagnoses(last)[0].startswith("the provider says why its prompt cache was missed: system changed, ")
        assert last["cache_break"].startswith(
            "the client changed message 1, a system text; the provider says: system changed, "
        )


@pytest.mark.parametrize(
    ("model", "config"), [("claude-sonnet-4-6", {"cache": "client"}), ("claude-sonnet-4-6", {"cache": "off"})]
)
def test_nobody_is_asked_unless_hints_are_ours_to_set(tmp_path: Path, model: str, config: Wire) -> None:
    with serving(tmp_path, "anthropic", model, **config) as (running, claude):
        ask(running, LOOP[0])
        assert "diagnostics" not in claude.requests[0].body
        assert BETA not in claude.requests[0].headers.get("anthropic-beta", "")


def test_a_short_request_asks_nothing(tmp_path: Path) -> None:
    with serving(tmp_path, "anthropic", "claude-sonnet-4-6") as (running, claude):
        ask(running, {"messages": [{"role": "user", "content": "Hi"}]})
        assert "diagnostics" not in claude.requests[0].body


OWN = {"diagnostics": {"previous_message_id": "msg_1"}}


@pytest.mark.parametrize(("own", "asked"), [({}, None), (OWN, "msg_1"), ({"diagnostics": None}, None)])
def test_a_client_that_asks_itself_is_left_alone(tmp_path: Path, own: Wire, asked: str | None) -> None:
    """A member of its tools that is called so is none of the body."""
    tool = {"name": "lint", "input_schema": {"type": "object", "properties": {"diagnostics": {"type": "string"}}}}
    turn = {"role": "user", "content": "Hi"}
    with serving(tmp_path, "anthropic", "claude-sonnet-4-6", cache="auto") as (running, claude):
        body = {"max_tokens": 9, "system": LONG, "messages": [turn], "tools": [tool], **own}
        ask(running, body, "/v1/messages")
        assert claude.requests[0].body["diagnostics"]["previous_message_id"] == asked


@pytest.mark.parametrize("stream", [False, True])
def test_openai_is_asked_after_a_miss_that_nobody_can_explain(tmp_path: Path, stream: bool) -> None:
    """The turn after the miss is compared with the answer before it."""
    with serving(tmp_path, "openai-responses", "gpt-5.2", cache="auto") as (running, openai):
        items: list[Wire] = [{"role": "user", "content": LONG}]
        for at, effort in enumerate(["low", "low", "high", "high"]):
            body = {"instructions": LONG, "input": list(items), "reasoning": {"effort": effort}, "stream": stream}
            ask(running, body, "/v1/responses")
            items += [
                {"role": "assistant", "content": f"Answer {at}"},
                {"role": "user", "content": f"More {at}. " * 40},
            ]
        asked = [one.body.get("prompt_cache_options") for one in openai.requests]
        assert asked[:3] == [None, None, None]
        assert asked[3]["comparison_response_id"].startswith("resp_")
        found = details(running)
        assert [one.get("cache_break", "") for one in found] == [
            "",
            "",
            "the provider did not find it in its cache",
            "",
        ]
        assert diagnoses(found[2]) == []
        assert diagnoses(found[3])[0].startswith(
            "the provider says why its prompt cache was missed: reasoning effort changed"
        )


def test_openai_is_not_asked_about_an_answer_that_it_does_not_store(tmp_path: Path) -> None:
    with serving(tmp_path, "openai-responses", "gpt-5.2", cache="auto") as (running, openai):
        for effort in ["low", "low", "high", "high"]:
            body = {"instructions": LONG, "input": LONG, "reasoning": {"effort": effort}, "store": False}
            ask(running, body, "/v1/responses")
        assert all("prompt_cache_options" not in one.body for one in openai.requests)


def test_a_member_of_the_clients_own_stays(tmp_path: Path) -> None:
    with serving(tmp_path, "anthropic", "claude-sonnet-4-6", cache="auto") as (running, claude):
        body = {
            "max_tokens": 99,
            "messages": [{"role": "user", "content": LONG}],
            "diagnostics": {"previous_message_id": None},
        }
        ask(running, body, "/v1/messages")
        assert claude.requests[0].body["diagnostics"] == {"previous_message_id": None}
        assert claude.requests[0].headers["anthropic-beta"].count("cache-diagnosis") == 1


def test_a_report_of_shared_changes_is_looked_for_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The headers need it before the answer, and the ledger after it."""
    found: list[WrittenReport | None] = []

    def note(changes: tuple[Change, ...]) -> WrittenReport | None:
        found.append(find_report(changes))
        return found[-1]

    monkeypatch.setattr(recording, "find_report", note)
    with serving(tmp_path, "anthropic", "claude-sonnet-4-6") as (running, _):
        turns = [{"role": "system", "content": LONG}, {"role": "user", "content": "Hi"}]
        for _ in range(3):
            found.clear()
            ask(running, {"messages": turns, "max_tokens": 50})
            changes = details(running)[-1]["changes"]
        assert [one is not None for one in found] == [True]
        assert "cache-question" in [change["rule"] for change in changes]
