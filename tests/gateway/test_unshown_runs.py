"""Runs that the client's dialect has no form for, in answers that end with calls of the client's own."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from tests.event_streams import read_events
from tests.gateway.running import Running
from tests.gateway.test_tool_rounds import FACT, StubRunner, chat, running
from tests.gateway.upstream import Seen

from dragoman.conversation.provider_tools import McpServer

MINE = [{"type": "function", "function": {"name": "mine", "parameters": {"type": "object"}}}]
LOOK, OWN = ("docs__look_up", {"what": "bridge"}), ("mine", {"z": 1})


def at_once(seen: Seen) -> dict[str, Any]:
    """Calls a tool of the gateway's and one of the client's in one turn."""
    return chat("So.") if results(seen) else chat("Let me see.", LOOK, OWN)


def one_by_one(seen: Seen) -> dict[str, Any]:
    """Calls the client's tool when it has the gateway's result."""
    found = results(seen)
    return chat("So.") if "of the client" in found else chat(None, OWN) if found else chat("Let me see.", LOOK)


def results(seen: Seen) -> list[str]:
    return [one["content"] for one in seen.body["messages"] if one["role"] == "tool"]


def runner() -> StubRunner:
    made = StubRunner()
    made.servers = (McpServer("docs"),)
    return made


def ask(one: Running, turns: list[Any], stream: bool = False) -> dict[str, Any]:
    """The turn of the model."""
    answer = one.post("/v1/chat/completions", {"model": "m", "messages": turns, "tools": MINE, "stream": stream})
    if not stream:
        message: dict[str, Any] = answer.json()["choices"][0]["message"]
        return {"role": "assistant", "content": message["content"], "tool_calls": message["tool_calls"]}
    lines = read_events(answer.text)
    deltas = [choice["delta"] for line in lines for choice in line["choices"]]
    calls = [call for delta in deltas for call in delta.get("tool_calls") or ()]
    called = {
        "name": calls[0]["function"]["name"],
        "arguments": "".join([one["function"]["arguments"] for one in calls]),
    }
    text = "".join([delta.get("content") or "" for delta in deltas])
    call = {"id": calls[0]["id"], "type": "function", "function": called}
    return {"role": "assistant", "content": text, "tool_calls": [call]}


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("model", [at_once, one_by_one])
def test_the_model_sees_them_on_the_next_turn(tmp_path: Path, model: Any, stream: bool) -> None:
    with running(tmp_path, model, runner()) as (one, runs, seen):
        turns: list[Any] = [{"role": "user", "content": "How long?"}]
        turn = ask(one, turns, stream)
        assert [call["function"]["name"] for call in turn["tool_calls"]] == ["mine"]
        turns += [turn, {"role": "tool", "tool_call_id": turn["tool_calls"][0]["id"], "content": "of the client"}]
        one.post("/v1/chat/completions", {"model": "m", "messages": turns, "tools": MINE})
        one.post("/v1/chat/completions", {"model": "m", "messages": [{**turns[0], "content": "?"}, *turns[1:]]})
    assert len(runs.ran) == 1
    *_, after, other = seen
    assert sorted(results(after)) == sorted([FACT, "of the client"])
    assert results(other) == ["of the client"], "the same id in another conversation"
    calls = [call for one in after.body["messages"] for call in one.get("tool_calls", ())]
    assert sorted([call["function"]["name"] for call in calls]) == ["docs__look_up", "mine"]
