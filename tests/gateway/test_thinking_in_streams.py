"""A model that thinks in streams alone answers clients that do not stream: it is asked for a stream, and they get the
whole answer with its thoughts and its usage."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.gateway.running import gateway, provider

from dragoman.testing import emulator

HI = {"role": "user", "content": "Two and two?"}
SAID = {"reasoning": "Easy.", "text": "Four."}


@pytest.fixture(scope="module")
def asked(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """The gateway before DashScope, and what DashScope saw."""
    folder: Path = tmp_path_factory.mktemp("thinking")
    with emulator("qwen") as behind:
        settings = {
            "providers": {"q": provider("qwen", behind.base_url)},
            "models": {"m": {"target": "q/qwen3-32b"}},
            "store": {"kind": "memory"},
        }
        with gateway(settings, folder) as running:
            yield running, behind


@pytest.mark.parametrize("more", [{}, {"stream": False}, {"enable_thinking": True}])
def test_a_chat_client_gets_one_answer_with_the_thoughts(asked: Any, more: dict[str, Any]) -> None:
    running, behind = asked
    behind.script(SAID)
    answered = running.post("/v1/chat/completions", {"model": "m", "messages": [HI], **more})
    assert answered.status_code == 200, answered.text
    message = answered.json()["choices"][0]["message"]
    assert (message["reasoning_content"], message["content"]) == ("Easy.", "Four.")
    assert answered.json()["object"] == "chat.completion"
    assert answered.json()["usage"]["completion_tokens"] > 0
    assert answered.headers["x-dragoman-added"].startswith("stream-asked")
    assert behind.requests[-1].body["stream"] is True


def test_a_client_of_another_dialect_does_too(asked: Any) -> None:
    running, behind = asked
    behind.script(SAID)
    answered = running.post("/v1/messages", {"model": "m", "max_tokens": 4000, "messages": [HI]})
    assert answered.status_code == 200, answered.text
    assert answered.json()["content"][-1]["text"] == "Four."
    assert answered.json()["usage"]["output_tokens"] > 0


def test_thinking_that_is_off_needs_no_stream(asked: Any) -> None:
    running, behind = asked
    behind.script({"text": "Four."})
    body = {"model": "m", "messages": [HI], "enable_thinking": False}
    assert running.post("/v1/chat/completions", body).status_code == 200
    assert "stream" not in behind.requests[-1].body
