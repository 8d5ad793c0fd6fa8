"""A search that Gemini made beside functions goes back to it with its signatures, whatever client carries it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.gateway.running import Running, gateway, provider

from dragoman.emulators.serving.background_server import RunningEmulator
from dragoman.testing import emulator

ASKED: Any = {"role": "user", "content": "Search the web for the tallest tower of Lisbon."}
TOOLS: Any = [
    {"type": "web_search_20250305", "name": "web_search"},
    {"name": "add_note", "description": "Stores a note", "input_schema": {"type": "object"}},
]


@pytest.fixture
def behind() -> Iterator[RunningEmulator]:
    with emulator("gemini", signatures="strict") as one:
        yield one


@pytest.fixture
def running(behind: RunningEmulator, tmp_path: Path) -> Iterator[Running]:
    providers = {"p": provider("gemini", behind.base_url)}
    models = {"new": {"target": "p/gemini-3-pro-preview"}, "old": {"target": "p/gemini-2.5-flash"}}
    with gateway({"providers": providers, "models": models}, tmp_path) as one:
        yield one


def kinds(request: Any) -> list[str]:
    """The kinds of the parts of the model's turns."""
    turns = [turn for turn in request.body["contents"] if turn.get("role") == "model"]
    return [next(name for name in part if name != "thoughtSignature") for turn in turns for part in turn["parts"]]


@pytest.mark.parametrize("stream", [False, True])
def test_anthropics_client_carries_the_call_and_its_result(
    running: Running, behind: RunningEmulator, stream: bool
) -> None:
    client = running.anthropic()
    given: Any = {"max_tokens": 500, "tools": TOOLS}
    if stream:
        with client.messages.stream(model="new", messages=[ASKED], **given) as events:
            answer = events.get_final_message()
    else:
        answer = client.messages.create(model="new", messages=[ASKED], **given)
    turns: Any = [
        ASKED,
        {"role": "assistant", "content": answer.to_dict()["content"]},
        {"role": "user", "content": "Thanks."},
    ]
    client.messages.create(model="new", messages=turns, **given)
    first, second = behind.requests
    assert first.body["toolConfig"]["includeServerSideToolInvocations"] is True
    assert kinds(second)[:2] == ["toolCall", "toolResponse"]
    (turn,) = [turn for turn in second.body["contents"] if turn["role"] == "model"]
    assert all(part["thoughtSignature"] for part in turn["parts"][:2]), "as they were signed"
    client.messages.create(model="old", messages=turns, max_tokens=500)
    assert "toolCall" not in json.dumps(behind.requests[2].body), "an older model does not know them"
    assert "tallest tower" in json.dumps(behind.requests[2].body["contents"][1])
