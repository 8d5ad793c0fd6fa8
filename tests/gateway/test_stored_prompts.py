"""Prompts stored at Gemini for a session: made beside its requests, used, renewed, deleted and booked."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from tests.gateway.running import Running, gateway, provider

from dragoman.emulators.prompt_cache import PromptCache
from dragoman.engine.history import stored_prompts
from dragoman.store.contracts.ledger import LedgerQuery
from dragoman.store.ledger_entry import Entry, Viewer
from dragoman.testing import emulator

Wire = dict[str, Any]
PRICE = {"input": 1.0, "output": 1.0, "cached": 0.1, "stored": 1.0}
RULES = {"role": "system", "content": "A long rule of the house. " * 1_000}
TOOLS = [{"type": "function", "function": {"name": "look", "parameters": {"type": "object", "properties": {}}}}]


@contextmanager
def serving(
    folder: Path, price: Wire = PRICE, finds: bool = False, name: str = "gemini", **config: Any
) -> Iterator[tuple[Running, Any]]:
    """`finds`: the provider finds a repeated beginning by itself."""
    with emulator(name, answers="echo") as server:
        if not finds:
            server._core.prompt_cache = PromptCache(most=0)
        base = {
            "providers": {"google": provider("gemini", server.base_url)},
            "models": {"gemini": {"target": "google/gemini-2.5-flash", "price": price}},
            **config,
        }
        with gateway(base, folder) as running:
            yield running, server


def chat(turns: int, opening: Wire = RULES, first: str = "Hello") -> list[Wire]:
    """The requests of a conversation."""
    messages: list[Wire] = [opening, {"role": "user", "content": first}]
    bodies = []
    for at in range(turns):
        bodies.append({"model": "gemini", "messages": list(messages), "tools": TOOLS})
        messages += [{"role": "assistant", "content": f"Answer {at}"}, {"role": "user", "content": f"And {at}?"}]
    return bodies


def ask(running: Running, body: Wire, stream: bool = False) -> Any:
    answered = running.post("/v1/chat/completions", {**body, "stream": stream})
    assert answered.status_code == 200, answered.text
    settle(running)
    return answered


def settle(running: Running) -> None:
    running.do(running.services.dispatcher.stored.wait)


def entries_of(running: Running) -> tuple[Entry, ...]:
    ledger = running.services.store.ledger
    return tuple(running.do(lambda: ledger.recent(Viewer("", True), LedgerQuery())).entries)


def said(server: Any) -> list[tuple[str, str]]:
    """What was asked of the provider beside plain requests."""
    return [(one.method, one.path) for one in server.requests if "cachedContents" in one.path]


def names(server: Any) -> list[str | None]:
    """The cache that each plain request names."""
    return [one.body.get("cachedContent") for one in server.requests if "cachedContents" not in one.path]


@pytest.mark.parametrize("stream", [False, True])
def test_a_prompt_is_stored_used_booked_and_deleted(tmp_path: Path, stream: bool) -> None:
    with serving(tmp_path, store={"keep_bodies": True}) as (running, server):
        answers = [ask(running, body, stream=stream) for body in chat(6)]
        assert said(server) == [("POST", "/v1beta/cachedContents")]
        used = names(server)
        assert used[:3] == [None, None, None]
        assert len({*used[3:]}) == 1
        assert used[3].startswith("cachedContents/")
        sent = json.loads(running.entry(answers[3]).sent or b"")
        assert not {"systemInstruction", "tools", "toolConfig"} & {*sent}
        assert [part["text"] for one in sent["contents"] for part in one["parts"]] == [
            *("And 0?", "Answer 1", "And 1?", "Answer 2", "And 2?")
        ]
        assert "stored-prompt;n=1" in answers[4].headers["x-dragoman-added"]
        assert "stored-prompt" not in answers[2].headers.get("x-dragoman-added", "")
        entries = entries_of(running)
        (made,) = [one for one in entries if one.written_tokens]
        assert server.requests[3].body["ttl"] == "300s"
        assert made.input_tokens == made.written_tokens > stored_prompts.LEAST_TOKENS
        assert made.cost == pytest.approx(made.input_tokens * (1.0 + 1.0 * 300 / 3600) * 1e-6)
        assert made.cache_saved == -made.cost
        assert made.asked == "gemini"
        assert "made a cache of" in made.changes.decode()
        last = next(one for one in entries if one.id == answers[5].headers["x-dragoman-request-id"])
        assert made.session == last.session
        assert last.cached_tokens == made.input_tokens
        report = running.get("/dragoman/cache?since=1h").json()
        assert report["total"]["written_tokens"] == made.input_tokens
        asked = len(server.requests)
        running.do(running.services.dispatcher.stored.close)
        assert [one.method for one in server.requests[asked:]] == ["DELETE"]


def test_nothing_is_stored_if_nobody_knows_what_that_costs(tmp_path: Path) -> None:
    with serving(tmp_path, {"input": 1.0, "output": 1.0, "cached": 0.1}) as (running, server):
        for body in chat(6):
            ask(running, body)
        assert said(server) == []


def test_nothing_is_stored_that_the_provider_finds_by_itself(tmp_path: Path) -> None:
    with serving(tmp_path, finds=True) as (running, server):
        for body in chat(8):
            ask(running, body)
        assert said(server) == []


def test_a_conversation_that_begins_otherwise_has_its_cache_deleted(tmp_path: Path) -> None:
    with serving(tmp_path) as (running, server):
        for body in chat(5):
            ask(running, body)
        assert names(server)[-1]
        opening = {"role": "system", "content": "Now: " + RULES["content"]}
        for body in chat(7, opening)[5:]:
            ask(running, body)
        assert names(server)[-2:] == [None, None]
        assert [method for method, _ in said(server)] == ["POST", "DELETE"]


def test_a_cache_that_is_gone_fails_no_request(tmp_path: Path) -> None:
    with serving(tmp_path) as (running, server):
        for body in chat(5):
            ask(running, body)
        server.provider._caches._kept.clear()
        for body in chat(9)[5:]:
            ask(running, body)
        assert names(server)[5] is not None
        assert names(server)[6:] == [None] * 4
        refused = [one for one in server.requests if one.verdict == "refused"]
        assert len(refused) == 1
        assert all(one.status == 200 for one in entries_of(running))
        assert [method for method, _ in said(server)] == ["POST"]


def test_a_provider_that_stores_nothing_fails_no_request_and_is_not_asked_forever(tmp_path: Path) -> None:
    with serving(tmp_path) as (running, server):
        server.provider._caches.serve = None  # the emulator crashes, and answers 500
        for first in ("One", "Two", "Three", "Four"):
            for body in chat(5, first=first):
                ask(running, body)
        assert said(server) == [("POST", "/v1beta/cachedContents")] * stored_prompts.MOST_REFUSALS
        assert {*names(server)} == {None}


def test_a_result_is_not_parted_from_its_call(tmp_path: Path) -> None:
    """The loop of an agent: what is stored ends before the user's last turn."""
    messages: list[Wire] = [RULES, {"role": "user", "content": "Look around"}]
    with serving(tmp_path) as (running, server):
        for at in range(6):
            ask(running, {"model": "gemini", "messages": messages, "tools": TOOLS})
            call = {"id": f"c{at}", "type": "function", "function": {"name": "look", "arguments": "{}"}}
            messages += [
                {"role": "assistant", "tool_calls": [call]},
                {"role": "tool", "tool_call_id": f"c{at}", "content": f"Seen {at}"},
            ]
        (made,) = [one for one in server.requests if one.method == "POST" and one.path.endswith("cachedContents")]
        assert "contents" not in made.body
        assert names(server)[-1]
        assert len([one for one in server.requests if one.verdict != "accepted"]) == 0


def test_keys_and_sessions_share_nothing(tmp_path: Path) -> None:
    with serving(tmp_path) as (running, server):
        for first in ("One", "Two"):
            for body in chat(5, first=first):
                ask(running, body)
        used = {name for name in names(server) if name}
        assert len(used) == 2


@pytest.mark.parametrize("cache", ["client", "off"])
def test_the_configuration_can_forbid_storing(tmp_path: Path, cache: str) -> None:
    with serving(tmp_path, cache=cache) as (running, server):
        for body in chat(6):
            ask(running, body)
        assert said(server) == []


def test_what_was_stored_for_a_caller_is_deleted_with_what_is_remembered(tmp_path: Path) -> None:
    with serving(tmp_path) as (running, server):
        for body in chat(5):
            ask(running, body)

        async def forget() -> None:
            running.services.conversations.forget("")

        running.do(forget)
        settle(running)
        assert [method for method, _ in said(server)] == ["POST", "DELETE"]
